import { randomInt } from 'node:crypto';
import type { TestApplication } from './application.js';

/** A workspace to act in: the key of its owner, and a word that stands in every text of it. */
export interface Place {
  key: string;
  word: string;
  /** Ids that count up must be ones that nobody else’s count reaches. */
  foreign?: boolean;
}

export interface Replied {
  status: number;
  text: string;
}

type Values = Record<string, unknown>;

export interface FieldSchema {
  type?: string;
  enum?: unknown[];
  const?: unknown;
  pattern?: string;
  minLength?: number;
  minimum?: number;
  minItems?: number;
  items?: FieldSchema;
  properties?: Record<string, FieldSchema>;
  required?: string[];
}

/** One operation as the matrix sees it: a REST route or an MCP tool. */
export interface Target {
  name: string;
  /** Fields that stand in the path. */
  inPath: readonly string[];
  fields: Record<string, FieldSchema>;
  required: readonly string[];
  send(values: Values, key: string): Promise<Replied>;
}

interface OpenApi {
  paths: Record<string, Record<string, Operation>>;
}
interface Operation {
  parameters?: { name: string; in: string; required?: boolean; schema: FieldSchema }[];
  requestBody?: { content: Record<string, { schema: FieldSchema }> };
}

/** Every route of /openapi.json. */
export async function routes(server: TestApplication): Promise<Target[]> {
  const { body } = await server.call<OpenApi>('GET', '/openapi.json');
  return Object.entries(body.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) =>
      route(server, method.toUpperCase(), path, operation),
    ),
  );
}

function route(
  server: TestApplication,
  method: string,
  path: string,
  operation: Operation,
): Target {
  const { parameters = [], requestBody } = operation;
  const body = requestBody?.content['application/json']?.schema;
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map((m) => m[1] ?? '');
  return {
    name: `${method} ${path}`,
    inPath,
    fields: {
      ...Object.fromEntries(parameters.map((p) => [p.name, p.schema])),
      ...body?.properties,
    },
    required: [
      ...inPath,
      ...parameters.filter((p) => p.required === true).map((p) => p.name),
      ...(body?.required ?? []),
    ],
    async send(values, key) {
      const rest = Object.entries(values).filter(([name]) => !inPath.includes(name));
      const query = new URLSearchParams(
        rest.map(([n, v]): [string, string] => [n, String(v)]),
      ).toString();
      const url = path.replace(/\{(\w+)\}/g, (_all, name: string) =>
        encodeURIComponent(String(values[name])),
      );
      const got =
        method === 'GET'
          ? await server.call('GET', query === '' ? url : `${url}?${query}`, undefined, key)
          : await server.call('POST', url, Object.fromEntries(rest), key);
      return { status: got.status, text: JSON.stringify(got.body) };
    },
  };
}

interface ListedTool {
  name: string;
  inputSchema: { properties: Record<string, FieldSchema>; required?: string[] };
}

/** Every tool that one of these callers is shown. */
export async function tools(server: TestApplication, keys: readonly string[]): Promise<Target[]> {
  const rpc = (method: string, params: object, key: string) =>
    server.call<{ result?: { tools?: ListedTool[] } }>(
      'POST',
      '/mcp',
      { jsonrpc: '2.0', id: 1, method, params },
      key,
    );
  const lists = await Promise.all(keys.map((key) => rpc('tools/list', {}, key)));
  const listed = new Map(
    lists.flatMap(({ body }) => body.result?.tools ?? []).map((tool) => [tool.name, tool]),
  );
  return [...listed.values()].map(({ name, inputSchema }) => ({
    name: `tool ${name}`,
    inPath: [],
    fields: inputSchema.properties,
    required: inputSchema.required ?? [],
    async send(values, key) {
      const got = await rpc('tools/call', { name, arguments: values }, key);
      return { status: got.status, text: JSON.stringify(got.body) };
    },
  }));
}

/** A valid value, as plain as the schema lets it be. */
export function sample(schema: FieldSchema): unknown {
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  if (schema.pattern?.includes('\\d{4}-') === true) return '2026-01-31';
  switch (schema.type) {
    case 'integer':
    case 'number':
      return schema.minimum ?? 1;
    case 'boolean':
      return true;
    case 'array':
      return Array.from({ length: schema.minItems ?? 0 }, () => sample(schema.items ?? {}));
    case 'object':
      return Object.fromEntries(
        (schema.required ?? []).map((name) => [name, sample(schema.properties?.[name] ?? {})]),
      );
    default:
      return 'plain '.repeat(Math.ceil(Math.max(1, schema.minLength ?? 1) / 6)).trim();
  }
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
