import { beforeEach, describe, expect, it } from '@jest/globals';
import type { RecordedEvent } from '#event-store/event-store.js';
import { MemoryStore } from '#event-store/memory.js';
import { Streams, type Origin } from '#event-store/streams.js';
import type { OntologyCommand } from '../domain/ontology.js';
import type { StoredOperation } from '../domain/ontology.events.js';
import {
  homeTopic,
  ontologyStream,
  ontologyStreams,
  topicStream,
  topicStreams,
} from '../streams.js';
import { ontologyReaction } from './ontology.js';

const NOW = Date.parse('2026-01-01');
const origin = (command: string): Origin => ({
  workspace: 'w',
  actor: { principal: 'ann', kind: 'person', credential: null },
  command,
  correlation: command,
});

let store: MemoryStore;
let streams: Streams;
beforeEach(() => {
  store = new MemoryStore(() => NOW);
  streams = new Streams(store);
});

let commands = 0;
function run(command: OntologyCommand) {
  commands += 1;
  return streams.execute(ontologyStreams, ontologyStream('w'), command, origin(`o${commands}`));
}

/** Proposes and approves; returns the approval as the log holds it. */
async function change(...steps: StoredOperation[]): Promise<RecordedEvent> {
  const { events } = await run({
    type: 'Propose',
    change: steps,
    recorded: new Map(),
    proposedBy: 'ann',
  });
  const [proposed] = events;
  if (proposed?.type !== 'OntologyChangeProposed') throw new Error('nothing was proposed');
  const { proposal_id: proposalId, content_hash: contentHash } = proposed.data;
  await run({ type: 'Approve', proposalId, contentHash, approver: 'ann', fourEyes: false });
  let last: RecordedEvent | undefined;
  for await (const batch of store.readStream(ontologyStream('w'), 0)) last = batch.at(-1);
  if (!last) throw new Error('nothing is recorded');
  return last;
}

function decided(topic: string, id: string, value: number): Promise<unknown> {
  const claim = {
    decision_id: id,
    statement: `it is ${value}`,
    value,
    scope: {},
    supersedes: [],
    relations: [],
    evidence: [],
    content_hash: id,
    reasons: [],
    proposed_by: 'ann',
    origin: 'job#0',
  };
  return streams.execute(
    topicStreams,
    topicStream('w', topic),
    {
      type: 'Propose',
      topic,
      name: topic,
      aliases: [],
      claim,
      approval: { reason: 'agreed', nowMs: NOW, toMs: Date.parse },
    },
    origin(id),
  );
}

const closeA = (into: string): Promise<unknown> =>
  streams.execute(
    topicStreams,
    topicStream('w', 'a'),
    { type: 'Merge', topic: 'a', into, ontologyVersion: 2 },
    origin('cut short'),
  );

describe('joining topics', () => {
  it('cut short after the one was closed: what is in it waits, and the reaction goes on from there', async () => {
    await decided('a', 'a.000000000001', 1);
    await decided('b', 'b.000000000001', 2);
    await change({ op: 'add_topic', name: 'a' }, { op: 'add_topic', name: 'b' });
    const approval = await change({ op: 'merge_topics', topic: 'a', into: 'b' });
    await closeA('b');
    await expect(homeTopic(streams, 'w', 'a')).rejects.toMatchObject({
      kind: 'unavailable',
      error: 'merge_in_progress',
    });

    const reaction = ontologyReaction({ streams, clock: () => NOW });
    await reaction.run(approval);
    expect(await homeTopic(streams, 'w', 'a')).toBe('b');
    const { state } = await streams.load(topicStreams, topicStream('w', 'b'));
    expect([...state.heads].sort()).toEqual(['a.000000000001', 'b.000000000001']);
    expect([...state.openConflicts.values()]).toEqual([['b.000000000001', 'a.000000000001']]);

    const end = await store.end();
    await reaction.run(approval);
    expect(await store.end()).toBe(end);
  });

  it('topics that no record has opened are joined as well, and chains lead to their end', async () => {
    await change(
      { op: 'add_topic', name: 'a' },
      { op: 'add_topic', name: 'b' },
      { op: 'add_topic', name: 'c' },
    );
    const reaction = ontologyReaction({ streams, clock: () => NOW });
    await reaction.run(
      await change(
        { op: 'merge_topics', topic: 'a', into: 'b' },
        { op: 'merge_topics', topic: 'b', into: 'c' },
      ),
    );
    expect(await homeTopic(streams, 'w', 'a')).toBe('c');
    const { state } = await streams.load(topicStreams, topicStream('w', 'c'));
    expect([...state.absorbed].sort()).toEqual(['a', 'b']);
  });

  it('a change that merges nothing appends nothing', async () => {
    const approval = await change({ op: 'add_topic', name: 'a' });
    const end = await store.end();
    await ontologyReaction({ streams, clock: () => NOW }).run(approval);
    expect(await store.end()).toBe(end);
  });
});
