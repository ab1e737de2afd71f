import { join } from 'node:path';
import type { FollowOptions, NewEvent, Position } from '#event-store/event-store.js';
import { openSqliteReader, openSqliteStore } from '#event-store/sqlite.js';
import { canonicalJson, derivedId, sha256 } from '#kernel/json.js';
import { contentHash, decisionId } from '#decisions/domain/claim.js';
import {
  topicCodec,
  type Proposed,
  type TopicEvent,
  type TopicVocabulary,
} from '#decisions/domain/topic.events.js';
import { sourceCodec } from '#sources/domain/source.events.js';
import { sourceId } from '#sources/index.js';
import type { Codec, EventOf, Vocabulary } from '#kernel/vocabulary.js';
import { Reactor } from '#projections/reaction.js';
import { concurrently } from './measure.js';

/** The workspace that a server creates on an empty ledger. */
const WORKSPACE = 'main';
const ACTOR = { principal: 'owner', kind: 'person', credential: 'prec_BENCHKEY' } as const;
const AT_ONCE = 256;
const TOPICS_PER_SOURCE = 10;

const SUBJECTS = ['retention', 'encryption', 'hosting', 'pricing', 'support', 'branching'];
const OBJECTS = ['invoices', 'backups', 'logs', 'contracts', 'releases', 'tickets', 'profiles'];

/** The n-th topic, always the same: a name, and one claim about it with its evidence. */
export function topicAt(n: number): { topic: string; name: string; claim: Proposed } {
  const subject = SUBJECTS[n % SUBJECTS.length] ?? '';
  const object = OBJECTS[n % OBJECTS.length] ?? '';
  const topic = `${subject}-of-${object}-${n}`;
  const years = (n % 9) + 1;
  const statement = `The ${subject} of ${object} in unit ${n} is settled at ${years} years, reviewed each spring.`;
  const said = {
    statement,
    value: { years, unit: n },
    scope: { region: n % 2 === 0 ? 'eu' : 'us' },
    effective_from: '2024-01-01',
    supersedes: [],
    relations: [],
    evidence: [
      {
        source_id: sourceAt(n).source_id,
        excerpt: statement,
        start: 120,
        end: 120 + statement.length,
        verbatim: true,
      },
    ],
  };
  return {
    topic,
    name: `${subject} of ${object} ${n}`,
    claim: {
      ...said,
      decision_id: decisionId(topic, said),
      content_hash: contentHash(said),
      reasons: ['not_decided'],
      proposed_by: ACTOR.principal,
      origin: `job_bench#${n}`,
    },
  };
}

function sourceAt(n: number) {
  const title = `Minutes ${Math.floor(n / TOPICS_PER_SOURCE)}`;
  const hash = sha256(title);
  const document = `minutes/${title}`;
  return {
    source_id: sourceId(WORKSPACE, document, hash),
    sha256: hash,
    bytes: 4_000,
    title,
    type: 'meeting_notes',
    document,
    occurred_at: '2024-01-15',
  };
}

/**
 * Appends topics `0` to `count − 1` straight to the engine, each in one append: opened, named and proposed; with `approved`
 * decided as well. Their revisions are 0, 1, 2 and 3.
 */
export async function seedTopics(dir: string, count: number, approved: boolean): Promise<void> {
  const store = await openSqliteStore(dir, { clock: Date.now });
  try {
    const topics = Array.from({ length: count }, (_, n) => n);
    await concurrently(topics, AT_ONCE, async (n) => {
      if (n % TOPICS_PER_SOURCE === 0) {
        const data = sourceAt(n);
        const stream = `source-${WORKSPACE}-${data.source_id}`;
        const captured = { type: 'SourceCaptured', data } as const;
        await store.append(stream, -1, [recorded(sourceCodec, captured, stream)]);
      }
      const { stream, events } = streamOf(n, approved);
      await store.append(stream, -1, events);
    });
  } finally {
    await store.close();
  }
  await pastReactions(dir);
}

/** The streams of topics `first` on with the events of a seeded topic that nobody has approved. */
export function openedStreams(
  first: number,
  count: number,
): { stream: string; events: NewEvent[] }[] {
  return Array.from({ length: count }, (_, i) => streamOf(first + i, false));
}

/** The topic whose decision was replaced so many times less one; asked for with an empty scope. */
export function revisedTopic(times: number): string {
  return `revised-${times}`;
}

/** Appends that topic: opened, then so many decisions that each supersede the one before. */
export async function seedRevised(dir: string, times: number): Promise<void> {
  const topic = revisedTopic(times);
  const store = await openSqliteStore(dir, { clock: Date.now });
  const stream = `topic-${WORKSPACE}-${topic}`;
  let revision = -1;
  const append = (events: readonly TopicEvent[]): Promise<unknown> => {
    const expected = revision;
    revision += events.length;
    return store.append(
      stream,
      expected,
      events.map((event, i) =>
        recorded<TopicVocabulary>(topicCodec, event, `${stream}@${expected + 1 + i}`),
      ),
    );
  };
  try {
    await append([{ type: 'TopicOpened', data: { topic, name: `What ${topic} is` } }]);
    // The engine keeps the order in which they are handed over.
    const successions = Array.from({ length: times }, (_, k) => succession(topic, k));
    await concurrently(successions, AT_ONCE, append);
  } finally {
    await store.close();
  }
  await pastReactions(dir);
}

function succession(topic: string, k: number): TopicEvent[] {
  const claim = revisionAt(topic, k);
  const { decision_id, content_hash, supersedes } = claim;
  const starts_at = new Date(Date.UTC(2024, 0, 1) + k * 60_000).toISOString();
  return [
    { type: 'DecisionProposed', data: claim },
    {
      type: 'DecisionApproved',
      data: { decision_id, content_hash, reason: REASON, starts_at, supersedes },
    },
    ...supersedes.map(
      (id) =>
        ({
          type: 'DecisionSuperseded',
          data: { decision_id: id, by: decision_id, ends_at: starts_at },
        }) as const,
    ),
  ];
}

function revisionAt(topic: string, k: number): Proposed {
  const said = {
    statement: `What is revised is settled at ${k}.`,
    scope: {},
    relations: [],
    evidence: topicAt(0).claim.evidence,
  };
  const id = (n: number): string => `${topic}.${sha256(String(n)).slice(0, 12)}`;
  const supersedes = k === 0 ? [] : [id(k - 1)];
  return {
    ...said,
    decision_id: id(k),
    supersedes,
    content_hash: contentHash({ ...said, supersedes }),
    reasons: [],
    proposed_by: ACTOR.principal,
    origin: `job_bench#${k}`,
  };
}

/** As in a ledger of some age: reactions have nothing left to do when the server starts. */
async function pastReactions(dir: string): Promise<void> {
  const reader = openSqliteReader(dir);
  const done = Promise.withResolvers<undefined>();
  const log = {
    end: () => reader.end(),
    async *follow(after: Position, options: FollowOptions) {
      yield* reader.follow(after, { ...options, live: false });
      done.resolve(undefined);
    },
  };
  const reactor = new Reactor(log, join(dir, 'reactions.sqlite'), [], () => undefined);
  reactor.start();
  await done.promise;
  await reactor.close();
  await reader.close();
}

function streamOf(n: number, approved: boolean): { stream: string; events: NewEvent[] } {
  const { topic, events } = historyOf(n, approved);
  const stream = `topic-${WORKSPACE}-${topic}`;
  return {
    stream,
    events: events.map((event, i) =>
      recorded<TopicVocabulary>(topicCodec, event, `${stream}@${i}`),
    ),
  };
}

function historyOf(n: number, approved: boolean): { topic: string; events: TopicEvent[] } {
  const { topic, name, claim } = topicAt(n);
  const { decision_id, content_hash } = claim;
  const events: TopicEvent[] = [
    { type: 'TopicOpened', data: { topic, name } },
    { type: 'TopicAliased', data: { topic, aliases: [name, `unit ${n} ${name}`] } },
    { type: 'DecisionProposed', data: { ...claim, reasons: approved ? [] : claim.reasons } },
  ];
  if (approved)
    events.push({
      type: 'DecisionApproved',
      data: {
        decision_id,
        content_hash,
        reason: REASON,
        effective_from: '2024-01-01',
        starts_at: '2024-01-01T00:00:00.000Z',
        supersedes: [],
      },
    });
  return { topic, events };
}

function recorded<V extends Vocabulary>(
  codec: Codec<V>,
  event: EventOf<V>,
  place: string,
): NewEvent {
  const { version, data } = codec.encode(event);
  const command = derivedId('bench', place);
  return {
    id: derivedId(command, place),
    type: event.type,
    version,
    workspace: WORKSPACE,
    actor: ACTOR,
    causation: command,
    correlation: command,
    payload: canonicalJson(data),
  };
}

/** The hash of no candidate. */
export const STALE = '0'.repeat(64);

const REASON = 'agreed in the meeting of the board';

/** The body of the review that approves the n-th topic's claim. */
export function reviewAt(n: number): {
  decision_id: string;
  action: 'approve';
  reason: string;
  content_hash: string;
} {
  const { claim } = topicAt(n);
  return {
    decision_id: claim.decision_id,
    action: 'approve',
    reason: REASON,
    content_hash: claim.content_hash,
  };
}
