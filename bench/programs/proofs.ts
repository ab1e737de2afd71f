import { join } from 'node:path';
import type { RecordedEvent } from '#event-store/event-store.js';
import { indexAt, logTree, sizeOf, treeOf } from '#ledger/index.js';
import { ReadDatabase } from '#projections/read-database.js';
import { inclusionProof, leafHash, nodeHash, type Hash } from '#transparency/merkle.js';
import { quantile } from '../measure.js';
import { serve } from './program.js';

// B6p: proofs from the read model of the tree, and from a tree whose every node is in memory.
const WORKSPACE = 'w0123456789abcdef';
const BATCH = 4_096;

let db: ReadDatabase | undefined;
let rows: readonly (readonly Hash[])[] = [];

function opened(): ReadDatabase {
  if (!db) throw new Error('not open');
  return db;
}

/** As long as a header of the product is. */
function header(n: number): string {
  const id = String(n).padStart(12, '0');
  return `{"actor":{"credential":"BENCHKEY","kind":"person","principal":"p0123456789abcdef"},"causation":"00000000-0000-8000-b000-${id}","correlation":"00000000-0000-8000-b000-${id}","id":"00000000-0000-8000-b000-${id}","payload_sha256":"${'0'.repeat(64)}","recorded_at":"2026-01-31T09:00:00.000Z","revision":0,"stream":"topic-${WORKSPACE}-${id}","type":"DecisionApproved","version":1,"workspace":"${WORKSPACE}"}`;
}

/** Fills a read model as the follower does; microseconds for each event. */
function grow({ dir, events }: { dir: string; events: number }): number {
  const draft = ReadDatabase.openDraft(join(dir, 'read.sqlite'));
  for (const ddl of Object.values(logTree.tables)) draft.exec(ddl);
  let took = 0;
  for (let at = 1; at <= events; at += BATCH) {
    const batch = Array.from({ length: Math.min(BATCH, events - at + 1) }, (_, i) => {
      const position = at + i;
      return { position, workspace: WORKSPACE, stream: `s${position}`, header: header(position) };
    });
    const started = performance.now();
    draft.transaction(() => logTree.every?.(draft, batch as unknown as RecordedEvent[]));
    took += performance.now() - started;
  }
  draft.close();
  return (took / events) * 1_000;
}

function open(dir: string): void {
  db = ReadDatabase.openForReading(join(dir, 'read.sqlite'));
  const { size } = sizeOf(db, WORKSPACE);
  let row: Hash[] = Array.from({ length: size }, (_, i) => leafHash(header(i + 1)));
  const all = [row];
  while (row.length > 1) {
    row = Array.from({ length: Math.floor(row.length / 2) }, (_, i) =>
      nodeHash(row[2 * i] as Hash, row[2 * i + 1] as Hash),
    );
    all.push(row);
  }
  rows = all;
}

/** A proof for the event at each position, as a receipt needs it; the median in microseconds. */
function prove(positions: readonly number[]): number {
  const reads = opened();
  return median(positions, (position) => {
    reads.begin();
    const index = indexAt(reads, WORKSPACE, position) ?? -1;
    const { size } = sizeOf(reads, WORKSPACE);
    const proof = inclusionProof(index, size, treeOf(reads, WORKSPACE));
    reads.end();
    return proof;
  });
}

function proveInMemory(positions: readonly number[]): number {
  const size = rows[0]?.length ?? 0;
  return median(positions, (position) =>
    inclusionProof(position - 1, size, (level, index) => rows[level]?.[index] as Hash),
  );
}

function median(positions: readonly number[], work: (position: number) => Hash[]): number {
  const took = positions.map((position) => {
    const started = performance.now();
    const { length } = work(position);
    const ended = performance.now();
    if (length < 10) throw new Error(`a proof of ${length} hashes`);
    return (ended - started) * 1_000;
  });
  return quantile(took, 0.5);
}

function close(): void {
  db?.close();
}

serve({ grow, open, prove, proveInMemory, close });
