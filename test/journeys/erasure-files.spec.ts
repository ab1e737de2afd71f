import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { proved } from '../support/proved.js';
import { Restarting, type Body } from '../support/restarting.js';
import { bytesOf, filesBelow, formsOf, traces, type Trace } from '../support/traces.js';

// B48 on the built server: a marker stands in everything that people type about a subject, and the key that seals it is known to the
// test. After the erasure neither is in any byte of any file.

const MARKER = 'Zyxq Personne 4711';
const OTHERS = 'Qwyk Andere 0815';

interface Erasure extends Body {
  erasure_id: string;
  status: string;
  key: string;
}

const forms = formsOf(MARKER);
const numbers: Record<string, number> = {};
const ledger = new Restarting();
const { scratch, data, call, done, ingest, run, ok, told } = ledger;
beforeAll(() => ledger.start(), 60_000);
afterAll(() => ledger.remove());

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
    const [held] = await ledger.keys(String(preview['key']));
    if (!(held instanceof Uint8Array)) throw new Error('no key');
    key = held;
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
    writeFileSync(join(scratch, 'said'), ledger.server.said());
    expect(traces([join(scratch, 'said')], forms)).toEqual([]);
  }, 240_000);

  it('stays erased over a restart and with read models made anew; the others have all their words', async () => {
    await ledger.stop('SIGKILL');
    for (const each of [forms, formsOf(key)]) expect(found([data], each)).toEqual([]);
    for (const name of filesBelow(data).filter((file) => file.includes('read.sqlite')))
      rmSync(name);
    await ledger.start();
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
    await ledger.stop();
    copyFileSync(join(before, 'keys.sqlite'), join(data, 'keys.sqlite'));
    expect(found([data], formsOf(key)).map(({ form }) => form)).toEqual(['bytes']);
    await ledger.start();
    expect(await told('raise-one')).not.toContain(MARKER);
    expect(await told('raise-two')).toContain(OTHERS);
    expect(found([data], formsOf(key))).toEqual([]);
    proved('traces of erased texts and keys', { ...numbers, forms: forms.size, found: 0 });
    expect(numbers['files searched']).toBeGreaterThan(20);
  }, 120_000);
});
