import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openKeysForReading } from '#event-store/sqlite-keys.js';
import { precedent, type Ran } from '../support/cli.js';
import { proved } from '../support/proved.js';
import { startServer, type RunningServer } from '../support/server.js';
import { bytesOf, filesBelow, formsOf, traces, type Trace } from '../support/traces.js';

// B48 on the built server: a marker stands in everything that people type about a subject, and the key that seals it is known to the
// test. After the erasure neither is in any byte of any file.

const MARKER = 'Zyxq Personne 4711';
const OTHERS = 'Qwyk Andere 0815';
const KILLS = Number(process.env['ERASE_KILLS'] ?? 2);

type Body = Record<string, unknown>;
interface Erasure extends Body {
  erasure_id: string;
  status: string;
  key: string;
}

const scratch = mkdtempSync(join(tmpdir(), 'precedent-erasure-'));
const data = join(scratch, 'data');
const said: string[] = [];
const forms = formsOf(MARKER);
const numbers: Record<string, number> = {};
let server: RunningServer;

async function start(dir = data): Promise<RunningServer> {
  const env = { PRECEDENT_LOG_LEVEL: 'debug' };
  const started = await startServer({ dir, env });
  for (let tries = 0; tries < 2_000; tries += 1) {
    if ((await fetch(`${started.url}/health/ready`)).status === 200) return started;
    await delay(10);
  }
  throw new Error('the server does not become ready');
}

async function stop(one: RunningServer, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  await one.stop(signal);
  said.push(one.said());
}

beforeAll(async () => {
  server = await start();
}, 60_000);
afterAll(async () => {
  await server.stop('SIGKILL');
  rmSync(scratch, { recursive: true, force: true });
});

async function call(
  method: 'GET' | 'POST',
  path: string,
  body?: object,
): Promise<{ status: number; body: Body }> {
  const reply = await fetch(`${server.url}/v1/${path}`, {
    method,
    headers: { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  return { status: reply.status, body: (await reply.json()) as Body };
}

async function done(method: 'GET' | 'POST', path: string, body?: object): Promise<Body> {
  const reply = await call(method, path, body);
  expect([path, reply.status < 300, reply.body['error']]).toEqual([path, true, undefined]);
  return reply.body;
}

async function ingest(input: object): Promise<Body> {
  const { job_id } = await done('POST', 'ingestions', input);
  for (;;) {
    const job = await done('GET', `ingestions/${String(job_id)}`);
    if (job['status'] !== 'running') return job;
    await delay(20);
  }
}

const run = (...args: string[]): Promise<Ran> =>
  precedent(args, { PRECEDENT_DATA: data, PRECEDENT_URL: server.url, PRECEDENT_KEY: server.key });
async function ok(...args: string[]): Promise<Body> {
  const ran = await run(...args, '--json');
  expect([args.join(' '), ran.code, ran.stderr]).toEqual([args.join(' '), 0, '']);
  return JSON.parse(ran.stdout) as Body;
}

/** Everything that a person can type about somebody, for one subject. Returns its decisions. */
async function everything(subject: string, name: string, topic: string): Promise<string[]> {
  const quote = (n: number): string => `${name} gets a raise of ${n} percent.`;
  const record = (n: number, more: object = {}): object => ({
    topic,
    statement: `${name} gets ${n}`,
    value: { who: name, note: `for ${name}`, percent: n },
    status: 'candidate',
    evidence: [{ quote: quote(n) }],
    ...more,
  });
  const source = {
    title: `About ${name}`,
    type: 'note',
    author: name,
    uri: `https://example.org/${name}`,
    text: [1, 2, 3, 4].map(quote).join('\n'),
    subject,
  };
  const job = await ingest({ source, records: [1, 2, 3, 4].map((n) => record(n)) });
  const ids = (job['records'] as { decision_id: string }[]).map((r) => r.decision_id);
  const review = (id: string | undefined, action: string): Promise<Body> =>
    done('POST', `decisions/${encodeURIComponent(id ?? '')}/reviews`, {
      action,
      reason: `${name} said so (${action})`,
    });
  await review(ids[0], 'approve');
  await review(ids[1], 'approve');
  await review(ids[2], 'reject');
  const conflicts = (await done('GET', `conflicts?topic=${topic}`))['conflicts'] as Body[];
  expect(conflicts).toHaveLength(1);
  await done(
    'POST',
    `conflicts/${encodeURIComponent(String(conflicts[0]?.['conflict_id']))}/resolutions`,
    {
      action: 'resolve',
      winner_decision_id: ids[0],
      reason: `${name} prevails`,
    },
  );
  // Read for the decisions that it marks, and a folder of which one document is about them.
  await ingest({
    source: { ...source, title: `More about ${name}`, text: `Decision: ${name} moves to Rome.` },
  });
  const document = (about: string): string =>
    `# Move ${about}\n\n## Status\n\nAccepted\n\n## Context\n\nIt is late.\n\n## Decision\n\nWe move ${about} to Rome.\n`;
  await ingest({
    collection: `of-${topic}`,
    documents: [
      { path: 'one.md', text: document(name), subject },
      { path: 'two.md', text: document('nobody') },
    ],
  });
  const asked = { question: `What does ${name} get?`, topic, request_id: `r-${subject}` };
  const answer = await done('POST', 'answers', asked);
  expect(JSON.stringify(answer)).toContain(name);
  await done('POST', `answers/${String(answer['call_id'])}/ratings`, {
    rating: 'partly',
    comment: `${name} gets more`,
  });
  await done('POST', 'answers', { question: `Tell me of ${name} and the raise` });
  return ids;
}

/** What reads say of a topic, in the words that are stored of it. */
async function told(topic: string): Promise<string> {
  const bodies = await Promise.all([
    done('POST', 'answers', { question: 'q', topic }),
    done('GET', `topics/${topic}/history`),
    done('GET', 'pending?limit=200'),
    done('GET', 'conflicts'),
  ]);
  return JSON.stringify(bodies);
}

function found(dirs: readonly string[], of = forms): Trace[] {
  const files = dirs.flatMap(filesBelow);
  numbers['files searched'] = (numbers['files searched'] ?? 0) + files.length;
  numbers['megabytes searched'] = Math.round(
    (numbers['megabytes searched'] ?? 0) + bytesOf(files) / 1e6,
  );
  return traces(files, of);
}

describe('B48: an erased subject', () => {
  const before = join(scratch, 'before');
  const after = join(scratch, 'after');
  const receipts = join(scratch, 'receipts');
  const certificate = join(receipts, 'certificate.json');
  let decisions: string[];
  let erasure: Erasure;
  let key: Uint8Array;

  it('leaves no byte of its texts and of its key in any file', async () => {
    for (const dir of [before, after, receipts]) mkdirSync(dir);
    await done('POST', 'workspace/settings', { answer_capture: true });
    decisions = await everything('s1', MARKER, 'raise-one');
    await everything('s2', OTHERS, 'raise-two');
    expect(await told('raise-one')).toContain(MARKER);
    await ok(
      'receipt',
      'get',
      'decision',
      decisions[0] ?? '',
      '--out',
      join(receipts, 'decision.json'),
    );
    await ok('backup', join(before, 'ledger.precedent'));
    await ok('export', join(before, 'export'));
    // Sealed, it stands in no file before either, and its key does: what is to go is there.
    expect(found([data, before])).toEqual([]);
    const preview = await ok('erase', '--subject', 's1', '--reason', 'requested');
    const vault = openKeysForReading(data);
    const held = vault?.key(String(preview['key']));
    await vault?.close();
    if (!(held instanceof Uint8Array)) throw new Error('no key');
    key = Uint8Array.from(held);
    copyFileSync(join(data, 'keys.sqlite'), join(before, 'keys.sqlite'));
    expect(found([data], formsOf(key)).map(({ form }) => form)).toEqual(['bytes']);

    erasure = (await ok(
      ...['erase', '--subject', 's1', '--reason', 'requested', '--reference', 'DSAR-7'],
      ...['--yes', '--no-input', '--certificate', certificate],
    )) as Erasure;
    expect(erasure).toMatchObject({ status: 'erased', touched: { sources: 3, jobs: 3 } });
    const shown = await told('raise-one');
    expect(shown).not.toContain(MARKER);
    expect(shown).toContain('[erased]');
    await ok('backup', join(after, 'ledger.precedent'));
    await ok('export', join(after, 'export'));
    for (const each of [forms, formsOf(key)])
      expect(found([data, after, receipts], each)).toEqual([]);
    writeFileSync(join(scratch, 'said'), server.said());
    expect(traces([join(scratch, 'said')], forms)).toEqual([]);
  }, 240_000);

  it('stays erased over a restart and with read models made anew; the others have all their words', async () => {
    await stop(server, 'SIGKILL');
    for (const each of [forms, formsOf(key)]) expect(found([data], each)).toEqual([]);
    for (const name of filesBelow(data).filter((file) => file.includes('read.sqlite')))
      rmSync(name);
    server = await start();
    expect(await told('raise-one')).not.toContain(MARKER);
    expect(await told('raise-two')).toContain(OTHERS);
    const { body } = await call('POST', 'answers', { question: 'q', topic: 'raise-one' });
    expect(body).toMatchObject({
      state: 'verified',
      decision: {
        id: decisions[0],
        statement: '[erased]',
        erased: { erasure: erasure.erasure_id, reason: 'requested' },
      },
    });
    for (const each of [forms, formsOf(key)]) expect(found([data], each)).toEqual([]);
  }, 120_000);

  it('P8: the ledger verifies, and so do receipts of before and the certificate, offline', async () => {
    const keys = join(data, 'log-keys.txt');
    expect(await ok('verify', '--receipts', receipts)).toMatchObject({
      schema: 'precedent.verify/1',
    });
    expect((await run('verify', '--bundle', join(after, 'export'))).code).toBe(0);
    expect((await run('restore', join(after, 'ledger.precedent'), '--verify')).code).toBe(0);
    for (const file of ['decision.json', 'certificate.json'])
      expect((await run('receipt', 'verify', join(receipts, file), '--keys', keys)).code).toBe(0);
    numbers['receipts verified'] = 2;
    const { payload } = JSON.parse(readFileSync(certificate, 'utf8')) as { payload: string };
    expect(JSON.parse(Buffer.from(payload, 'base64').toString())).toMatchObject({
      predicate: {
        kind: 'erasure',
        erasure: {
          id: erasure.erasure_id,
          key: erasure.key,
          reason: 'requested',
          reference: 'DSAR-7',
        },
      },
    });
  }, 120_000);

  it('is erased once: asked for again it is the same, and a request of before has a clear end', async () => {
    const again = await ok('erase', '--subject', 's1', '--reason', 'unlawful', '--yes');
    expect({ ...again, certificate: 0, position: 0 }).toEqual({
      ...erasure,
      certificate: 0,
      position: 0,
    });
    const asked = { question: `What does ${MARKER} get?`, topic: 'raise-one', request_id: 'r-s1' };
    expect(await call('POST', 'answers', asked)).toMatchObject({
      status: 409,
      body: { error: 'answer_erased' },
    });
    const text = { title: 'New', type: 'note', text: 'New.', subject: 's1' };
    expect(await call('POST', 'ingestions', { source: text, records: [] })).toMatchObject({
      status: 409,
      body: { error: 'subject_erased' },
    });
  }, 60_000);

  it('is erased again where its key comes back with a file of keys from before, before anybody reads', async () => {
    await stop(server);
    copyFileSync(join(before, 'keys.sqlite'), join(data, 'keys.sqlite'));
    expect(found([data], formsOf(key)).map(({ form }) => form)).toEqual(['bytes']);
    server = await start();
    expect(await told('raise-one')).not.toContain(MARKER);
    expect(await told('raise-two')).toContain(OTHERS);
    expect(found([data], formsOf(key))).toEqual([]);
    proved('traces of erased texts and keys', { ...numbers, forms: forms.size, found: 0 });
    expect(numbers['files searched']).toBeGreaterThan(20);
  }, 120_000);
});

describe('B48: somebody who acted and is erased', () => {
  const name = 'Wvuq Personne 1337';
  const forms = formsOf(name);
  const before = join(scratch, 'before-people');
  const receipts = join(scratch, 'receipts-people');
  const certificate = join(receipts, 'person.json');
  let principal: string;
  let keyOf: (dir: string) => Promise<unknown>;

  it('acts, is named in answers, and his name is in no file all the while', async () => {
    for (const dir of [before, receipts]) mkdirSync(dir);
    await done('POST', 'organisation/settings', { approver_names: true });
    const registered = { name, role: 'owner', request_id: 'r-person' };
    principal = String((await done('POST', 'members', registered))['principal']);
    await done('POST', 'organisation/owners', { principal });
    const issued = await done('POST', 'credentials', { principal, label: `of ${name}` });
    const his = { PRECEDENT_KEY: String(issued['key']) };
    const other = (await done('POST', 'members', { name: 'Other', role: 'member' }))['principal'];
    const source = { title: 'Of three', type: 'note', text: 'We take number four.', subject: 's4' };
    const record = {
      topic: 'number',
      statement: 'four',
      status: 'candidate',
      evidence: [{ quote: source.text }],
    };
    const job = await ingest({ source, records: [record] });
    const decision = (job['records'] as { decision_id: string }[])[0]?.decision_id ?? '';
    const acts = [
      ['review', decision, 'approve', '--reason', 'agreed'],
      ['people', 'deactivate', String(other), '--reason', `${name} says that he left`],
    ];
    for (const act of acts) {
      const ran = await precedent(act, { PRECEDENT_URL: server.url, ...his });
      expect([act, ran.code, ran.stderr]).toEqual([act, 0, '']);
    }
    const file = join(receipts, 'approval.json');
    await ok('receipt', 'get', 'decision', decision, '--out', file);
    expect(await told('number')).toContain(name);
    expect((await run('people')).stdout).toContain(name);
    expect((await run('diff', '0', '--data', data)).stdout).toContain(`${name} says`);
    expect(found([data, receipts], forms)).toEqual([]);
  }, 240_000);

  it('is shown as erased, in no file and by no verb, and his key is nowhere', async () => {
    await ok('people', 'deactivate', principal, '--reason', `${name} left`);
    const preview = await ok('erase', '--principal', principal, '--reason', 'requested');
    expect(preview).toMatchObject({ status: 'dry_run', name });
    keyOf = async (dir) => {
      const vault = openKeysForReading(dir);
      const key = vault?.key(String(preview['key']));
      await vault?.close();
      return key instanceof Uint8Array ? Uint8Array.from(key) : key;
    };
    const key = (await keyOf(data)) as Uint8Array;
    copyFileSync(join(data, 'keys.sqlite'), join(before, 'keys.sqlite'));
    expect(found([data], formsOf(key)).map(({ form }) => form)).toEqual(['bytes']);
    const erased = await ok(
      ...['erase', '--principal', principal, '--reason', 'requested', '--yes', '--no-input'],
      ...['--certificate', certificate],
    );
    expect(erased).toMatchObject({ status: 'erased' });
    const said = [await told('number')];
    for (const verb of [['people'], ['members', '--former'], ['keys', '--ended']])
      said.push((await run(...verb)).stdout);
    for (const text of said) {
      expect(text).not.toContain(name);
      expect(text).toContain('[erased]');
    }
    for (const each of [forms, formsOf(key)]) expect(found([data, receipts], each)).toEqual([]);
    expect(await ok('verify', '--receipts', receipts)).toMatchObject({
      schema: 'precedent.verify/1',
    });
  }, 240_000);

  it('stays so with read models made anew and the keys of before', async () => {
    await stop(server);
    copyFileSync(join(before, 'keys.sqlite'), join(data, 'keys.sqlite'));
    for (const file of filesBelow(data).filter((path) => path.includes('read.sqlite')))
      rmSync(file);
    server = await start();
    expect(await keyOf(data)).toBe('erased');
    expect(await told('number')).not.toContain(name);
    expect(await told('raise-two')).toContain(OTHERS);
    expect(found([data], forms)).toEqual([]);
    for (const file of ['approval.json', 'person.json']) {
      const ran = await run(
        'receipt',
        'verify',
        join(receipts, file),
        '--keys',
        join(data, 'log-keys.txt'),
      );
      expect([file, ran.code]).toEqual([file, 0]);
    }
    proved('traces of somebody who acted', { forms: forms.size, found: 0 });
  }, 120_000);
});

describe('B48: an erasure that is cut short', () => {
  it(`kill -9 at any moment of it: afterwards it is recorded and done, or neither (${KILLS} times)`, async () => {
    const ends = { recorded: 0, 'not begun': 0 };
    // What an erasure took the last time, in milliseconds: kills are spread over it.
    let took = 10;
    for (let i = 0; i < KILLS; i += 1) {
      const subject = `k${i}`;
      await ingest({
        source: { title: `About ${MARKER}`, type: 'note', text: `${MARKER} is ${i}.`, subject },
        records: [
          {
            topic: `kill-${i}`,
            statement: `${MARKER} is ${i}`,
            status: 'approved',
            evidence: [{ quote: `${MARKER} is ${i}.` }],
          },
        ],
      });
      const { key } = (await done('POST', 'erasures', {
        subject,
        reason: 'requested',
        dry_run: true,
      })) as Erasure;
      const asked = call('POST', 'erasures', { subject, reason: 'requested' }).catch(
        () => undefined,
      );
      await delay((1.2 * took * i) / KILLS);
      await stop(server, 'SIGKILL');
      const reply = await asked;
      server = await start();
      const erased =
        ((await done('GET', `erasures?subject=${subject}`))['items'] as Body[]).length === 1;
      const vault = openKeysForReading(data);
      expect([i, vault?.key(key) === 'erased']).toEqual([i, erased]);
      await vault?.close();
      expect([i, (await told(`kill-${i}`)).includes(MARKER)]).toEqual([i, !erased]);
      // What was acknowledged is done.
      if (reply?.status === 200) expect(erased).toBe(true);
      ends[erased ? 'recorded' : 'not begun'] += 1;
      const from = performance.now();
      const finished = await done('POST', 'erasures', { subject, reason: 'requested' });
      expect(finished['status']).toBe('erased');
      if (!erased) took = performance.now() - from;
      expect(await told(`kill-${i}`)).not.toContain(MARKER);
    }
    expect((await run('verify')).code).toBe(0);
    proved('kill -9 in an erasure', { kills: KILLS, ...ends, 'half done': 0 });
  }, 600_000);
});
