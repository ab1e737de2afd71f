import { describe, expect, it } from '@jest/globals';
import { topicDecider } from './topic.js';
import { standing } from './document-standing.js';
import { claimOf, type PlannedClaim } from './ingestion-plan.js';
import type { Topic } from './topic-state.js';

const DOCUMENT = { reads: 'Accepted', isDecided: true, isReplaced: false, elsewhere: [] };
const PATH = '0001-timeout.md';

function says(words: string): PlannedClaim {
  const evidence = [{ source_id: 'src', excerpt: words, start: 0, end: 9, verbatim: true }];
  const said = { statement: 'Timeout', document: `adr/${PATH}`, scope: {}, evidence };
  const claim = claimOf('timeout', { ...said, supersedes: [], relations: [] }, []);
  const topic = { id: 'timeout', name: 'Timeout', aliases: [] };
  return { index: 0, path: PATH, topic, claim, approve: true, document: DOCUMENT };
}

/** A topic whose claims come as an ingestion brings them, each by another job. */
function line() {
  const topic: Topic = topicDecider.initial();
  const place = (origin: string) => ({ home: 'timeout', topic, origin, renamed: new Map() });
  return {
    topic,
    at: (words: string, origin: string) => standing(says(words), place(origin)),
    bring(words: string, origin: string): string {
      const { claim } = standing(says(words), place(origin)).planned;
      const command = {
        type: 'Propose',
        topic: 'timeout',
        name: 'Timeout',
        aliases: [],
        claim: { ...claim, proposed_by: 'ann', origin },
        approval: { reason: 'ingested', nowMs: topic.decisions.size, toMs: Date.parse },
      } as const;
      for (const event of topicDecider.decide(command, topic)) topicDecider.evolve(topic, event, 0);
      return claim.decision_id;
    },
  };
}

describe('QO-23: a document that comes back to its former words', () => {
  it('is decided once more, each time under an id of its own that the same past always gives', () => {
    const ids = [line(), line()].map(({ bring }) =>
      ['10', '20', '10', '20', '10'].map((words, i) => bring(words, `job_${i}#0`)),
    );
    expect(new Set(ids[0]).size).toBe(5);
    expect(ids[1]).toEqual(ids[0]);
  });

  it('supersedes the head that it gave in between, and is the only head', () => {
    const { topic, bring, at } = line();
    bring('10', 'job_1#0');
    const between = bring('20', 'job_2#0');
    expect(at('10', 'job_3#0').planned.claim.supersedes).toEqual([between]);
    expect([...topic.heads]).toEqual([between]);
    const back = bring('10', 'job_3#0');
    expect([...topic.heads]).toEqual([back]);
  });

  it('is the claim that the same job brought before it was cut short, whatever became of it since', () => {
    const { topic, bring, at } = line();
    bring('10', 'job_1#0');
    bring('20', 'job_2#0');
    const back = bring('10', 'job_3#0');
    expect(bring('10', 'job_3#0')).toBe(back);
    bring('20', 'job_4#0');
    expect(at('10', 'job_3#0')).toMatchObject({ held: { id: back }, findings: [] });
    expect(at('10', 'job_5#0').held).toBeUndefined();
    expect(topic.heads.size).toBe(1);
  });

  it('gives those that come after it in the plan its new id', () => {
    const { topic, bring } = line();
    bring('10', 'job_1#0');
    bring('20', 'job_2#0');
    const renamed = new Map<string, string>();
    const place = { home: 'timeout', topic, origin: 'job_3#0', renamed };
    const planned = says('10');
    const { decision_id } = standing(planned, place).planned.claim;
    const successor = says('30');
    successor.claim.document = 'adr/0002-timeout.md';
    successor.claim.supersedes = [planned.claim.decision_id];
    expect(standing(successor, place).planned.claim.supersedes).toEqual([decision_id]);
    expect(decision_id).not.toBe(planned.claim.decision_id);
  });

  it('stays a duplicate where nothing else of the document has its place', () => {
    const { topic, bring, at } = line();
    const id = bring('10', 'job_1#0');
    const revoked = { decision_id: id, reason: 'over', ends_at: new Date(9).toISOString() };
    topicDecider.evolve(topic, { type: 'DecisionRevoked', data: revoked }, 0);
    expect(at('10', 'job_2#0')).toMatchObject({
      held: { id, status: 'revoked' },
      findings: [{ kind: 'decided_before', documents: [PATH] }],
    });
  });
});
