import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { REQUEST_VALID_MS } from '../../libs/sources/domain/subject.js';
import { TestApplication, type Reply } from '../support/application.js';

type Body = Record<string, unknown>;
interface Erasure extends Body {
  erasure_id: string;
  status: string;
  key: string;
  touched: Record<string, number>;
  source_ids: string[];
}

const MARKER = 'Zyxq Personne 4711';
let now = Date.parse('2026-09-14T09:21:33Z');
let server: TestApplication;
beforeAll(async () => {
  server = await TestApplication.start({}, () => (now += 1));
});
afterAll(async () => {
  await server.close();
  rmSync(server.dir, { recursive: true, force: true });
});

const erase = (body: object, key?: string): Promise<Reply<Erasure>> =>
  server.call<Erasure>('POST', '/v1/erasures', { reason: 'requested', ...body }, key);
const get = (path: string, key?: string): Promise<Reply<Body>> =>
  server.call('GET', `/v1/${path}`, undefined, key);
const ask = (body: object): Promise<Reply<Body>> => server.call('POST', '/v1/answers', body);
const enc = encodeURIComponent;

let stories = 0;

/** An approved decision of a text that is about `subject`, in a topic of its own. */
async function story(subject?: string) {
  const topic = `matter-${++stories}`;
  const job = await server.ingest({
    source: {
      title: `Notes on ${MARKER}`,
      type: 'note',
      author: MARKER,
      text: `${MARKER} gets a raise of ${stories} percent.`,
      ...(subject === undefined ? {} : { subject }),
    },
    records: [
      {
        topic,
        statement: `${MARKER} gets a raise`,
        value: { who: MARKER, percent: stories },
        status: 'candidate',
        evidence: [{ quote: `${MARKER} gets a raise of ${stories} percent.` }],
      },
    ],
  });
  const [record] = job['records'] as { decision_id: string }[];
  const decision = record?.decision_id ?? '';
  const reason = `${MARKER} agreed`;
  const path = `/v1/decisions/${enc(decision)}/reviews`;
  const reviewed = await server.call('POST', path, { action: 'approve', reason });
  expect(reviewed.status).toBe(200);
  const { body } = await ask({ question: 'q', topic });
  const [source] = body['sources'] as { source_id: string }[];
  return { topic, decision, source: source?.source_id ?? '', job: String(job['job_id']) };
}

/** Everything that reads say about a topic, as one text. */
async function told(topic: string, job: string): Promise<string> {
  const bodies = await Promise.all([
    ask({ question: 'q', topic }),
    ask({ question: `What about ${MARKER} and a raise?` }),
    get(`topics/${enc(topic)}/history`),
    get(`ingestions/${job}`),
    get('pending'),
    get('conflicts'),
    get('events?limit=500'),
  ]);
  return JSON.stringify(bodies.map(({ body }) => body));
}

describe('X-12: an erasure', () => {
  it('is shown first: what it hits, and nothing is done', async () => {
    const { source, decision, topic, job } = await story('emp-1');
    const end = await server.end();
    const { status, body } = await erase({ subject: 'emp-1', dry_run: true });
    expect([status, body.status]).toEqual([200, 'dry_run']);
    expect(body).toMatchObject({
      source_ids: [source],
      decision_ids: [decision],
      sources: [{ source_id: source, title: `Notes on ${MARKER}` }],
      touched: { sources: 1, decisions: 1, jobs: 1 },
    });
    expect(await server.end()).toBe(end);
    expect(await told(topic, job)).toContain(MARKER);
  });

  it('B48: takes every word of the subject from every read, says why, and leaves the decision in force', async () => {
    const [{ source, decision, topic, job }, other] = [await story('emp-2'), await story('emp-3')];
    const asked = { question: `Does ${MARKER} get one?`, topic, request_id: 'r-emp-2' };
    expect(JSON.stringify((await ask(asked)).body)).toContain(MARKER);
    const { status, body } = await erase({ subject: 'emp-2', reference: 'DSAR-2' });
    expect([status, body.status]).toEqual([200, 'erased']);
    expect(body).toMatchObject({
      reason: 'requested',
      reference: 'DSAR-2',
      erased_by: 'owner',
      source_ids: [source],
      touched: { sources: 1, decisions: 1, answers: 1, jobs: 1 },
    });
    const note = { erasure: body.erasure_id, at: body['erased_at'], reason: 'requested' };
    expect((await ask({ question: 'q', topic })).body).toMatchObject({
      state: 'verified',
      decision: { id: decision, statement: '[erased]', value: '[erased]', erased: note },
      sources: [{ source_id: source, title: '[erased]', author: '[erased]', erased: note }],
      evidence: [{ source_id: source, excerpt: '[erased]' }],
    });
    const history = (await get(`topics/${topic}/history`)).body;
    expect(history['timeline']).toMatchObject([
      { kind: 'proposed', statement: '[erased]', erased: note },
      { kind: 'approved', statement: '[erased]', erased: note },
    ]);
    const kept = await ask(asked);
    expect(JSON.stringify(kept.body)).not.toContain(MARKER);
    expect(kept).toMatchObject({ status: 409, body: { error: 'answer_erased' } });
    // Asked anew, the same is answered and kept without the words that are gone.
    const anew = { ...asked, request_id: 'r-emp-2-anew' };
    expect(await ask(anew)).toMatchObject({ status: 200, body: { state: 'verified' } });
    expect(await ask(anew)).toEqual(expect.objectContaining({ body: (await ask(anew)).body }));
    const [mine, theirs] = [await told(topic, job), await told(other.topic, other.job)];
    expect(mine.split(MARKER).length).toBeLessThan(theirs.split(MARKER).length);
    // What is left of it in what was asked about the erased topic is of the others.
    for (const text of [await ask({ question: 'q', topic }), await get(`ingestions/${job}`)])
      expect(JSON.stringify(text)).not.toContain(MARKER);
    expect((await ask({ question: 'q', topic: other.topic })).body).toMatchObject({
      decision: { statement: `${MARKER} gets a raise` },
    });
    const found = (await ask({ question: `What about ${MARKER} and a raise?` })).body;
    const excerpts = found['candidate_excerpts'] as { source_id: string }[];
    expect(excerpts.map((e) => e.source_id)).toContain(other.source);
    expect(excerpts.map((e) => e.source_id)).not.toContain(source);
  });

  it('B48: is done once: the second one appends nothing and shows the same certificate', async () => {
    await story('emp-4');
    const first = (await erase({ subject: 'emp-4' })).body;
    const end = await server.end();
    const second = (await erase({ subject: 'emp-4', reason: 'unlawful' })).body;
    const statement = (body: Erasure): unknown => (body['certificate'] as Body)['payload'];
    expect(statement(second)).toBe(statement(first));
    expect({ ...second, certificate: 0, position: 0 }).toEqual({
      ...first,
      certificate: 0,
      position: 0,
    });
    const later = (await get(`erasures/${first.erasure_id}`)).body as Erasure;
    expect(statement(later)).toBe(statement(first));
    // A checkpoint may have been signed meanwhile; of the subject there is nothing new.
    const events = (await get(`events?after=${end}`)).body['events'] as { type: string }[];
    expect(events.map((e) => e.type).filter((type) => type !== 'CheckpointSigned')).toEqual([]);
  });

  it('what was erased is not taken again, by its subject or as the same text', async () => {
    const text = { title: 'About them', type: 'note', text: `${MARKER} was here.` };
    await server.ingest({ source: { ...text, subject: 'emp-5' }, records: [] });
    const alone = await server.call<{ source_ids: string[] }>('POST', '/v1/ingestions', {
      source: { ...text, title: 'By itself' },
      records: [],
    });
    const [source_id] = alone.body.source_ids;
    await server.ingest({ source: { ...text, title: 'By itself' }, records: [] });
    expect((await erase({ subject: 'emp-5' })).status).toBe(200);
    expect((await erase({ source_id })).status).toBe(200);
    for (const source of [
      { ...text, text: 'Another text.', subject: 'emp-5' },
      { ...text, title: 'By itself' },
    ]) {
      const end = await server.end();
      const again = await server.call('POST', '/v1/ingestions', { source, records: [] });
      expect([again.status, again.body['error']]).toEqual([409, 'subject_erased']);
      expect(await server.end()).toBe(end);
    }
  });

  it('B48: reaches texts that are just being worked through: the job ends, and nothing of them is left', async () => {
    const documents = Array.from({ length: 40 }, (_, i) => ({
      path: `n${i}.md`,
      text: `# Move ${i}\n\n## Status\n\nAccepted\n\n## Decision\n\n${MARKER} moves to ${i}.\n`,
      subject: 'emp-11',
    }));
    const { body } = await server.call('POST', '/v1/ingestions', {
      collection: 'moves',
      documents,
    });
    expect(await erase({ subject: 'emp-11' })).toMatchObject({
      status: 200,
      body: { status: 'erased' },
    });
    const job = `ingestions/${String(body['job_id'])}`;
    while ((await get(job)).body['status'] === 'running')
      await new Promise((resolve) => setTimeout(resolve, 20));
    expect((await get(job)).body['status']).toBe('completed');
    expect(JSON.stringify((await get(job)).body)).not.toContain(MARKER);
    const events = await server.call<Body>('GET', '/v1/events?limit=500');
    expect(JSON.stringify(events.body)).not.toContain(MARKER);
    for (const { path } of documents) {
      const topic = `moves-${path.replace('.md', '')}`;
      const told = [await ask({ question: 'q', topic }), await get(`topics/${topic}/history`)];
      expect(JSON.stringify(told.map((reply) => reply.body))).not.toContain(MARKER);
    }
  });

  it('a source of a subject goes with its subject, or not at all', async () => {
    const { source } = await story('emp-6');
    const refused = await erase({ source_id: source });
    expect(refused).toMatchObject({ status: 409, body: { error: 'source_of_subject' } });
    expect((await erase({})).status).toBe(400);
    expect((await erase({ source_id: source, subject: 'emp-6' })).status).toBe(400);
    expect(await erase({ subject: 'emp-404' })).toMatchObject({
      status: 404,
      body: { error: 'unknown_subject' },
    });
  });

  it('X-4: is for admins and owners, never for agents', async () => {
    await story('emp-7');
    const callers = {
      member: await server.member('mem', 'member'),
      approver: await server.member('app', 'approver'),
      agent: await server.member('bot', 'admin', 'agent'),
    };
    const end = await server.end();
    for (const key of Object.values(callers)) {
      expect((await erase({ subject: 'emp-7' }, key)).status).toBe(403);
      expect((await get('erasures', key)).status).toBe(403);
      expect((await get('legal-holds', key)).status).toBe(403);
      const hold = { subject: 'emp-7', matter: 'M-1' };
      expect((await server.call('POST', '/v1/legal-holds', hold, key)).status).toBe(403);
    }
    expect(await server.end()).toBe(end);
    expect((await erase({ subject: 'emp-7' }, await server.member('adm', 'admin'))).status).toBe(
      200,
    );
  });
});

describe('a legal hold', () => {
  it('stops the erasure, names its matter, is listed, and ends with its release', async () => {
    await story('emp-8');
    const place = (matter: string) =>
      server.call<Body>('POST', '/v1/legal-holds', { subject: 'emp-8', matter });
    const [one, two] = [await place('2026-LIT-4'), await place('2026-LIT-9')];
    expect(one).toMatchObject({ status: 200, body: { matter: '2026-LIT-4', sources: 1 } });
    expect((await place('2026-LIT-4')).body['hold_id']).toBe(one.body['hold_id']);
    const refused = await erase({ subject: 'emp-8' });
    expect(refused).toMatchObject({ status: 409, body: { error: 'legal_hold' } });
    expect(JSON.stringify(refused.body)).toContain('2026-LIT-4');
    expect((await erase({ subject: 'emp-8', dry_run: true })).body['held_by']).toEqual([
      '2026-LIT-4',
      '2026-LIT-9',
    ]);
    const list = async (query = ''): Promise<unknown[]> =>
      ((await get(`legal-holds?subject=emp-8${query}`)).body['items'] as Body[]).map(
        (hold) => hold['matter'],
      );
    expect(await list()).toEqual(['2026-LIT-4', '2026-LIT-9']);
    for (const { body } of [one, two])
      expect(
        (await server.call('POST', `/v1/legal-holds/${String(body['hold_id'])}/release`, {})).body,
      ).toMatchObject({ released_by: 'owner' });
    expect(await list()).toEqual([]);
    expect(await list('&include_released=true')).toEqual(['2026-LIT-4', '2026-LIT-9']);
    expect((await erase({ subject: 'emp-8' })).body.status).toBe('erased');
    expect(await place('2026-LIT-5')).toMatchObject({
      status: 409,
      body: { error: 'subject_erased' },
    });
  });
});

describe('where nobody erases alone', () => {
  it('a second admin has to ask for the same, and both are on record', async () => {
    const settings = (four_eyes: boolean) =>
      server.call('POST', '/v1/organisation/settings', { four_eyes });
    await story('emp-9');
    await story('emp-10');
    const second = await server.member('second', 'admin');
    expect((await settings(true)).status).toBe(200);
    expect((await erase({ subject: 'emp-9' })).body).toMatchObject({
      status: 'awaiting_second',
      requested_by: 'owner',
    });
    expect((await erase({ subject: 'emp-9' })).body.status).toBe('awaiting_second');
    expect((await erase({ subject: 'emp-9' }, second)).body).toMatchObject({
      status: 'erased',
      requested_by: 'owner',
      erased_by: 'second',
    });
    await erase({ subject: 'emp-10' });
    now += REQUEST_VALID_MS;
    expect((await erase({ subject: 'emp-10' }, second)).body).toMatchObject({
      status: 'awaiting_second',
      requested_by: 'second',
    });
    expect((await settings(false)).status).toBe(200);
  });
});

describe('the list of erasures', () => {
  it('holds each once, a page at a time, and nothing that tells who it was', async () => {
    const all: Erasure[] = [];
    for (let cursor: string | undefined = '0'; cursor !== undefined;) {
      const page = (await get(`erasures?limit=2&cursor=${cursor}`)).body;
      expect((page['items'] as Erasure[]).length).toBeLessThanOrEqual(2);
      all.push(...(page['items'] as Erasure[]));
      cursor = page['next_cursor'] as string | undefined;
    }
    expect(new Set(all.map((one) => one.erasure_id)).size).toBe(all.length);
    expect(all.length).toBeGreaterThan(5);
    expect(JSON.stringify(all)).not.toMatch(/emp-|Zyxq/);
    const one = (await get('erasures?subject=emp-2')).body['items'] as Erasure[];
    expect(one.map((e) => e['reference'])).toEqual(['DSAR-2']);
  });
});
