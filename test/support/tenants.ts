import { randomInt } from 'node:crypto';
import type { TestApplication } from './application.js';
import type { Values } from './tenant-targets.js';

/** A workspace to act in: the key of its owner, and a word that stands in every text of it. */
export interface Place {
  key: string;
  word: string;
  /** Ids that count up must be ones that nobody else’s count reaches. */
  foreign?: boolean;
}

/** Another id of the same form: every letter and digit is drawn anew, but for single small letters. */
export function another(id: string): string {
  const draw = (from: string) => (): string => from[randomInt(from.length)] ?? '';
  return id.replace(/[0-9a-f]{8,}|[a-z]{3,}|[A-Z]|\d/g, (part) => {
    if (/^[0-9a-f]{8,}$/.test(part)) return part.replace(/./g, draw('0123456789abcdef'));
    if (/^\d$/.test(part)) return draw('0123456789')();
    return part.replace(/[a-z]/g, draw(SMALL)).replace(/[A-Z]/g, draw(SMALL.toUpperCase()));
  });
}

const SMALL = 'bcdfghjklmnpqrstvwxz';

let made = 0;

/** Makes one thing in a place and returns its id, through REST as an owner would. */
export type Maker = (server: TestApplication, place: Place) => Promise<string>;

async function post(
  server: TestApplication,
  { key }: Place,
  path: string,
  body: object,
): Promise<Record<string, string>> {
  const reply = await server.call<Record<string, string>>('POST', `/v1/${path}`, body, key);
  if (reply.status >= 300) throw new Error(`${path}: ${JSON.stringify(reply.body)}`);
  return reply.body;
}

interface Job {
  job_id: string;
  records: { decision_id: string; topic: string }[];
}

/** Records in one topic of their own, whose name shares no word with any other. */
async function recorded(
  server: TestApplication,
  { key, word }: Place,
  records: readonly { says: string; status: 'approved' | 'candidate' }[],
): Promise<Job & { name: string }> {
  const suffix = [...String(1_000 + ++made)].map((digit) => SMALL[Number(digit)]).join('');
  const name = `${word}${suffix}`;
  const job = await server.ingest(
    {
      source: {
        title: name,
        type: 'note',
        text: records.map((r) => `${name} ${r.says}`).join('\n'),
      },
      records: records.map(({ says, status }) => ({
        topic: name,
        statement: `${name} ${says}`,
        value: says,
        status,
        evidence: [{ quote: `${name} ${says}` }],
      })),
    },
    key,
  );
  return { ...(job as unknown as Job), name };
}

const approved = (says: string) => ({ says, status: 'approved' }) as const;
const candidate = (says: string) => ({ says, status: 'candidate' }) as const;
const idOf = ({ records }: Job, index: number): string => records[index]?.decision_id ?? '';

/** An open conflict of two decisions. */
async function disputed(server: TestApplication, place: Place) {
  const job = await recorded(server, place, [approved('yes'), approved('no')]);
  const found = await server.call<{ conflicts: { conflict_id: string }[] }>(
    'GET',
    `/v1/conflicts?topic=${encodeURIComponent(job.name)}`,
    undefined,
    place.key,
  );
  return { conflict_id: found.body.conflicts[0]?.conflict_id ?? '', winner: idOf(job, 0) };
}

const decision: Maker = async (server, place) =>
  idOf(await recorded(server, place, [candidate('one')]), 0);

/** A member with a key of his own. */
const principal: Maker = async (server, place) => {
  const added = await post(server, place, 'members', { name: place.word, role: 'member' });
  await post(server, place, 'credentials', { principal: added['principal'], label: place.word });
  return added['principal'] ?? '';
};

/** A text of a subject that has no other. */
async function subjectOf(server: TestApplication, place: Place): Promise<string> {
  const subject = `${place.word}-${++made}`;
  const source = { title: subject, type: 'note', text: `${subject} was here.`, subject };
  await server.ingest({ source, records: [] }, place.key);
  return subject;
}

/** How far our own proposals are counted. */
let proposals = 0;

/**
 * How each kind of id in a path, a query, a body or a tool's arguments comes about. An id field that is not here fails the matrix:
 * add its maker.
 */
export const MAKERS: Readonly<Record<string, Maker>> = {
  principal,
  short: async (server, place) =>
    (
      await post(server, place, 'credentials', {
        principal: await principal(server, place),
        label: place.word,
      })
    )['short'] ?? '',
  job_id: async (server, place) => (await recorded(server, place, [approved('one')])).job_id,
  topic: async (server, place) => (await recorded(server, place, [approved('one')])).name,
  decision_id: decision,
  supersedes: decision,
  superseded_by: decision,
  winner_decision_id: decision,
  conflict_id: async (server, place) => (await disputed(server, place)).conflict_id,
  proposal_id: async (server, place) => {
    for (;;) {
      const description = `# Topics\n\n- ${place.word} ${++made}`;
      const { proposal_id: id = '' } = await post(server, place, 'ontology/drafts', {
        description,
      });
      const reached = Number(/\d+$/.exec(id)?.[0]);
      if (place.foreign !== true) proposals = reached;
      else if (reached < proposals + 20) {
        await post(server, place, 'ontology/changes', {
          action: 'reject',
          proposal_id: id,
          reason: 'no',
        });
        continue;
      }
      return id;
    }
  },
  dataset_id: async (server, place) => String((await dataset(server, place))['dataset_id']),
  run_id: async (server, place) => (await runs(server, place))[0],
  compare_to: async (server, place) => (await runs(server, place))[0],
  subject: subjectOf,
  source_id: async (server, place) => {
    const text = `${place.word} ${++made} was here.`;
    const source = { title: text, type: 'note', text };
    const { source_ids } = (await post(server, place, 'ingestions', { source, records: [] })) as {
      source_ids?: string[];
    };
    await server.ingest({ source, records: [] }, place.key);
    return source_ids?.[0] ?? '';
  },
  erasure_id: async (server, place) => {
    const subject = await subjectOf(server, place);
    return (
      (await post(server, place, 'erasures', { subject, reason: 'mistake' }))['erasure_id'] ?? ''
    );
  },
  hold_id: async (server, place) => {
    const subject = await subjectOf(server, place);
    return (await post(server, place, 'legal-holds', { subject, matter: 'M-1' }))['hold_id'] ?? '';
  },
  call_id: async (server, place) => {
    await post(server, place, 'workspace/settings', { answer_capture: true });
    return (await post(server, place, 'answers', { question: `${place.word} ?` }))['call_id'] ?? '';
  },
};

/** A set of one question, and its hash. */
async function dataset(server: TestApplication, place: Place): Promise<Values> {
  return post(server, place, 'evaluation/datasets', {
    name: `${place.word} ${++made}`,
    cases: [{ question: place.word, expect: { state: 'unknown' } }],
  });
}

/** Two runs of one approved dataset. */
async function runs(server: TestApplication, place: Place): Promise<readonly [string, string]> {
  const { dataset_id: id, dataset_hash } = await dataset(server, place);
  const path = `evaluation/datasets/${String(id)}`;
  await post(server, place, `${path}/reviews`, { dataset_hash, action: 'approve', reason: 'read' });
  const run = async (): Promise<string> =>
    (await post(server, place, `${path}/runs`, {}))['run_id'] ?? '';
  return [await run(), await run()];
}

/** An id that only means something beside others of the same thing: it, and what goes with it. */
export type Together = (
  server: TestApplication,
  place: Place,
) => Promise<{ id: string; beside: Values }>;

const succession: Together = async (server, place) => {
  const job = await recorded(server, place, [approved('old'), candidate('new')]);
  return { id: idOf(job, 0), beside: { decision_id: idOf(job, 1) } };
};

export const TOGETHER: Readonly<Record<string, Together>> = {
  supersedes: succession,
  superseded_by: succession,
  compare_to: async (server, place) => {
    const [id, run_id] = await runs(server, place);
    return { id, beside: { run_id } };
  },
  winner_decision_id: async (server, place) => {
    const { conflict_id, winner } = await disputed(server, place);
    return { id: winner, beside: { conflict_id, action: 'resolve' } };
  },
};

/** Not ids of anything: what callers choose themselves, everywhere or in one operation. */
export const CHOSEN: readonly string[] = [
  'request_id',
  // What an identity provider calls somebody.
  'POST /v1/principals/{principal}/identities: subject',
  'POST /v1/principals/{principal}/identities/removal: subject',
  // Lists that are empty for a subject of one's own of which nothing was erased or held.
  'GET /v1/erasures: subject',
  'GET /v1/legal-holds: subject',
  // A candidate without a topic gets one of this name, new or not.
  'POST /v1/decisions/{decision_id}/reviews: topic',
  'tool review_decision: topic',
  // A tile of one's own log.
  'path',
];

/** Answers for a name that nothing bears are answers, not refusals. */
export const ANSWERED: readonly string[] = ['GET /v1/topics/{topic}/history'];

/** Arguments that a schema alone does not make meaningful. */
export const ARGUMENTS: Readonly<Record<string, Values>> = {
  'POST /v1/ingestions': { source: { title: 'plain', type: 'note', text: 'plain' } },
  'tool ingest': { source: { title: 'plain', type: 'note', text: 'plain' } },
  'GET /v1/log/tile/{path}': { path: 'entries/000.p/1' },
  'GET /v1/log/proofs/inclusion': { position: '1' },
  'POST /v1/conflicts/{conflict_id}/resolutions': { action: 'dismiss' },
  'tool resolve_conflict': { action: 'dismiss' },
  'POST /v1/ontology/changes': { action: 'reject', reason: 'plain' },
  'tool edit_ontology': { action: 'reject', reason: 'plain' },
};
