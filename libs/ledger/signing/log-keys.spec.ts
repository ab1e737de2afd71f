import { createPublicKey } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { MemoryStore } from '#event-store/memory.js';
import { ed25519Vkey, parseVkey } from '#transparency/note.js';
import { verifyReceipt } from '#transparency/receipt.js';
import {
  assertConsistent,
  checkpointEvents,
  checkpointsOf,
  LogServers,
  newKey,
  ORIGIN,
  record,
  refusal,
  WORKSPACE,
} from '../../../test/support/log-servers.js';
import { sizeOf } from '../projections/log-tree.js';

let servers: LogServers;
beforeEach(() => {
  servers = new LogServers();
});
afterEach(() => servers.close());

const server: LogServers['start'] = (store, name, ...held) => servers.start(store, name, ...held);

describe('keys of a log', () => {
  it('a server with another key is refused, and forks nothing', async () => {
    const store = new MemoryStore(() => 1_000);
    const one = await server(store, 'one', newKey());
    const two = await server(store, 'two', newKey());
    const position = await record(store);
    await one.receipts.issue(WORKSPACE, position, { kind: 'answer' });
    const later = await record(store);
    const refused = await refusal(two.receipts.issue(WORKSPACE, later, { kind: 'answer' }));
    expect([refused.error, refused.fix]).toEqual([
      'foreign_log_key',
      expect.stringContaining('key file'),
    ]);
    expect(two.log.status().state).toBe('foreign_key');
    await one.receipts.issue(WORKSPACE, later, { kind: 'answer' });
    expect(assertConsistent(await checkpointsOf(store), one)).toBe(1);
  });

  it('a server without a key signs nothing and says so', async () => {
    const store = new MemoryStore(() => 1_000);
    const one = await server(store, 'one');
    const position = await record(store);
    expect((await refusal(one.receipts.issue(WORKSPACE, position, { kind: 'answer' }))).error).toBe(
      'no_log_key',
    );
    expect(one.log.status().state).toBe('no_key');
    expect(await store.end()).toBe(1);
  });

  it('a rotation is signed by the former key; receipts from before and after verify, and a crash between two logs leaves a state that goes on', async () => {
    const store = new MemoryStore(() => 1_000);
    const [old, fresh] = [newKey(), newKey()];
    const before = await server(store, 'before', old);
    const first = await before.receipts.issue(WORKSPACE, await record(store), { kind: 'answer' });
    await before.receipts.issue('w2', await record(store, 'w2'), { kind: 'answer' });
    // The new key is on the disk before any log is led on to it. The process dies after the first log.
    const crashed = await server(store, 'crashed', fresh, old);
    await crashed.models.settled(await store.end());
    await crashed.log.signer.open('w2');
    const after = await server(store, 'after', fresh, old);
    await after.models.settled(await store.end());
    expect(await after.log.leadOn()).toBe(true);
    expect(after.held).toEqual([fresh]);
    const second = await after.receipts.issue(WORKSPACE, await record(store), { kind: 'answer' });
    const events = await checkpointEvents(store);
    expect(events.map(({ type }) => type)).toEqual([
      'LogOpened',
      'CheckpointSigned',
      'LogKeyRotated',
      'CheckpointSigned',
    ]);
    const keys = [old, fresh].map((key) => parseVkey(ed25519Vkey(ORIGIN, createPublicKey(key))));
    for (const receipt of [first, second]) verifyReceipt(receipt, keys);
    expect(() => verifyReceipt(second, keys.slice(0, 1))).toThrow('no known key');
    expect(assertConsistent(await checkpointsOf(store), after)).toBe(1);
    // Who was not told of the new key signs nothing any more.
    const late = await record(store);
    expect((await refusal(before.receipts.issue(WORKSPACE, late, { kind: 'answer' }))).error).toBe(
      'foreign_log_key',
    );
    // Nor does a server that has them the wrong way round turn it back.
    const stale = await server(store, 'stale', old, fresh);
    await stale.models.settled(await store.end());
    verifyReceipt(await stale.receipts.issue(WORKSPACE, late, { kind: 'answer' }), keys.slice(1));
    expect(
      (await checkpointEvents(store)).filter(({ type }) => type === 'LogKeyRotated'),
    ).toHaveLength(1);
  });

  it('where the key is lost the break is named, and what was signed before stays provable', async () => {
    const store = new MemoryStore(() => 1_000);
    const [lost, fresh] = [newKey(), newKey()];
    const before = await server(store, 'before', lost);
    const first = await before.receipts.issue(WORKSPACE, await record(store), { kind: 'answer' });
    const after = await server(store, 'after', fresh);
    await after.models.settled(await store.end());
    expect(await after.log.replaceLost('the disk with the key burnt')).toBe(true);
    const second = await after.receipts.issue(WORKSPACE, await record(store), { kind: 'answer' });
    const vkeys = [lost, fresh].map((key) => ed25519Vkey(ORIGIN, createPublicKey(key)));
    const opened = (await checkpointEvents(store)).filter(({ type }) => type === 'LogOpened');
    expect(opened.map(({ data }) => data)).toEqual([
      { origin: ORIGIN, vkey: vkeys[0] },
      { origin: ORIGIN, vkey: vkeys[1], replaces: vkeys[0], reason: 'the disk with the key burnt' },
    ]);
    verifyReceipt(first, vkeys.slice(0, 1).map(parseVkey));
    verifyReceipt(second, vkeys.slice(1).map(parseVkey));
    expect(assertConsistent(await checkpointsOf(store), after)).toBe(1);
    expect(sizeOf(after.db, WORKSPACE).size).toBeGreaterThan(0);
  });
});
