import { cpSync, copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sha256 } from '#kernel/json.js';
import type { BundledEvent } from '#ledger/audit/bundle.js';
import { TestApplication } from '../support/application.js';
import { auditLedger, copyOf, tamper, type AuditLedger } from '../support/audit-ledger.js';
import { precedent, type Ran } from '../support/cli.js';
import { TestEventStoreDb } from '../support/eventstoredb-server.js';
import { proved } from '../support/proved.js';

const scratch = mkdtempSync(join(tmpdir(), 'precedent-export-'));
const bundle = join(scratch, 'bundle');
let ledger: AuditLedger;

beforeAll(async () => {
  ledger = await auditLedger(join(scratch, 'one'));
}, 120_000);
afterAll(() => {
  rmSync(scratch, { recursive: true, force: true });
});

const run = (...args: string[]): Promise<Ran> => precedent(args, { PRECEDENT_DATA: ledger.dir });

async function printed(...args: string[]): Promise<Record<string, unknown>> {
  const ran = await run(...args, '--json');
  expect({ args, ...ran }).toMatchObject({ code: 0, stderr: '' });
  return JSON.parse(ran.stdout) as Record<string, unknown>;
}

/** Every file below a folder with the hash of its bytes. */
function contents(dir: string): Record<string, string> {
  const names = readdirSync(dir).sort();
  return Object.fromEntries(names.map((name) => [name, sha256(readFileSync(join(dir, name)))]));
}

/** What two servers must answer alike. Positions are the engine's. */
async function answers(server: TestApplication): Promise<unknown[]> {
  const said: unknown[] = [];
  const { body } = await server.call<{ decisions: { topic: string }[] }>(
    'GET',
    '/v1/decisions?limit=200',
  );
  const topics = [...new Set(body.decisions.map(({ topic }) => topic))].sort().slice(0, 25);
  expect(topics.length).toBeGreaterThan(5);
  for (const topic of topics) {
    const asked = { question: topic, topic, as_of: '2030-01-01' };
    const answer = await server.call('POST', '/v1/answers', asked);
    expect(answer.status).toBe(200);
    said.push(answer.body);
  }
  return JSON.parse(
    JSON.stringify(said, (name, value: unknown) =>
      ['position', 'call_id', 'answered_at', 'known_at', 'receipt'].includes(name)
        ? undefined
        : value,
    ),
  ) as unknown[];
}

async function serve(dir: string): Promise<TestApplication> {
  return TestApplication.start({ PRECEDENT_EVENTSTORE: 'sqlite:', PRECEDENT_DATA: dir });
}

describe('verify, export and import of an auditor', () => {
  it('P4: verify says what it has looked at, in words and as JSON, and ends with 0', async () => {
    const report = await printed('verify', '--receipts', join(scratch, 'one', 'receipts'));
    expect(report).toMatchObject({
      schema: 'precedent.verify/1',
      ok: true,
      checked: { events: ledger.last, receipts: 6, workspaces: 2 },
    });
    const { code, stdout, stderr } = await run('verify', '--no-read-models');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/holds what it says/);
    expect(stdout).toMatch(/not yet under a signature: \d+ events/);
    expect(stdout).toMatch(/read models: left out with --no-read-models/);
  }, 60_000);

  it('P4: a changed ledger ends it with 1, the position, what was expected and what was found', async () => {
    const copy = copyOf(ledger, join(scratch, 'changed'));
    tamper(copy, (db) => {
      db.exec(`UPDATE event SET payload = replace(payload, ':', ': ') WHERE position = 40`);
    });
    const ran = await run('verify', '--data', copy, '--json');
    expect(ran.code).toBe(1);
    expect(JSON.parse(ran.stdout)).toMatchObject({
      ok: false,
      finding: { at: 'position 40', first_position: '40', what: 'payload_sha256' },
    });
    expect(ran.stderr).toMatch(/position 40/);
    rmSync(copy, { recursive: true });
  }, 60_000);

  it('an export that is killed goes on, and its files are those of one that was not', async () => {
    const whole = await printed('export', bundle, '--with-keys');
    expect(whole).toMatchObject({
      schema: 'precedent.export/1',
      coverage: { events: ledger.last },
      logs: [{ workspace: 'main' }, {}],
    });
    const cut = join(scratch, 'cut');
    let kills = 0;
    for (let wait = 120; ; wait *= 1.6) {
      const ran = await precedent(
        ['export', cut, '--with-keys'],
        { PRECEDENT_DATA: ledger.dir },
        (child) => {
          void delay(wait).then(() => child.kill('SIGKILL'));
        },
      );
      if (ran.code === 0) break;
      kills += 1;
      const isUnfinished = existsSync(join(cut, '.export.json'));
      // Killed behind its last step.
      if (!isUnfinished && existsSync(join(cut, 'manifest.json'))) break;
      if (isUnfinished) expect(await run('verify', '--bundle', cut)).toMatchObject({ code: 4 });
    }
    expect(kills).toBeGreaterThan(1);
    // Killed in its first step.
    const begun = join(scratch, 'begun');
    mkdirSync(begun);
    writeFileSync(join(begun, '.export.json.new'), '{');
    await printed('export', begun, '--with-keys');
    expect(contents(begun)).toEqual(contents(bundle));
    expect(contents(cut)).toEqual(contents(bundle));
    // Half a line, as a power cut leaves it.
    rmSync(join(cut, 'manifest.json'));
    const events = readFileSync(join(cut, 'events.ndjson'));
    rmSync(join(cut, 'events.ndjson'));
    writeFileSync(join(cut, 'events.ndjson.partial'), events.subarray(0, events.length / 2));
    writeFileSync(
      join(cut, '.export.json'),
      JSON.stringify({
        schema: 'precedent.export-state/1',
        workspace: null,
        to: ledger.last,
        with_keys: true,
      }),
    );
    await printed('export', cut, '--with-keys');
    expect(contents(cut)).toEqual(contents(bundle));
    proved('exports', { kills, 'files of the same bytes': Object.keys(contents(cut)).length });
    expect(await run('export', cut)).toMatchObject({ code: 2 });
  }, 180_000);

  it('P4: an export proves itself; a changed, cut or swapped line is found', async () => {
    const receipts = join(scratch, 'one', 'receipts');
    const keys = join(ledger.dir, 'log-keys.txt');
    const report = await printed(
      'verify',
      '--bundle',
      bundle,
      '--keys',
      keys,
      '--receipts',
      receipts,
    );
    expect(report).toMatchObject({ ok: true, source: { kind: 'bundle' } });
    const lines = readFileSync(join(bundle, 'events.ndjson'), 'utf8').split('\n');
    const changed = async (change: (all: string[]) => string[]): Promise<unknown> => {
      const copy = join(scratch, 'changed');
      rmSync(copy, { recursive: true, force: true });
      cpSync(bundle, copy, { recursive: true });
      writeFileSync(join(copy, 'events.ndjson'), change([...lines]).join('\n'));
      const ran = await run('verify', '--bundle', copy, '--json');
      const { finding } = JSON.parse(ran.stdout) as { finding?: { first_position?: string } };
      expect(await run('import', copy, '--to', join(scratch, 'none'))).toMatchObject({ code: 1 });
      expect(existsSync(join(scratch, 'none'))).toBe(false);
      return { code: ran.code, at: finding?.first_position };
    };
    const edited = (text: string): string => {
      const event = JSON.parse(text) as BundledEvent;
      return JSON.stringify({ ...event, payload: event.payload.replace(/\d/, '7x') });
    };
    const digits = lines.findIndex(
      (line, i) => i > 20 && /\d/.test((JSON.parse(line) as BundledEvent).payload),
    );
    expect(await changed((all) => all.with(digits, edited(all[digits] ?? '')))).toEqual({
      code: 1,
      at: String(digits + 1),
    });
    expect(await changed((all) => all.slice(0, 100))).toMatchObject({ code: 1 });
    expect(await changed((all) => all.toSpliced(50, 1))).toMatchObject({ code: 1 });
    const streamOf = (line: string | undefined): unknown => {
      const { header } = JSON.parse(line ?? '') as BundledEvent;
      return (JSON.parse(header) as { stream: unknown }).stream;
    };
    const neighbours = (ofOneStream: boolean): number =>
      lines.findIndex(
        (line, i) => i > 40 && (streamOf(line) === streamOf(lines[i + 1])) === ofOneStream,
      );
    const swapped = (i: number) =>
      changed((all) => all.with(i, all[i + 1] ?? '').with(i + 1, all[i] ?? ''));
    const others = neighbours(false);
    expect(await swapped(others)).toEqual({ code: 1, at: String(others + 1) });
    // A revision that is missing may have been anywhere before: positions of an export may have gaps.
    expect(await swapped(neighbours(true))).toEqual({ code: 1, at: '1' });
    expect(await changed((all) => all.toSpliced(70, 0, all[70] ?? ''))).toEqual({
      code: 1,
      at: '71',
    });
  }, 180_000);

  it('an import is the same ledger: same bytes, same answers, nothing new', async () => {
    const to = join(scratch, 'imported');
    const done = await printed('import', bundle, '--to', to);
    expect(done).toMatchObject({ schema: 'precedent.import/1', proved: true, events: ledger.last });
    const before = await printed('verify', '--no-read-models');
    const after = await printed('verify', '--data', to);
    const digest = (report: Record<string, unknown>): unknown =>
      (report['checked'] as { headers_sha256: string }).headers_sha256;
    expect(digest(after)).toBe(digest(before));
    for (const name of ['pepper', 'log-key.pem'])
      copyFileSync(join(ledger.dir, name), join(to, name));
    const copy = copyOf(ledger, join(scratch, 'served'));
    const [one, other] = [await serve(copy), await serve(to)];
    try {
      expect(await answers(other)).toEqual(await answers(one));
      expect(await other.end()).toBe(await one.end());
    } finally {
      await one.close();
      await other.close();
    }
    expect(await run('import', bundle, '--to', to)).toMatchObject({ code: 2 });
    expect(await run('import', scratch, '--to', join(scratch, 'x'))).toMatchObject({ code: 3 });
  }, 120_000);

  it('one workspace leaves alone, and nothing of another one with it', async () => {
    const alone = join(scratch, 'alone');
    const { logs } = (await printed('export', alone, '--workspace', 'main', '--to', '300')) as {
      logs: { workspace: string }[];
    };
    expect(logs.map(({ workspace }) => workspace)).toEqual(['main']);
    expect(await printed('verify', '--bundle', alone)).toMatchObject({
      ok: true,
      checked: { workspaces: 1 },
    });
    expect(await run('import', alone, '--to', join(scratch, 'y'))).toMatchObject({ code: 2 });
    expect(contents(alone)).not.toHaveProperty('text-keys.ndjson');
  }, 60_000);

  it('a ledger leaves EventStoreDB for the embedded engine, and answers the same', async () => {
    const cluster = await TestEventStoreDb.start();
    const source = join(scratch, 'cluster');
    await auditLedger(source, cluster.connectionString);
    const [out, to] = [join(scratch, 'left'), join(scratch, 'arrived')];
    const where = ['--eventstore', cluster.directString];
    expect(await printed('verify', ...where, '--data', join(source, 'data'))).toMatchObject({
      ok: true,
    });
    await printed('export', out, ...where, '--data', join(source, 'data'), '--with-keys');
    await printed('import', out, '--to', to);
    const shared = await TestApplication.start({
      PRECEDENT_EVENTSTORE: cluster.connectionString,
      PRECEDENT_DATA: join(source, 'data'),
    });
    const events = JSON.parse(readFileSync(join(out, 'manifest.json'), 'utf8')) as {
      coverage: { events: number };
    };
    const own = await serve(to);
    try {
      expect(await answers(own)).toEqual(await answers(shared));
      expect(await own.end()).toBe(events.coverage.events);
    } finally {
      await own.close();
      await shared.close();
      await cluster.stop();
    }
    expect(await run('backup', join(scratch, 'arrived.precedent'), '--data', to)).toMatchObject({
      code: 0,
    });
  }, 180_000);

  it('says by its exit code what was in the way', async () => {
    expect(await run('verify', '--data', scratch)).toMatchObject({ code: 3 });
    expect(await run('verify', '--bundle', scratch)).toMatchObject({ code: 3 });
    expect(await run('verify', '--keys', join(scratch, 'nothing'))).toMatchObject({ code: 3 });
    expect(await run('verify', '--data', ledger.dir, '--bundle', bundle)).toMatchObject({
      code: 2,
    });
    expect(await run('import', bundle)).toMatchObject({ code: 2 });
    expect(await run('export', join(scratch, 'z'), '--to', 'soon')).toMatchObject({ code: 2 });
  }, 60_000);
});
