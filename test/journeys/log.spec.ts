import { createPublicKey, verify } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { fetchCheckpoint, TiledTree } from '#transparency/log-reader.js';
import { verifyConsistency, verifyInclusion } from '#transparency/merkle.js';
import { parseVkey } from '#transparency/note.js';
import { verifyRotation, originOfLog } from '#ledger/index.js';
import { TestApplication } from '../support/application.js';
import { proved } from '../support/proved.js';

interface Keys {
  origin: string;
  keys: { vkey: string; how: string; position: string; note?: string; reason?: string }[];
  public_key: string;
  finished?: boolean;
}
interface Proof {
  origin: string;
  index: number;
  leaf_hash: string;
  hashes: string[];
  tree_size: number;
  root_hash: string;
  checkpoint: string;
}
interface ConsistencyReply {
  from: number;
  to: number;
  from_root: string;
  to_root: string;
  hashes: string[];
}
interface Page {
  events: { position: string; type: string }[];
  next: string;
  at_end: boolean;
}

// Some tests start the server anew, several times.
jest.setTimeout(180_000);
const bytes = (base64: string): Buffer => Buffer.from(base64, 'base64');
const dir = mkdtempSync(join(tmpdir(), 'precedent-log-'));
const settings = { PRECEDENT_EVENTSTORE: 'sqlite:', PRECEDENT_DATA: dir, PRECEDENT_PORT: '0' };
let server: TestApplication;
let url: string;

async function start(more: Record<string, string> = {}): Promise<void> {
  server = await TestApplication.start({ ...settings, ...more });
  await server.application.app.listen(0, '127.0.0.1');
  url = server.application.base();
}

beforeAll(() => start());
afterAll(async () => {
  await server.close();
  rmSync(dir, { recursive: true, force: true });
});

/** A reader of the served log, over a socket; undefined where the server answers 404. */
const reader =
  (key = server.key) =>
  async (path: string): Promise<Uint8Array | undefined> => {
    const reply = await fetch(`${url}/v1/log/${path}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    if (reply.status === 404) return undefined;
    if (reply.status !== 200) throw new Error(`${path}: ${reply.status} ${await reply.text()}`);
    return new Uint8Array(await reply.arrayBuffer());
  };

async function get<T>(path: string, key = server.key): Promise<T> {
  const { status, body } = await server.call<T>('GET', path, undefined, key);
  expect([path, status]).toEqual([path, 200]);
  return body;
}

const keysNow = (): Promise<Keys> => get<Keys>('/v1/log/keys');
const verifiers = async () => (await keysNow()).keys.map(({ vkey }) => parseVkey(vkey));

let made = 0;
/** Some five events for each record. */
async function record(count: number): Promise<void> {
  const names = Array.from({ length: count }, () => `matter ${++made}`);
  await server.ingest({
    source: {
      title: `minutes ${made}`,
      type: 'note',
      text: names.map((n) => `${n} is settled`).join('\n'),
    },
    records: names.map((topic) => ({
      topic,
      statement: `${topic} is settled`,
      value: true,
      status: 'approved',
      evidence: [{ quote: `${topic} is settled` }],
    })),
  });
}

async function events(): Promise<Page['events']> {
  const all: Page['events'] = [];
  for (let after = '0'; ;) {
    const page = await get<Page>(`/v1/events?after=${after}`);
    all.push(...page.events);
    if (page.at_end) return all;
    after = page.next;
  }
}

/** Signs over everything there is: the proof of the last event needs it. */
async function signed(): Promise<void> {
  const last = (await events()).at(-1);
  await get(`/v1/log/proofs/inclusion?position=${last?.position ?? ''}`);
}

describe('the served log (C2SP tlog-tiles)', () => {
  it('P9: a foreign reader verifies every tile and record, from a handful of events to more than 256, and each tree continues the one before', async () => {
    let [entries, consistent] = [0, 0];
    let older: TiledTree | undefined;
    for (const count of [1, 30, 60, 2]) {
      await record(count);
      await signed();
      const tree = await TiledTree.open(
        reader(),
        await fetchCheckpoint(reader(), await verifiers()),
      );
      const headers: { id: string; workspace: string }[] = [];
      for await (const { record: bytes } of tree.entries())
        headers.push(
          JSON.parse(Buffer.from(bytes).toString()) as { id: string; workspace: string },
        );
      expect(headers).toHaveLength(tree.checkpoint.size);
      expect(new Set(headers.map(({ workspace }) => workspace)).size).toBe(1);
      entries += headers.length;
      if (older) {
        await tree.consistency(older.checkpoint);
        consistent += 1;
      }
      older = tree;
    }
    expect(older?.checkpoint.size).toBeGreaterThan(300);
    proved('served logs read by the reader of tiles', {
      entries,
      consistent,
      size: older?.checkpoint.size ?? 0,
    });
  });

  it('P4: the proof routes give proofs that hold for every event and between every two checkpoints', async () => {
    const known = await verifiers();
    const all = await events();
    const sizes = new Set<number>();
    for (const { position } of all.filter((_, i) => i % 7 === 0)) {
      const proof = await get<Proof>(`/v1/log/proofs/inclusion?position=${position}`);
      const { index, tree_size: size, root_hash, leaf_hash, hashes } = proof;
      expect(all[index]?.position).toBe(position);
      verifyInclusion({
        index,
        size,
        leaf: bytes(leaf_hash),
        proof: hashes.map(bytes),
        root: bytes(root_hash),
      });
      sizes.add(size);
    }
    const last = await fetchCheckpoint(reader(), known);
    for (const from of [1, 2, 255, 256, 257, last.size - 1, last.size]) {
      const reply = await get<ConsistencyReply>(`/v1/log/proofs/consistency?from=${from}`);
      expect([reply.from, reply.to]).toEqual([from, last.size]);
      expect(bytes(reply.to_root)).toEqual(Buffer.from(last.root));
      verifyConsistency({
        oldSize: from,
        newSize: reply.to,
        oldRoot: bytes(reply.from_root),
        newRoot: bytes(reply.to_root),
        proof: reply.hashes.map(bytes),
      });
    }
    expect(sizes.size).toBeGreaterThan(0);
  });

  it('refuses what the log does not have, and says how it is spelled', async () => {
    const asked = async (path: string) => {
      const { status, body } = await server.call('GET', `/v1/log/${path}`);
      return [status, body['error'], (body['issues'] as { path: string }[] | undefined)?.[0]?.path];
    };
    expect(await asked('tile/0/x000/000')).toEqual([400, 'invalid_arguments', 'path']);
    expect(await asked('tile/0/000.p/0')).toEqual([400, 'invalid_arguments', 'path']);
    expect(await asked('tile/..%2Fcheckpoint')).toEqual([400, 'invalid_arguments', 'path']);
    expect(await asked('tile/0/009')).toEqual([404, 'not_found', 'path']);
    expect(await asked('tile/1/000.p/7')).toEqual([404, 'not_found', 'path']);
    expect(await asked('tile/63/000.p/1')).toEqual([404, 'not_found', 'path']);
    expect(await asked('tile/entries/009.p/3')).toEqual([404, 'not_found', 'path']);
    expect(await asked('proofs/inclusion?position=999999999')).toEqual([
      404,
      'not_found',
      'position',
    ]);
    expect(await asked('proofs/inclusion?position=0')).toEqual([404, 'not_found', 'position']);
    expect(await asked('proofs/consistency?from=0')).toEqual([400, 'invalid_arguments', 'from']);
    expect(await asked('proofs/consistency?from=3&to=2')).toEqual([
      400,
      'invalid_arguments',
      'from',
    ]);
    expect(await asked('proofs/consistency?from=3&to=99999999')).toEqual([
      400,
      'invalid_arguments',
      'to',
    ]);
  });

  it('B38: the log is the workspace’s own: others have another one, and a position of theirs is like none', async () => {
    const { key, workspace } = (
      await server.call<{ key: string; workspace: string }>('POST', '/v1/organisations', {
        name: 'other',
        owner_name: 'Olga',
      })
    ).body;
    const theirs = await get<Keys>('/v1/log/keys', key);
    expect(theirs.origin).toBe(originOfLog('precedent', workspace));
    expect(theirs.origin).not.toContain(workspace);
    const tree = await TiledTree.open(
      reader(key),
      await fetchCheckpoint(
        reader(key),
        theirs.keys.map(({ vkey }) => parseVkey(vkey)),
      ),
    );
    for await (const { record } of tree.entries())
      expect(JSON.parse(Buffer.from(record).toString())).toMatchObject({ workspace });
    const [ours] = await events();
    const refused = async (position: string) => {
      const { status, body } = await server.call(
        'GET',
        `/v1/log/proofs/inclusion?position=${position}`,
        undefined,
        key,
      );
      return [status, JSON.stringify(body).replaceAll(`position ${position}`, 'N')];
    };
    expect(await refused(ours?.position ?? '')).toEqual(await refused('888888888'));
  });

  it('X-4: members read hashes and proofs; records of the log are for admins and owners', async () => {
    const member = await server.member('mia', 'member');
    expect(await reader(member)('checkpoint')).toBeDefined();
    expect(await reader(member)('tile/0/000.p/1')).toHaveLength(32);
    const { status, body } = await server.call(
      'GET',
      '/v1/log/tile/entries/000.p/1',
      undefined,
      member,
    );
    expect([status, body['error']]).toEqual([403, 'requires_admin']);
    const rotation = await server.call('POST', '/v1/log/keys/rotations', { from: 'x' }, member);
    expect([rotation.status, rotation.body['error']]).toEqual([403, 'requires_operator']);
  });
});

describe('keys of the log', () => {
  it('lie in the data folder: the private one for its owner alone, the public ones for auditors', async () => {
    const { keys, public_key, origin } = await keysNow();
    expect(statSync(join(dir, 'log-key.pem')).mode & 0o777).toBe(0o600);
    expect(
      createPublicKey(readFileSync(join(dir, 'log-key.pem'))).export({
        type: 'spki',
        format: 'pem',
      }),
    ).toBe(public_key);
    const published = readFileSync(join(dir, 'log-keys.txt'), 'utf8').trimEnd().split('\n');
    expect(published).toContain(keys[0]?.vkey);
    expect(published.every((vkey) => parseVkey(vkey).name.startsWith('precedent/'))).toBe(true);
    // A checkpoint verifies with nothing but that PEM.
    const note = Buffer.from((await reader()('checkpoint')) ?? '').toString();
    const end = note.indexOf('\n\n') + 1;
    const signature = bytes(
      note
        .slice(end + 1)
        .split(' ')[2]
        ?.trim() ?? '',
    ).subarray(4);
    expect(
      verify(null, Buffer.from(note.slice(0, end)), createPublicKey(public_key), signature),
    ).toBe(true);
    expect(note.split('\n')[0]).toBe(origin);
  });

  it('rotate on the operator’s word, once for each former key; old checkpoints and proofs stay valid', async () => {
    const before = await keysNow();
    const from = before.keys.at(-1)?.vkey ?? '';
    const old = await fetchCheckpoint(reader(), [parseVkey(from)]);
    const wrong = await server.call('POST', '/v1/log/keys/rotations', { from: `${from}x` });
    expect([wrong.status, wrong.body['path']]).toEqual([400, 'from']);
    const kept = await server.call('POST', '/v1/log/keys/rotations', {
      from,
      lost: true,
      reason: 'no',
    });
    expect([kept.status, kept.body['error']]).toEqual([409, 'key_not_lost']);
    const replies = await Promise.all(
      [1, 2, 3].map(() => server.call<Keys>('POST', '/v1/log/keys/rotations', { from })),
    );
    for (const { status, body } of replies) {
      expect([status, body.finished]).toEqual([200, true]);
      expect(body.keys.map(({ how }) => how)).toEqual(['opened', 'rotated']);
    }
    const now = await keysNow();
    const fresh = now.keys.at(-1)?.vkey ?? '';
    verifyRotation(now.origin, from, fresh, now.keys.at(-1)?.note ?? '');
    expect(readFileSync(join(dir, 'log-key.pem'), 'utf8').match(/BEGIN/g)).toHaveLength(1);
    await record(1);
    await signed();
    const tree = await TiledTree.open(
      reader(),
      await fetchCheckpoint(reader(), [parseVkey(fresh)]),
    );
    await tree.consistency(old);
    await expect(fetchCheckpoint(reader(), [parseVkey(from)])).rejects.toThrow('no known key');
  });

  it('where the key file is lost, nothing is signed until the operator says so, and the break is named', async () => {
    const lost = (await keysNow()).keys.at(-1)?.vkey ?? '';
    const old = await fetchCheckpoint(reader(), await verifiers());
    await server.close();
    rmSync(join(dir, 'log-key.pem'));
    await start();
    await record(1);
    const last = (await events()).at(-1)?.position ?? '';
    const refused = await server.call('GET', `/v1/log/proofs/inclusion?position=${last}`);
    expect([refused.status, refused.body['error']]).toEqual([503, 'foreign_log_key']);
    expect((await server.call('GET', '/health/ready')).body['log']).toBe('foreign_key');
    const silent = await server.call('POST', '/v1/log/keys/rotations', { from: lost });
    expect([silent.status, silent.body['error']]).toEqual([503, 'foreign_log_key']);
    const mute = await server.call('POST', '/v1/log/keys/rotations', { from: lost, lost: true });
    expect([mute.status, mute.body['path']]).toEqual([400, 'reason']);
    const { status, body } = await server.call<Keys>('POST', '/v1/log/keys/rotations', {
      from: lost,
      lost: true,
      reason: 'the folder was copied without it',
    });
    expect([status, body.keys.at(-1)?.how, body.keys.at(-1)?.reason]).toEqual([
      200,
      'replaced',
      'the folder was copied without it',
    ]);
    await signed();
    expect((await server.call('GET', '/health/ready')).body['log']).toBe('signing');
    const tree = await TiledTree.open(reader(), await fetchCheckpoint(reader(), await verifiers()));
    await tree.consistency(old);
  });

  it('a file that holds no key stops the start and is named', async () => {
    const file = join(dir, 'wrong.pem');
    writeFileSync(file, 'nothing');
    await server.close();
    await expect(start({ PRECEDENT_LOG_KEY: file })).rejects.toThrow('holds no Ed25519 key');
    await expect(start({ PRECEDENT_LOG_KEY: join(dir, 'none.pem') })).rejects.toThrow(
      'is not there',
    );
    // Given by a setting it is not the server's to change.
    await start({ PRECEDENT_LOG_KEY: join(dir, 'log-key.pem') });
    const from = (await keysNow()).keys.at(-1)?.vkey;
    const refused = await server.call('POST', '/v1/log/keys/rotations', { from });
    expect([refused.status, refused.body['error']]).toEqual([409, 'log_key_given']);
  });

  it('a stopped server leaves a log that is signed whole', async () => {
    await record(2);
    await server.close();
    await start({ PRECEDENT_CHECKPOINT_SECONDS: '3600' });
    await record(2);
    await server.close();
    await start();
    const all = await events();
    const { size } = await fetchCheckpoint(reader(), await verifiers());
    expect(all.slice(size).map(({ type }) => type)).toEqual(['CheckpointSigned']);
  });
});
