import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Refusal } from '#kernel/refusal.js';
import { specification } from '#kernel/testing.js';
import { approve, propose, story, topic } from '../../../test/support/ontology-story.js';
import { ontologyDecider, type OntologyCommand } from './ontology.js';
import type { OntologyEvent } from './ontology.events.js';

const given = specification(ontologyDecider);

describe('approval of a proposal', () => {
  const [first] = story([topic('A')]);
  if (first?.type !== 'OntologyChangeProposed') throw new Error('no proposal');

  it('B43: names the hash that was inspected, and makes the next version', () => {
    given(first)
      .when(approve(first, { contentHash: 'f'.repeat(64) }))
      .thenRefused('stale_revision');
    given(first)
      .when(approve(first, { reason: 'agreed' }))
      .then({
        type: 'OntologyProposalApproved',
        data: {
          proposal_id: 'ontology-1',
          version: 1,
          content_hash: first.data.content_hash,
          reason: 'agreed',
          named: [{ topic: 'a', names: ['a', 'A'] }],
          merges: [],
        },
      });
  });

  it('B43: of one that builds on an outdated version is refused with what changed in between', () => {
    const [, approvedA] = story([topic('A')]);
    const late = {
      ...first,
      data: { ...first.data, proposal_id: 'ontology-2', content_hash: 'a'.repeat(64) },
    };
    if (!approvedA) throw new Error('no approval');
    const refusal = given(first, late, approvedA).when(approve(late)).thenRefused('stale_revision');
    expect(refusal.issues).toEqual([
      { path: 'proposal_id', problem: 'since version 0: added topic a' },
    ]);
    given(...story([topic('A')]))
      .when(propose([topic('B')], { baseVersion: 0 }))
      .thenRefused('stale_revision');
  });

  it('QO-12: four eyes: the proposer does not approve; without the setting he may', () => {
    given(first)
      .when(approve(first, { approver: 'ann', fourEyes: true }))
      .thenRefused('four_eyes');
    given(first)
      .when(approve(first, { approver: 'ann' }))
      .thenMatches((e) => {
        expect(e).toHaveLength(1);
      });
  });

  it('a decided proposal is not decided again', () => {
    const events = story([topic('A')]);
    given(...events)
      .when(approve(first))
      .thenRefused('already_decided');
    given(...events)
      .when({ type: 'Reject', proposalId: 'ontology-1', reason: 'x' })
      .thenRefused('already_decided');
    given(...events)
      .when(approve(first, { proposalId: 'ontology-9' }))
      .thenRefused('unknown_proposal');
  });
});

const PROPOSES = ['OntologyProposed', 'OntologyChangeProposed', 'OntologyRollbackPrepared'];

it('invariant 8, O-36: no command both proposes and approves, in any order of commands', () => {
  const step = fc.tuple(fc.constantFrom('propose', 'approve', 'rollback'), fc.nat(4));
  let approvals = 0;
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
      const state = ontologyDecider.initial();
      const proposals: Parameters<typeof approve>[0][] = [];
      for (const [what, n] of steps) {
        const proposal = proposals[n % Math.max(proposals.length, 1)];
        const command: OntologyCommand | undefined =
          what === 'propose'
            ? propose([topic(`topic ${n}`)])
            : what === 'rollback'
              ? { type: 'PrepareRollback', toVersion: n, proposedBy: 'ann' }
              : proposal && approve(proposal);
        const events = command ? decided(command, state) : [];
        const types = events.map(({ type }) => type as string);
        const approved = types.includes('OntologyProposalApproved');
        expect(approved && types.some((type) => PROPOSES.includes(type))).toBe(false);
        if (approved) approvals += 1;
        for (const event of events) {
          ontologyDecider.evolve(state, event, 0);
          if (PROPOSES.includes(event.type)) proposals.push(event as (typeof proposals)[number]);
        }
      }
    }),
    { numRuns: 200 },
  );
  expect(approvals).toBeGreaterThan(50);
});

/** Nothing where it is refused. */
function decided(
  command: OntologyCommand,
  state: Parameters<typeof ontologyDecider.decide>[1],
): readonly OntologyEvent[] {
  try {
    return ontologyDecider.decide(command, state);
  } catch (error) {
    if (error instanceof Refusal) return [];
    throw error;
  }
}
