import { describe, it } from '@jest/globals';
import { specification } from '#kernel/testing.js';
import type { RequestStateEvent } from './request-state.events.js';
import { requestStateDecider, type SpendCommand } from './request-state.js';

const given = specification(requestStateDecider);
const spend: SpendCommand = { type: 'Spend', id: 'a1', tool: 'pick', question: 'term_choice:g1' };
const spent: RequestStateEvent = {
  type: 'RequestStateSpent',
  data: { id: 'a1', tool: 'pick', question: 'term_choice:g1' },
};

describe('a request state', () => {
  it('X-5: is good for one answer', () => {
    given().when(spend).then(spent);
  });
  it('X-5: is refused a second time, whatever is answered with it', () => {
    given(spent).when(spend).thenRefused('request_state_spent');
    given(spent)
      .when({ ...spend, question: 'term_choice:g2' })
      .thenRefused('request_state_spent');
  });
});
