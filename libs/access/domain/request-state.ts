import type { Decider } from '#kernel/decider.js';
import { Refusal } from '#kernel/refusal.js';
import type { RequestStateEvent } from './request-state.events.js';

export type RequestStateUse = { status: 'unspent' } | { status: 'spent' };

export interface SpendCommand {
  type: 'Spend';
  id: string;
  tool: string;
  question: string;
}

/** A request state is good for one answer. The second use is refused, whoever is first. */
export const requestStateDecider: Decider<RequestStateUse, SpendCommand, RequestStateEvent> = {
  initial: () => ({ status: 'unspent' }),
  decide({ id, tool, question }, use) {
    if (use.status === 'spent') throw spentBefore();
    return [{ type: 'RequestStateSpent', data: { id, tool, question } }];
  },
  evolve: () => ({ status: 'spent' }),
};

function spentBefore(): Refusal {
  return new Refusal('conflict', 'request_state_spent', 'this answer was taken before', {
    path: 'requestState',
    issues: [{ path: 'requestState', problem: 'was used before' }],
    fix: 'look at what the first call came to; to answer anew, call the tool without requestState',
  });
}
