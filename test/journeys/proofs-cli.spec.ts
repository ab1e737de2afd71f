import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openSqliteReader } from '#event-store/sqlite.js';
import type { RecordedEvent } from '#event-store/event-store.js';
import { openCheckpoint } from '#transparency/checkpoint.js';
import { TiledTree, fetchCheckpoint } from '#transparency/log-reader.js';
import { leafHash } from '#transparency/merkle.js';
import { parseVkeys } from '#transparency/note.js';
import { parseTlogProof, verifyTlogProof } from '#transparency/tlog-proof.js';
import { precedent, type Ran } from '../support/cli.js';
import { TestEventStoreDb } from '../support/eventstoredb-server.js';
import { proved } from '../support/proved.js';
import { startServer, type RunningServer } from '../support/server.js';
import { SmallLog } from '../support/small-log.js';

/** The verbs on proofs, on a ledger that a real server made: live, stopped, copied, exported, on EventStoreDB. */
const scratch = mkdtempSync(join(tmpdir(), 'precedent-prove-'));
const data = join(scratch, 'data');
const docs = join(scratch, 'docs');
/** Milliseconds for a test that starts a dozen processes, also where the machine has other work. */
const LONG = 240_000;
const running = new Set<RunningServer>();
let server: RunningServer;
let events: RecordedEvent[] = [];

/** Signs only where somebody asks, and when it is stopped. */
async function start(env: Record<string, string> = {}): Promise<RunningServer> {
  const dir = env['PRECEDENT_DATA'] ?? data;
  const started = await startServer({ dir, env: { PRECEDENT_CHECKPOINT_SECONDS: '3600', ...env } });
  running.add(started);
  return started;
}

async function stop(which: RunningServer): Promise<void> {
  await which.stop();
  running.delete(which);
}

beforeAll(async () => {
  cpSync('docs/adr', docs, {
    recursive: true,
    filter: (path) => !/\/00(?:0[5-9]|[1-9])/.test(path),
  });
  server = await start();
  const ingested = await precedent(['ingest', docs], { PRECEDENT_DATA: data });
  if (ingested.code !== 0) throw new Error(ingested.stderr);
  events = await readEvents(data);
});
afterAll(async () => {
  for (const left of running) await left.stop('SIGKILL');
  rmSync(scratch, { recursive: true, force: true });
});

async function readEvents(dir: string): Promise<RecordedEvent[]> {
  const reader = openSqliteReader(dir);
  const { signal } = new AbortController();
  const all: RecordedEvent[] = [];
  for await (const batch of reader.follow(0, { signal, live: false, batch: 500 }))
    all.push(...batch);
  await reader.close();
  return all;
}

const run = (...args: string[]): Promise<Ran> => precedent(args, { PRECEDENT_DATA: data });
const parsed = ({ stdout }: Ran): Record<string, unknown> =>
  JSON.parse(stdout) as Record<string, unknown>;
const keysOf = (dir: string) => parseVkeys(readFileSync(join(dir, 'log-keys.txt'), 'utf8'));
const ends = ({ code, stdout, stderr }: Ran): [number | null, string] => [
  code,
  `${stdout}${stderr}`,
];

function file(name: string, content: string): string {
  const path = join(scratch, name);
  writeFileSync(path, content);
  return path;
}

/** A log's prefix as a server serves it. */
const served = (from: RunningServer) => async (path: string) => {
  const headers = { authorization: `Bearer ${from.key}` };
  const response = await fetch(`${from.url}/v1/log/${path}`, { headers });
  return response.ok ? new Uint8Array(await response.arrayBuffer()) : undefined;
};

describe('precedent prove (P4, P9)', () => {
  it('says that no checkpoint covers an event yet, on a live ledger', async () => {
    expect(ends(await run('prove', '1', '--json'))).toEqual([
      4,
      expect.stringContaining('not_covered'),
    ]);
  });

  it(
    'proves every event of a live ledger against what the server signed and serves',
    async () => {
      await stop(server);
      server = await start();
      const checkpoint = await fetchCheckpoint(served(server), keysOf(data));
      const tree = await TiledTree.open(served(server), checkpoint);
      const counts = { proofs: 0, entries: 0 };
      for await (const { record, index } of tree.entries()) {
        const event = events[index];
        if (!event) break;
        expect(Buffer.from(record).toString()).toBe(event.header);
        counts.entries += 1;
      }
      expect(counts.entries).toBe(events.length);
      const last = events.length - 1;
      for (const index of [0, 1, Math.floor(last / 2), last]) {
        const event = events[index] as RecordedEvent;
        const json = await run('prove', String(event.position), '--json');
        expect(json.stderr).toBe('');
        const { proof, ...told } = parsed(json);
        expect(told).toMatchObject({
          schema: 'precedent.prove/1',
          position: String(event.position),
          event_id: event.id,
          index,
          size: checkpoint.size,
          leaf_sha256: Buffer.from(leafHash(event.header)).toString('hex'),
        });
        const read = parseTlogProof(String(proof));
        verifyTlogProof(read, leafHash(event.header), keysOf(data));
        expect((await tree.inclusion(index)).proof.map(hex)).toEqual(read.hashes.map(hex));
        counts.proofs += 1;
      }
      proved('events of a live ledger', counts);
    },
    LONG,
  );

  it(
    'gives a proof that "receipt verify" takes where there is no ledger, with and without the header',
    async () => {
      const event = events[4] as RecordedEvent;
      const { stdout } = await run('prove', String(event.position));
      const proof = file('event.tlog-proof', stdout);
      const keys = file('keys.txt', readFileSync(join(data, 'log-keys.txt'), 'utf8'));
      const json = await precedent(['receipt', 'verify', proof, '--keys', keys, '--json'], {});
      expect(parsed(json)).toMatchObject({ kind: 'event', index: 4, claims: { id: event.id } });
      const bare = parseTlogProof((await run('prove', String(event.position), '--bare')).stdout);
      expect(bare.extra).toBeUndefined();
      verifyTlogProof(bare, leafHash(event.header), keysOf(data));
    },
    LONG,
  );

  it(
    'proves the same from a copy, from an export, and without read models',
    async () => {
      await stop(server);
      const [copy, bundle] = [join(scratch, 'copy'), join(scratch, 'bundle')];
      cpSync(data, copy, { recursive: true });
      expect((await run('export', bundle)).code).toBe(0);
      const at = String(events.at(-1)?.position);
      const first = (await run('prove', at)).stdout;
      expect(first).toContain('c2sp.org/tlog-proof@v1');
      const keys = ['--keys', join(data, 'log-keys.txt')];
      expect((await run('prove', at, '--data', copy, ...keys)).stdout).toBe(first);
      expect((await run('prove', at, '--bundle', bundle, ...keys)).stdout).toBe(first);
      for (const name of ['read.sqlite', 'read.sqlite-wal', 'read.sqlite-shm'])
        rmSync(join(copy, name), { force: true });
      expect((await run('prove', at, '--data', copy, ...keys)).stdout).toBe(first);
    },
    LONG,
  );

  it(
    'takes a damaged read model for what it is, and a changed event for what that is',
    async () => {
      const copy = join(scratch, 'damaged');
      cpSync(data, copy, { recursive: true });
      const models = new DatabaseSync(join(copy, 'read.sqlite'));
      models.exec(`UPDATE log_leaf SET hash = 'A' || substr(hash, 2) WHERE idx % 2 = 0`);
      models.exec('DELETE FROM log_node');
      models.close();
      const event = events[4] as RecordedEvent;
      expect(ends(await run('prove', String(event.position), '--data', copy))[0]).toBe(0);
      const ledger = new DatabaseSync(join(copy, 'ledger.sqlite'));
      ledger.exec('DROP TRIGGER event_no_update');
      const changed = event.header.replace(
        /"id":"(.)/,
        (_, digit) => `"id":"${digit === 'a' ? 'b' : 'a'}`,
      );
      const { changes } = ledger
        .prepare('UPDATE event SET header = ? WHERE position = ?')
        .run(changed, event.position);
      ledger.close();
      expect(Number(changes)).toBe(1);
      expect(ends(await run('prove', String(event.position), '--data', copy))).toEqual([
        1,
        expect.stringContaining('not proved'),
      ]);
      // Nor is any other: the tree that was signed is not the one of this log.
      expect(ends(await run('prove', String(event.position + 1), '--data', copy))[0]).toBe(1);
    },
    LONG,
  );

  it.each<[string, string[], number, string]>([
    ['no position', ['prove', 'x'], 2, 'usage'],
    ['an event that is not there', ['prove', '999999'], 2, 'unknown_position'],
    ['a folder without a ledger', ['prove', '1', '--data', join(scratch, 'none')], 3, ''],
    [
      'keys of another log',
      ['prove', '1', '--keys', file('others', new SmallLog().vkey())],
      1,
      'not_proved',
    ],
  ])('ends on %s with its code', async (_what, args, code, error) => {
    expect(ends(await run(...args, '--json'))).toEqual([code, expect.stringContaining(error)]);
  });

  it(
    'proves from EventStoreDB, whose positions have gaps',
    async () => {
      const cluster = await TestEventStoreDb.start();
      const dir = join(scratch, 'beside');
      const address = cluster.connectionString;
      const beside = await start({
        PRECEDENT_DATA: dir,
        PRECEDENT_EVENTSTORE: address,
        PRECEDENT_LOG_KEY: join(data, 'log-key.pem'),
      });
      const ingested = await precedent(['ingest', docs], { PRECEDENT_DATA: dir });
      expect(ingested.code).toBe(0);
      const headers = { authorization: `Bearer ${beside.key}` };
      const listed = await fetch(`${beside.url}/v1/events`, { headers });
      const page = (await listed.json()) as { events: { id: string; position: string }[] };
      const { id, position = '' } = page.events.at(5) ?? {};
      await stop(beside);
      const proof = await precedent(['prove', position, '--eventstore', address, '--json'], {});
      expect([proof.code, proof.stderr]).toEqual([0, '']);
      expect(parsed(proof)).toMatchObject({ position, event_id: id, index: 5 });
      const off = await precedent(
        ['prove', String(Number(position) + 1), '--eventstore', address],
        {},
      );
      expect(off.code).toBe(2);
      await cluster.stop();
      expect((await precedent(['prove', position, '--eventstore', address], {})).code).toBe(3);
    },
    LONG,
  );
});

describe('precedent consistency and witness on a ledger (P4)', () => {
  let older: string;

  it(
    'prove that the log of a later day continues that of an earlier one',
    async () => {
      server = await start();
      older = file(
        'older.checkpoint',
        Buffer.from((await served(server)('checkpoint')) ?? []).toString(),
      );
      await run('ask', 'Which tests are there?', '--receipt', join(scratch, 'receipt.json'));
      const json = await run('consistency', older, 'latest', '--json');
      expect(json.stderr).toBe('');
      const told = parsed(json) as { old: { size: number }; new: { size: number } };
      expect(told).toMatchObject({ schema: 'precedent.consistency/1', consistent: true });
      expect(told.new.size).toBeGreaterThan(told.old.size);
      const numbers = await run('consistency', '3', String(told.old.size), '--json');
      expect(parsed(numbers)).toMatchObject({
        old: { size: 3, signed: false },
        new: { size: told.old.size, signed: true },
      });
      expect((await run('consistency', older, join(scratch, 'receipt.json'))).code).toBe(0);
      const beyond = await run('consistency', older, '99999', '--json');
      expect(ends(beyond)).toEqual([4, expect.stringContaining('not_reached')]);
    },
    LONG,
  );

  it('refuse a checkpoint that the same key signed for another history', async () => {
    const { origin, size } = openCheckpoint(readFileSync(older, 'utf8'), keysOf(data));
    const fork = new SmallLog(origin);
    fork.privateKey = createPrivateKey(readFileSync(join(data, 'log-key.pem')));
    fork.append('a lie', ...events.slice(1).map(({ header }) => header));
    const lie = file('lie.checkpoint', fork.checkpoint(Math.min(size, events.length)));
    const ran = await run('consistency', lie, 'latest');
    expect(ends(ran)).toEqual([1, expect.stringContaining('expected')]);
  });

  it(
    'cosign what the server serves, with its key and not without, and then its data folder',
    async () => {
      const pem = generateKeyPairSync('ed25519').privateKey.export({
        type: 'pkcs8',
        format: 'pem',
      });
      const witness = [
        ...['--key', file('witness.pem', pem.toString()), '--name', 'w.example/1'],
        ...['--log-keys', join(data, 'log-keys.txt'), '--state', join(scratch, 'state')],
      ];
      const url = `${server.url}/v1/log`;
      const json = await run('witness', url, ...witness, '--json');
      expect(json.stderr).toBe('');
      expect(parsed(json)).toMatchObject({ schema: 'precedent.witness/1', previous_size: 0 });
      expect((await precedent(['witness', url, ...witness], {})).code).toBe(5);
      await run('ask', 'And now?', '--receipt', join(scratch, 'receipt.json'));
      await stop(server);
      const grown = await run('witness', data, ...witness, '--json');
      expect(grown.stderr).toBe('');
      const { previous_size, size } = parsed(grown) as { previous_size: number; size: number };
      expect(previous_size).toBe(parsed(json)['size']);
      expect(size).toBeGreaterThan(previous_size);
    },
    LONG,
  );
});

const hex = (hash: Uint8Array): string => Buffer.from(hash).toString('hex');
