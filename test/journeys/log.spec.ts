import { createPublicKey, verify } from 'node:crypto';
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { fetchCheckpoint, TiledTree } from '#transparency/log-reader.js';
import { verifyConsistency, verifyInclusion } from '#transparency/merkle.js';
import { parseVkey } from '#transparency/note.js';
import { verifyRotation, originOfLog } from '#ledger/index.js';
import { proved } from '../support/proved.js';
import { ServedLog, type LogKeys } from '../support/served-log.js';

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
// Some tests start the server anew, several times.
jest.setTimeout(180_000);
const bytes = (base64: string): Buffer => Buffer.from(base64, 'base64');
const log = new ServedLog();
beforeAll(() => log.start());
afterAll(() => log.remove());

describe('the served log (C2SP tlog-tiles)', () => {
  it('P9: a foreign reader verifies every tile and record, from a handful of events to more than 256, and each tree continues the one before', async () => {
    let [entries, consistent] = [0, 0];
    let older: TiledTree | undefined;
    for (const count of [1, 30, 60, 2]) {
      await log.record(count);
      await log.signed();
      const tree = await TiledTree.open(
        log.reader(),
        await fetchCheckpoint(log.reader(), await log.verifiers()),
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
    const known = await log.verifiers();
    const all = await log.events();
    const sizes = new Set<number>();
    for (const { position } of all.filter((_, i) => i % 7 === 0)) {
      const proof = await log.get<Proof>(`/v1/log/proofs/inclusion?position=${position}`);
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
    const last = await fetchCheckpoint(log.reader(), known);
    for (const from of [1, 2, 255, 256, 257, last.size - 1, last.size]) {
      const reply = await log.get<ConsistencyReply>(`/v1/log/proofs/consistency?from=${from}`);
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
      const { status, body } = await log.server.call('GET', `/v1/log/${path}`);
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
      await log.server.call<{ key: string; workspace: string }>('POST', '/v1/organisations', {
        name: 'other',
        owner_name: 'Olga',
      })
    ).body;
    const theirs = await log.get<LogKeys>('/v1/log/keys', key);
    expect(theirs.origin).toBe(originOfLog('precedent', workspace));
    expect(theirs.origin).not.toContain(workspace);
    const tree = await TiledTree.open(
      log.reader(key),
      await fetchCheckpoint(
        log.reader(key),
        theirs.keys.map(({ vkey }) => parseVkey(vkey)),
      ),
    );
    for await (const { record } of tree.entries())
      expect(JSON.parse(Buffer.from(record).toString())).toMatchObject({ workspace });
    const [ours] = await log.events();
    const refused = async (position: string) => {
      const { status, body } = await log.server.call(
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
    const member = await log.server.member('mia', 'member');
    expect(await log.reader(member)('checkpoint')).toBeDefined();
    expect(await log.reader(member)('tile/0/000.p/1')).toHaveLength(32);
    const { status, body } = await log.server.call(
      'GET',
      '/v1/log/tile/entries/000.p/1',
      undefined,
      member,
    );
    expect([status, body['error']]).toEqual([403, 'requires_admin']);
    const rotation = await log.server.call('POST', '/v1/log/keys/rotations', { from: 'x' }, member);
    expect([rotation.status, rotation.body['error']]).toEqual([403, 'requires_operator']);
  });
});

describe('keys of the log', () => {
  it('lie in the data folder: the private one for its owner alone, the public ones for auditors', async () => {
    const { keys, public_key, origin } = await log.keys();
    expect(statSync(join(log.dir, 'log-key.pem')).mode & 0o777).toBe(0o600);
    expect(
      createPublicKey(readFileSync(join(log.dir, 'log-key.pem'))).export({
        type: 'spki',
        format: 'pem',
      }),
    ).toBe(public_key);
    const published = readFileSync(join(log.dir, 'log-keys.txt'), 'utf8').trimEnd().split('\n');
    expect(published).toContain(keys[0]?.vkey);
    expect(published.every((vkey) => parseVkey(vkey).name.startsWith('precedent/'))).toBe(true);
    // A checkpoint verifies with nothing but that PEM.
    const note = Buffer.from((await log.reader()('checkpoint')) ?? '').toString();
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
    const before = await log.keys();
    const from = before.keys.at(-1)?.vkey ?? '';
    const old = await fetchCheckpoint(log.reader(), [parseVkey(from)]);
    const wrong = await log.server.call('POST', '/v1/log/keys/rotations', { from: `${from}x` });
    expect([wrong.status, wrong.body['path']]).toEqual([400, 'from']);
    const kept = await log.server.call('POST', '/v1/log/keys/rotations', {
      from,
      lost: true,
      reason: 'no',
    });
    expect([kept.status, kept.body['error']]).toEqual([409, 'key_not_lost']);
    const replies = await Promise.all(
      [1, 2, 3].map(() => log.server.call<LogKeys>('POST', '/v1/log/keys/rotations', { from })),
    );
    for (const { status, body } of replies) {
      expect([status, body.finished]).toEqual([200, true]);
      expect(body.keys.map(({ how }) => how)).toEqual(['opened', 'rotated']);
    }
    const now = await log.keys();
    const fresh = now.keys.at(-1)?.vkey ?? '';
    verifyRotation(now.origin, from, fresh, now.keys.at(-1)?.note ?? '');
    expect(readFileSync(join(log.dir, 'log-key.pem'), 'utf8').match(/BEGIN/g)).toHaveLength(1);
    await log.record(1);
    await log.signed();
    const tree = await TiledTree.open(
      log.reader(),
      await fetchCheckpoint(log.reader(), [parseVkey(fresh)]),
    );
    await tree.consistency(old);
    await expect(fetchCheckpoint(log.reader(), [parseVkey(from)])).rejects.toThrow('no known key');
  });

  it('where the key file is lost, nothing is signed until the operator says so, and the break is named', async () => {
    const lost = (await log.keys()).keys.at(-1)?.vkey ?? '';
    const old = await fetchCheckpoint(log.reader(), await log.verifiers());
    await log.close();
    rmSync(join(log.dir, 'log-key.pem'));
    await log.start();
    await log.record(1);
    const last = (await log.events()).at(-1)?.position ?? '';
    const refused = await log.server.call('GET', `/v1/log/proofs/inclusion?position=${last}`);
    expect([refused.status, refused.body['error']]).toEqual([503, 'foreign_log_key']);
    expect((await log.server.call('GET', '/health/ready')).body['log']).toBe('foreign_key');
    const silent = await log.server.call('POST', '/v1/log/keys/rotations', { from: lost });
    expect([silent.status, silent.body['error']]).toEqual([503, 'foreign_log_key']);
    const mute = await log.server.call('POST', '/v1/log/keys/rotations', {
      from: lost,
      lost: true,
    });
    expect([mute.status, mute.body['path']]).toEqual([400, 'reason']);
    const { status, body } = await log.server.call<LogKeys>('POST', '/v1/log/keys/rotations', {
      from: lost,
      lost: true,
      reason: 'the folder was copied without it',
    });
    expect([status, body.keys.at(-1)?.how, body.keys.at(-1)?.reason]).toEqual([
      200,
      'replaced',
      'the folder was copied without it',
    ]);
    await log.signed();
    expect((await log.server.call('GET', '/health/ready')).body['log']).toBe('signing');
    const tree = await TiledTree.open(
      log.reader(),
      await fetchCheckpoint(log.reader(), await log.verifiers()),
    );
    await tree.consistency(old);
  });

  it('a file that holds no key stops the start and is named', async () => {
    const file = join(log.dir, 'wrong.pem');
    writeFileSync(file, 'nothing');
    await log.close();
    await expect(log.start({ PRECEDENT_LOG_KEY: file })).rejects.toThrow('holds no Ed25519 key');
    await expect(log.start({ PRECEDENT_LOG_KEY: join(log.dir, 'none.pem') })).rejects.toThrow(
      'is not there',
    );
    // Given by a setting it is not the server's to change.
    await log.start({ PRECEDENT_LOG_KEY: join(log.dir, 'log-key.pem') });
    const from = (await log.keys()).keys.at(-1)?.vkey;
    const refused = await log.server.call('POST', '/v1/log/keys/rotations', { from });
    expect([refused.status, refused.body['error']]).toEqual([409, 'log_key_given']);
  });

  it('a stopped server leaves a log that is signed whole', async () => {
    await log.record(2);
    await log.close();
    await log.start({ PRECEDENT_CHECKPOINT_SECONDS: '3600' });
    await log.record(2);
    await log.close();
    await log.start();
    const all = await log.events();
    const { size } = await fetchCheckpoint(log.reader(), await log.verifiers());
    expect(all.slice(size).map(({ type }) => type)).toEqual(['CheckpointSigned']);
  });
});
