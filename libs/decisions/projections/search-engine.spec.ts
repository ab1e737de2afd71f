import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sha256, derivedId } from '#kernel/json.js';
import type { Codec, EventOf, Vocabulary } from '#kernel/vocabulary.js';
import { MemoryStore } from '#event-store/memory.js';
import { Follower } from '#projections/follower.js';
import { ReadDatabase } from '#projections/read-database.js';
import { sourceCodec, sourceId, sources } from '#sources/index.js';
import { decisionProjections } from '../index.js';
import { contentHash, decisionId } from '../domain/claim.js';
import { topicCodec, type TopicVocabulary } from '../domain/topic.events.js';
import { SearchEngine, TextsUnavailable, type Found } from './search-engine.js';

let dir: string;
let store: MemoryStore;
let db: ReadDatabase;
let follower: Follower;
let storeAnswers: boolean;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'search-'));
  store = new MemoryStore(() => 1_000);
  db = ReadDatabase.openForWriting(join(dir, 'read.sqlite'));
  follower = new Follower(store, db, [sources, ...decisionProjections()]);
  storeAnswers = true;
});
afterEach(() => {
  db.close();
  rmSync(dir, { recursive: true, force: true });
});

const engine = (): SearchEngine =>
  new SearchEngine(db, (hashes) =>
    storeAnswers
      ? Promise.all(hashes.map((hash) => store.getBlob(hash)))
      : Promise.reject(new TextsUnavailable()),
  );

const near = (search: SearchEngine, workspace: string, question: string): Promise<Found> =>
  search.near({
    workspace,
    question,
    most: { topics: 5, sources: 5 },
    patienceMs: 60_000,
  });

async function append<V extends Vocabulary>(
  codec: Codec<V>,
  workspace: string,
  stream: string,
  revision: number,
  events: readonly EventOf<V>[],
): Promise<void> {
  await store.append(
    stream,
    revision,
    events.map((event, i) => {
      const { version, data } = codec.encode(event);
      return {
        id: derivedId(stream, String(revision + i)),
        type: event.type,
        version,
        workspace,
        actor: { principal: 'ann', kind: 'person', credential: null },
        causation: 'c',
        correlation: 'c',
        payload: JSON.stringify(data),
      };
    }),
  );
}

async function capture(workspace: string, title: string, text: string): Promise<string> {
  const bytes = Buffer.from(text);
  const hash = sha256(bytes);
  await store.putBlobs([{ hash, bytes }]);
  const source_id = sourceId(workspace, title, hash);
  const data = { source_id, sha256: hash, bytes: bytes.length, title, type: 'note' };
  await append(sourceCodec, workspace, `source-${workspace}-${source_id}`, -1, [
    { type: 'SourceCaptured', data },
  ]);
  await follower.catchUp();
  return source_id;
}

async function propose(workspace: string, topic: string, statement: string): Promise<void> {
  const said = { statement, scope: {}, supersedes: [], relations: [], evidence: [] };
  await append<TopicVocabulary>(topicCodec, workspace, `topic-${workspace}-${topic}`, -1, [
    { type: 'TopicOpened', data: { topic, name: topic } },
    {
      type: 'DecisionProposed',
      data: {
        ...said,
        decision_id: decisionId(topic, said),
        content_hash: contentHash(said),
        reasons: ['awaiting_review'],
        proposed_by: 'ann',
        origin: 'job#0',
      },
    },
  ]);
  await follower.catchUp();
}

describe('QO-25: the search engine', () => {
  it('keeps workspaces apart', async () => {
    const ours = await capture('a', 'Ours', 'The otter is kept in the yard.');
    const theirs = await capture('b', 'Theirs', 'The otter is kept in the cellar.');
    await propose('b', 'otters', 'An otter a year.');
    const search = engine();
    const inA = await near(search, 'a', 'otter');
    expect(inA.sources.map((s) => s.source_id)).toEqual([ours]);
    expect(inA.topics).toEqual([]);
    const inB = await near(search, 'b', 'otter');
    expect(inB.sources.map((s) => s.source_id)).toEqual([theirs]);
    expect(inB.topics.map((t) => t.topic)).toEqual(['otters']);
    expect(await near(search, 'c', 'otter')).toEqual({ topics: [], sources: [], complete: true });
  });

  it('read on bit by bit it gives what it gives when read at once', async () => {
    const bit = engine();
    for (let n = 0; n < 30; n++) {
      await capture(
        'a',
        `Note ${n}`,
        `The otter number ${n} eats ${n % 3 === 0 ? 'trout' : 'eel'}.`,
      );
      await propose('a', `otter-${n}`, `Otter ${n} eats ${n % 5 === 0 ? 'trout' : 'eel'}.`);
      await near(bit, 'a', 'otter eel');
    }
    const once = engine();
    for (const question of ['otter trout', 'eel 7', 'number 12 eats'])
      expect(await near(bit, 'a', question)).toEqual(await near(once, 'a', question));
  });

  it('says that it is not complete while texts cannot be had, and goes on later', async () => {
    const source = await capture('a', 'Note', 'The otter is kept in the yard.');
    const search = engine();
    storeAnswers = false;
    expect(await near(search, 'a', 'otter')).toEqual({ topics: [], sources: [], complete: false });
    storeAnswers = true;
    expect(await near(search, 'a', 'otter')).toMatchObject({
      sources: [
        { source_id: source, excerpt: 'The otter is kept in the yard.', start: 0, end: 30 },
      ],
      complete: true,
    });
  });

  it('answers from what it has when it may not wait longer', async () => {
    for (let n = 0; n < 50; n++)
      await capture('a', `Note ${n}`, 'The otter is kept.'.repeat(2_000));
    const search = engine();
    const hurried = { workspace: 'a', question: 'otter', most: { topics: 1, sources: 1 } };
    const first = await search.near({ ...hurried, patienceMs: 0 });
    expect(first.complete).toBe(false);
    expect(await search.near({ ...hurried, patienceMs: 60_000 })).toMatchObject({
      sources: [{ start: 0 }],
      complete: true,
    });
  });
});
