import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { NO_STREAM, type RecordedEvent } from '#event-store/event-store.js';
import { MemoryStore } from '#event-store/memory.js';
import { Follower } from '#projections/follower.js';
import { projection } from '#projections/projection.js';
import { ReadDatabase } from '#projections/read-database.js';
import {
  CompactRange,
  consistencyProof,
  inclusionProof,
  leafHash,
  rootOf,
  verifyConsistency,
  verifyInclusion,
  type Hash,
} from '#transparency/merkle.js';
import { proved } from '../../../test/support/proved.js';
import { checkpointStream } from '../streams.js';
import { indexAt, kept, logTree, positionsOf, sizeOf, treeOf } from './log-tree.js';

let dir: string;
let db: ReadDatabase;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'log-tree-'));
  db = ReadDatabase.openForWriting(join(dir, 'read.sqlite'));
});
afterEach(() => {
  db.close();
  rmSync(dir, { recursive: true, force: true });
});

/** Events of two workspaces, one of each five of the second; every seventh is one of the log's own. */
function events(count: number, from = 1): RecordedEvent[] {
  return Array.from({ length: count }, (_, i) => {
    const position = from + i;
    const workspace = position % 5 === 0 ? 'w2' : 'w1';
    return {
      position,
      workspace,
      stream: position % 7 === 0 ? checkpointStream(workspace) : `topic-${position}`,
      header: `{"n":${position}}`,
    } as RecordedEvent;
  });
}

function tables(): void {
  for (const ddl of Object.values(logTree.tables)) db.exec(ddl);
}

function grow(list: readonly RecordedEvent[], batch: number): void {
  for (let at = 0; at < list.length; at += batch)
    db.transaction(() => logTree.every?.(db, list.slice(at, at + batch)));
}

/** Roots at some sizes as a tree that keeps nothing but its right edge gives them. */
function rootsOf(list: readonly RecordedEvent[], workspace: string, sizes: readonly number[]) {
  const range = CompactRange.from(0, []);
  const roots = new Map<number, Hash>([[0, range.root()]]);
  for (const { header } of list.filter((event) => event.workspace === workspace)) {
    range.append(leafHash(header));
    if (sizes.includes(range.size)) roots.set(range.size, range.root());
  }
  return roots;
}

describe('the tree of each workspace', () => {
  it('P4: its root is RFC 6962’s at every size to 300, whatever the batches', () => {
    tables();
    const list = events(375);
    grow(list, 7);
    const sizes = Array.from({ length: 300 }, (_, i) => i + 1);
    const roots = rootsOf(list, 'w1', sizes);
    expect(roots.size).toBe(301);
    for (const [size, root] of roots) expect(rootOf(size, treeOf(db, 'w1'))).toEqual(root);
    expect(sizeOf(db, 'w2').size).toBe(75);
    expect(sizeOf(db, 'nobody')).toEqual({ size: 0, content: 0 });
  });

  it('P4: proofs hold beyond 65,536 events, and positions lead to indexes', () => {
    tables();
    const list = events(90_000);
    const started = performance.now();
    grow(list, 4_096);
    const perEvent = ((performance.now() - started) / list.length) * 1_000;
    const own = list.filter(({ workspace }) => workspace === 'w1');
    const size = own.length;
    expect(size).toBeGreaterThan(65_536 + 4_096);
    const sizes = [1, 255, 256, 257, 4_096, 65_535, 65_536, 65_537, size];
    const roots = rootsOf(list, 'w1', sizes);
    const tree = treeOf(db, 'w1');
    const root = roots.get(size) as Hash;
    let proofs = 0;
    for (const index of [0, 1, 15, 16, 255, 256, 65_535, 65_536, 65_537, size - 1]) {
      const leaf = leafHash(own[index]?.header ?? '');
      verifyInclusion({ index, size, leaf, proof: inclusionProof(index, size, tree), root });
      expect(indexAt(db, 'w1', own[index]?.position ?? 0)).toBe(index);
      proofs += 1;
    }
    for (const [oldSize, oldRoot] of roots) {
      expect(rootOf(oldSize, tree)).toEqual(oldRoot);
      if (oldSize === 0) continue;
      const proof = consistencyProof(oldSize, size, tree);
      verifyConsistency({ oldSize, newSize: size, oldRoot, newRoot: root, proof });
      proofs += 1;
    }
    expect(indexAt(db, 'w1', 5)).toBeUndefined();
    expect(indexAt(db, 'w1', 90_001)).toBeUndefined();
    expect(positionsOf(db, 'w2', 1, 3)).toEqual([10, 15, 20]);
    expect(() => rootOf(size + 1, tree)).toThrow('lacks hashes');
    expect(kept(db, 'w1', 8, 0, 1)).toEqual([tree(8, 0)]);
    proved(
      'trees of the log beyond 65,536 events',
      { events: list.length, proofs },
      `${perEvent.toFixed(1)} µs an event`,
    );
  });

  it('counts what is no event of the log’s own', () => {
    tables();
    grow(events(6), 100);
    expect(sizeOf(db, 'w1')).toEqual({ size: 5, content: 5 });
    grow(events(1, 7), 100);
    expect(sizeOf(db, 'w1')).toEqual({ size: 6, content: 5 });
    grow(events(1, 8), 100);
    expect(sizeOf(db, 'w1')).toEqual({ size: 7, content: 7 });
  });

  it('B47: follows events of unknown types, and goes on after a batch that another read model could not digest', async () => {
    const store = new MemoryStore(() => 1_000);
    const leaves = CompactRange.from(0, []);
    for (let n = 1; n <= 40; n++) {
      await store.append(`s${n}`, NO_STREAM, [
        {
          id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
          type: n === 17 ? 'Poison' : 'NeverHeardOf',
          version: 1,
          workspace: 'w1',
          actor: { principal: 'ann', kind: 'person', credential: null },
          causation: `c${n}`,
          correlation: `c${n}`,
          payload: '{}',
        },
      ]);
      leaves.append(leafHash(store.log.events.at(-1)?.header ?? ''));
    }
    const choosy = projection('choosy', 1, {}, [
      ['Poison', () => expect('this').toBe('digestible')],
    ]);
    const follower = new Follower(store, db, [choosy, logTree]);
    await follower.catchUp();
    expect(follower.statuses.map(({ name, parked }) => [name, parked?.position])).toEqual([
      ['choosy', 17],
      ['log_tree', undefined],
    ]);
    expect(rootOf(40, treeOf(db, 'w1'))).toEqual(leaves.root());
    await follower.close();
  });
});
