import { expect } from '@jest/globals';
import fc from 'fast-check';
import { clashes, type Approval, type Claim, type Dates, type Said } from '../model/answers.js';
import type { Model } from '../model/model.js';
import type { AppendFault } from './eventstoredb-server.js';
import type { Engine, ModelLedger } from './model-ledger.js';

type Command = fc.AsyncCommand<Model, ModelLedger>;
/** Requests that may be sent again, and what they were answered. */
interface Sent {
  url: string;
  body: Record<string, unknown>;
  by: string;
  answer: string;
}
const sent = new WeakMap<Model, Sent[]>();
const sentBy = (m: Model): Sent[] => sent.get(m) ?? sent.set(m, []).get(m)!;
let requests = 0;

const ms = (text: string) => Date.parse(text);
const iso = (at: number) => new Date(at).toISOString();
const NOWHERE = 'nowhere.000000000000';
const SCOPES = [{}, { team: 'a' }, { team: 'b' }, { region: 'eu' }, { team: 'a', region: 'eu' }];
const FROM = ['2020-01-01', '2022-01-01', '2040-01-01'].map(ms);
const TO = ['2021-01-01', '2022-01-01', '2023-01-01', '2040-01-01', '2041-01-01'].map(ms);
const AS_OF = ['2019-01-01', '2020-01-01', '2021-06-01', '2022-01-01', '2025-01-01', '2042-01-01'];

/** `n` times in four; otherwise absent. */
const sometimes = <T>(n: number, arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: 4 - n, arbitrary: fc.constant(undefined) }, { weight: n, arbitrary });

const from = sometimes(2, fc.constantFrom(...FROM));
const to = sometimes(1, fc.constantFrom(...TO));
const topic = fc.constantFrom('a', 'a', 'b');
const scope = fc.oneof(
  { weight: 3, arbitrary: fc.constant({}) },
  { weight: 2, arbitrary: fc.constantFrom(...SCOPES) },
);
const by = fc.oneof(
  { weight: 6, arbitrary: fc.constant('owner') },
  { weight: 1, arbitrary: fc.constant('member') },
);
/** Picks among the claims that there are when the command runs. */
const pick = fc.nat({ max: 10_000 });
const picks = fc.array(pick, { minLength: 1, maxLength: 2 });

function command(name: string, details: object, run: Command['run']): Command {
  return {
    check: () => true,
    toString: () => `${name} ${JSON.stringify(details)}`,
    async run(m, r) {
      m.now += 1;
      await run(m, r);
      m.remember(await r.end());
      r.count(name);
    },
  };
}

const named = (r: ModelLedger, name: string) => `h${r.history}-${name}`;
const dates = (d: { from?: number | undefined; to?: number | undefined }) => ({
  ...(d.from === undefined ? {} : { effective_from: iso(d.from) }),
  ...(d.to === undefined ? {} : { effective_to: iso(d.to) }),
});

/** Mostly claims of the topic that are or were approved, sometimes any claim, sometimes none that exists. */
function targetsAmong(m: Model, topicName: string, chosen: readonly number[]): string[] {
  const own = m.claims.filter((c) => c.topic === topicName);
  const approved = own.filter((c) => c.state === 'approved');
  const ended = own.filter((c) => c.state === 'superseded');
  const ids = chosen.map((n) => {
    const kind = n % 20 < 8 ? approved : n % 20 < 16 ? ended : n % 20 < 18 ? own : m.claims;
    const from = kind.length > 0 && n % 20 < 19 ? kind : n % 20 < 19 ? own : [];
    return from[Math.floor(n / 20) % Math.max(1, from.length)]?.id ?? NOWHERE;
  });
  return [...new Set(ids)];
}

const ingest = fc
  .record({
    topic,
    value: fc.constantFrom(1, 1, 2, 2, 3),
    scope,
    dated: fc.record({ from, to }),
    bounded: fc.boolean(),
    supersedes: sometimes(1, picks),
    approved: fc.boolean(),
    by,
    crash: fc.integer({ min: 0, max: 30 }),
  })
  .map((g) =>
    command('ingest', g, async (m, r) => {
      const said: Said = {
        topic: named(r, g.topic),
        value: g.value,
        scope: g.scope,
        from: g.dated.from,
        to: g.bounded ? g.dated.to : undefined,
      };
      const known = m.find(said);
      const wanted = targetsAmong(m, said.topic, g.supersedes ?? []);
      const supersedes = wanted;
      const text = `It was said that the value is ${g.value}.`;
      const statement = `value is ${g.value}`;
      const record = {
        topic: said.topic,
        statement,
        value: g.value,
        scope: g.scope,
        ...dates(said),
        supersedes,
        status: g.approved ? 'approved' : 'candidate',
        evidence: [{ quote: statement }],
      };
      const body = {
        request_id: `request-${(requests += 1)}`,
        source: { title: 'minutes', type: 'note', text },
        records: [record],
      };
      const reply = await r.post('/v1/ingestions', body, g.by);
      if (g.crash === 0 && r.engine !== 'memory') {
        await r.crash({ moving: true });
        r.count('kill during an ingestion');
      }
      let got = String(reply.body['error']);
      let id = '';
      if (reply.status === 202) {
        const { job_id } = reply.body as { job_id: string };
        sentBy(m).push({ url: '/v1/ingestions', body, by: g.by, answer: job_id });
        const job = await r.job(job_id);
        const [outcome] = job['records'] as {
          outcome: string;
          reason?: string;
          decision_id: string;
        }[];
        id = outcome!.decision_id;
        const told = /which is (\w+)$|^decided_before: .* is (\w+);|^(\w+): /.exec(
          outcome?.reason ?? '',
        );
        const reason = told?.slice(1).find((word) => word !== undefined) ?? outcome?.reason;
        if (outcome?.reason === 'confirms_head') r.count('confirming');
        if (outcome?.reason?.startsWith('conflict_opened') === true) r.count('conflict opened');
        got = outcome!.outcome === 'stored' ? 'stored' : `${outcome!.outcome} ${reason ?? ''}`;
      }
      r.count(got);
      const fresh = m.get(id) === undefined;
      expect(got).toBe(m.ingest(id, said, supersedes, g.approved, g.by));
      if (id !== '') expect(fresh).toBe(known === undefined);
    }),
  );

async function review(
  r: ModelLedger,
  id: string,
  who: string,
  body: Record<string, unknown>,
): Promise<{ got: string; opened: string[] }> {
  const url = `/v1/decisions/${encodeURIComponent(id)}/reviews`;
  const { body: said } = await r.post(url, { reason: 'agreed', ...body }, who);
  const got = String(said['error'] ?? said['state']);
  r.count(got);
  return { got, opened: (said['conflicts_opened'] ?? []) as string[] };
}

/** Mostly a candidate, or for a revocation a head; sometimes any claim, sometimes none. */
function subject(m: Model, state: string, n: number): string {
  const fit = m.claims.filter((c) => c.state === state);
  const from: readonly Claim[] = n % 20 < 14 && fit.length > 0 ? fit : n % 20 < 19 ? m.claims : [];
  return from[Math.floor(n / 20) % Math.max(1, from.length)]?.id ?? NOWHERE;
}

const approve = fc
  .record({
    which: pick,
    dated: sometimes(1, fc.record({ from, to })).map((d): Dates => d ?? {}),
    supersedes: sometimes(3, picks),
    before: sometimes(1, pick),
    by,
  })
  .map((g) =>
    command('approve', g, async (m, r) => {
      const id = subject(m, 'candidate', g.which);
      const claim = m.get(id);
      const topicName = claim?.topic ?? named(r, 'a');
      const supersedes = g.supersedes && targetsAmong(m, topicName, g.supersedes);
      const before = g.before === undefined ? undefined : targetsAmong(m, topicName, [g.before])[0];
      const given: Approval = { ...g.dated, supersedes, before };
      const { got, opened } = await review(r, id, g.by, {
        action: 'approve',
        ...dates(g.dated),
        ...(supersedes === undefined ? {} : { supersedes }),
        ...(before === undefined ? {} : { superseded_by: before }),
      });
      if (opened.length > 0) r.count('conflict opened');
      if (before !== undefined && got === 'superseded') r.count('inserted into history');
      expect(got).toBe(m.approve(id, given, g.by));
    }),
  );

const close = fc
  .record({
    action: fc.constantFrom('reject', 'retract', 'revoke', 'revoke'),
    which: pick,
    since: from,
    by,
  })
  .map((g) =>
    command(g.action, g, async (m, r) => {
      const id = subject(m, g.action === 'revoke' ? 'approved' : 'candidate', g.which);
      const since = g.action === 'revoke' && g.which % 3 === 0 ? g.since : undefined;
      const body = { action: g.action, ...dates({ from: since }) };
      const { got } = await review(r, id, g.by, body);
      expect(got).toBe(m.close(g.action, id, g.by, since));
    }),
  );

interface Answer {
  state: string;
  decision?: { id: string };
  alternatives: { id: string }[];
  history: { id: string }[];
  conflicts: { claims: string[] }[];
}
interface Question {
  topic: string;
  scope: Record<string, string>;
  asOf: string | undefined;
  knownAt: number | undefined;
}

/** Asks and compares. Without `knownAt` the conflicts that the answer lists are compared too. */
async function ask(m: Model, r: ModelLedger, q: Question, request_id?: string): Promise<void> {
  const name = named(r, q.topic);
  const body = {
    question: 'What holds?',
    topic: name,
    scope: q.scope,
    ...(q.asOf === undefined ? {} : { as_of: q.asOf }),
    ...(q.knownAt === undefined ? {} : { known_at: String(q.knownAt) }),
    ...(request_id === undefined ? {} : { request_id }),
  };
  const reply = await r.post('/v1/answers', body);
  const answer = reply.body as unknown as Answer;
  r.count(q.knownAt === undefined ? answer.state : `${answer.state} as known before`);
  const ids = (claims: { id: string }[]) => claims.map((c) => c.id).sort();
  expect({
    state: answer.state,
    decision: answer.decision?.id,
    alternatives: ids(answer.alternatives),
    history: ids(answer.history),
  }).toEqual(m.resolve(name, q.scope, q.asOf === undefined ? m.now : ms(q.asOf), q.knownAt));
  if (request_id !== undefined)
    sentBy(m).push({ url: '/v1/answers', body, by: 'owner', answer: JSON.stringify(answer) });
  if (q.knownAt === undefined) conflictsAreClashes(m, name, answer.conflicts);
}

function conflictsAreClashes(m: Model, name: string, open: Answer['conflicts']): void {
  const pairs = clashes(
    m.claims.filter((c) => c.topic === name),
    m.now,
  );
  const listed = ([a, b]: [string, string]) =>
    open.some((c) => c.claims.includes(a) && c.claims.includes(b));
  expect(pairs.filter((pair) => !listed(pair))).toEqual([]);
  const empty = open.filter(
    (c) => !pairs.some(([a, b]) => c.claims.includes(a) && c.claims.includes(b)),
  );
  expect(empty).toEqual([]);
}

const resolve = fc
  .record({
    topic,
    scope: fc.constantFrom(...SCOPES),
    asOf: sometimes(2, fc.constantFrom(...AS_OF)),
    knownAt: sometimes(2, pick),
    keyed: fc.integer({ min: 0, max: 3 }),
  })
  .map((g) =>
    command('resolve', g, async (m, r) => {
      const past = g.knownAt === undefined ? undefined : m.past[g.knownAt % m.past.length];
      const question = { ...g, knownAt: past?.position };
      await ask(m, r, question, g.keyed === 0 ? `request-${(requests += 1)}` : undefined);
    }),
  );

const repeat = fc.record({ which: pick, changed: fc.boolean() }).map((g) =>
  command('repeat', g, async (m, r) => {
    const all = sentBy(m);
    const earlier = all[g.which % Math.max(1, all.length)];
    if (!earlier) return;
    const end = await r.end();
    const body = structuredClone(earlier.body);
    if (g.changed && body['source'])
      body['source'] = {
        title: 'other',
        type: 'note',
        text: 'It was said that the value is 1. value is 2. value is 3.',
      };
    if (g.changed && body['question']) body['question'] = 'What else?';
    const reply = await r.post(earlier.url, body, earlier.by);
    if (g.changed) expect(reply.body['error']).toBe('request_id_conflict');
    else if (body['source']) expect(reply.body['job_id']).toBe(earlier.answer);
    else expect(JSON.stringify(reply.body)).toBe(earlier.answer);
    r.count(g.changed ? 'request_id_conflict' : 'the same again');
    expect(await r.end()).toBe(end);
  }),
);

const restart = command('restart', {}, async (_m, r) => {
  const end = await r.end();
  await r.restart();
  expect(await r.end()).toBe(end);
});

const rebuild = command('rebuild', {}, async (_m, r) => {
  const [end, before] = [await r.end(), await r.digests()];
  expect(await r.rebuilt()).toEqual(before);
  expect(await r.end()).toBe(end);
});

const kill = command('kill', {}, async (_m, r) => {
  const [end, before] = [await r.end(), await r.digests()];
  await r.crash({ moving: false, withoutReactions: true });
  await r.ledger.models.settled();
  expect(await r.digests()).toEqual(before);
  expect(await r.end()).toBe(end);
});

/** The cluster refuses, loses an answer, or lies about an append; and cuts all connections. Nobody is to notice. */
const disturb = fc
  .array(
    fc.constantFrom<AppendFault>(
      ...([
        'unavailable',
        'not-leader',
        'store-then-unavailable',
        'store-then-wrong-version',
      ] as const),
    ),
    { minLength: 1, maxLength: 3 },
  )
  .map((faults) =>
    command('disturb', { faults }, (_m, r) => {
      r.disturb(...faults);
      return Promise.resolve();
    }),
  );

const DISTURBANCES = { memory: [], sqlite: [], eventstoredb: [disturb, disturb] };

/** What interrupts the server. Each history ends with one of them. */
export const STOPS = {
  memory: [rebuild],
  sqlite: [restart, rebuild, kill],
  eventstoredb: [restart, rebuild, kill],
};

/** `calm` commands for every one that stops the server. */
export function commands(engine: Engine, size: number, calm: number) {
  const usual = [
    ...[ingest, ingest, ingest, approve, approve, close, resolve, resolve, repeat],
    ...DISTURBANCES[engine],
  ];
  const many = Array.from({ length: calm }, () => usual).flat();
  const stops = STOPS[engine].map((stop) => fc.constant(stop));
  return fc.commands([...many, ...stops], { maxCommands: size, size: 'max' });
}

/** Every question there is about the present state. */
export async function askEverything(m: Model, r: ModelLedger): Promise<void> {
  for (const name of ['a', 'b'])
    for (const asked of SCOPES)
      for (const asOf of [undefined, ...AS_OF])
        await ask(m, r, { topic: name, scope: asked, asOf, knownAt: undefined });
}
