import { createPrivateKey, type KeyObject } from 'node:crypto';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { headerText, recordedEvent } from '#event-store/header.js';
import type { RecordedEvent } from '#event-store/event-store.js';
import { canonicalJson } from '#kernel/json.js';
import { originOfLog } from '#ledger/index.js';
import { formatCheckpoint } from '#transparency/checkpoint.js';
import {
  inclusionProof,
  leafHash,
  nodeHash,
  rootOf,
  type Hash,
  type HashReader,
} from '#transparency/merkle.js';
import { noteSigner, signNote } from '#transparency/note.js';
import {
  receiptStatement,
  signReceipt,
  type Receipt,
  type ReceiptPredicate,
} from '#transparency/receipt.js';
import { encodeEntries, encodeTile, TILE_WIDTH, tilePath } from '#transparency/tile.js';
import { formatTlogProof } from '#transparency/tlog-proof.js';

/** What an operator may say about an event; undefined: that it never was. */
export type Edit = (
  event: RecordedEvent & { data: Record<string, unknown> },
) => RecordedEvent | undefined;

/**
 * Whoever runs a server: he has the key of the log, all files, and all the time he wants. His lies are consistent in themselves: every
 * hash, revision and signature is made anew.
 */
export class LyingOperator {
  readonly events: RecordedEvent[];

  constructor(
    readonly dir: string,
    readonly workspace = 'main',
  ) {
    const db = new DatabaseSync(join(dir, 'ledger.sqlite'), { readOnly: true });
    const rows = db.prepare('SELECT position, header, payload FROM event ORDER BY position').all();
    db.close();
    this.events = rows.map((row) =>
      recordedEvent(row['position'] as number, row['header'] as string, row['payload'] as string),
    );
  }

  get origin(): string {
    return originOfLog('precedent', this.workspace);
  }

  get key(): KeyObject {
    return createPrivateKey(readFileSync(join(this.dir, 'log-key.pem'), 'utf8'));
  }

  /** The log of his workspace. */
  get log(): readonly RecordedEvent[] {
    return this.events.filter((event) => event.workspace === this.workspace);
  }

  get leaves(): Hash[] {
    return this.log.map(({ header }) => leafHash(header));
  }

  indexOf(id: string): number {
    return this.log.findIndex((event) => event.id === id);
  }

  checkpoint(size = this.leaves.length): string {
    return signedCheckpoint(this.origin, this.key, this.leaves, size);
  }

  /** A receipt that says whatever he wants of the event at an index, with the proof of another one where `proven` names it. */
  receipt(index: number, said: Partial<ReceiptPredicate>, proven = index): Receipt {
    const { leaves, log, origin, key } = this;
    const event = log[index];
    if (!event) throw new Error(`no event ${index}`);
    const [, workspace = ''] = origin.split('/');
    const predicate: ReceiptPredicate = {
      kind: 'answer',
      origin,
      workspace,
      index,
      event_id: event.id,
      event_type: event.type,
      recorded_at: event.recordedAt,
      ...said,
    };
    const hashes = inclusionProof(proven, leaves.length, readerOf(leaves));
    const tlog_proof = formatTlogProof({ index, hashes, checkpoint: this.checkpoint() });
    const statement = receiptStatement(predicate, leaves[index] as Hash);
    return { ...signReceipt(statement, key), tlog_proof };
  }

  /** Writes the log as C2SP tlog-tiles, as a server would serve it at `size`. */
  serve(folder: string, size = this.leaves.length): void {
    rmSync(folder, { recursive: true, force: true });
    const put = (path: string, bytes: Uint8Array | string): void => {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), bytes);
    };
    put('checkpoint', this.checkpoint(size));
    const leaves = this.leaves.slice(0, size);
    if (size > TILE_WIDTH ** 2) throw new Error('a test needs no log of that size');
    for (let at = 0; at < size; at += TILE_WIDTH) {
      const width = Math.min(TILE_WIDTH, size - at);
      const part = leaves.slice(at, at + width);
      put(tilePath(0, at / TILE_WIDTH, width), encodeTile(part));
      const records = this.log.slice(at, at + width).map(({ header }) => Buffer.from(header));
      put(tilePath('entries', at / TILE_WIDTH, width), encodeEntries(records));
    }
    const full = Math.floor(size / TILE_WIDTH);
    const read = readerOf(leaves);
    if (full > 0)
      put(tilePath(1, 0, full), encodeTile(Array.from({ length: full }, (_, i) => read(8, i))));
  }

  /** Another ledger in a folder of its own, whose history differs by `edit` and by all that follows from it. */
  rewritten(to: string, edit: Edit): LyingOperator {
    cpSync(this.dir, to, { recursive: true });
    for (const file of readdirSync(to))
      if (/^(?:read|reactor|lock)/.test(file)) rmSync(join(to, file), { recursive: true });
    const db = new DatabaseSync(join(to, 'ledger.sqlite'));
    const triggers = db.prepare(`SELECT name, sql FROM sqlite_master WHERE type = 'trigger'`).all();
    for (const { name } of triggers) db.exec(`DROP TRIGGER "${name as string}"`);
    db.exec('BEGIN; DELETE FROM event; DELETE FROM stream');
    for (const [i, { stream, revision, header, payload }] of this.reheaded(edit).entries()) {
      db.prepare('INSERT OR IGNORE INTO stream (name) VALUES (?)').run(stream);
      db.prepare('INSERT INTO event SELECT ?, id, ?, ?, ? FROM stream WHERE name = ?').run(
        i + 1,
        revision,
        header,
        payload,
        stream,
      );
    }
    db.exec('COMMIT');
    for (const { sql } of triggers) db.exec(sql as string);
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    db.close();
    return new LyingOperator(to, this.workspace);
  }

  private reheaded(
    edit: Edit,
  ): { stream: string; revision: number; header: string; payload: string }[] {
    const revisions = new Map<string, number>();
    const trees = new Map<string, { leaves: Hash[]; kept: number[] }>();
    return this.events.flatMap((event) => {
      const tree = trees.get(event.workspace) ?? { leaves: [], kept: [0] };
      trees.set(event.workspace, tree);
      const data = JSON.parse(event.payload) as Record<string, unknown>;
      const said = edit({ ...event, data });
      const kept = tree.kept.at(-1) ?? 0;
      tree.kept.push(said ? kept + 1 : kept);
      if (!said) return [];
      const { stream, recordedAt } = said;
      const revision = revisions.get(stream) ?? 0;
      revisions.set(stream, revision + 1);
      const payload = this.resigned(said, tree);
      const header = headerText({ ...said, payload }, stream, revision, recordedAt);
      tree.leaves.push(leafHash(header));
      return [{ stream, revision, header, payload }];
    });
  }

  /** A checkpoint is made to fit the tree that it is now in. */
  private resigned(
    { type, payload, workspace }: RecordedEvent,
    { leaves, kept }: { leaves: Hash[]; kept: number[] },
  ): string {
    if (type !== 'CheckpointSigned') return payload;
    const data = JSON.parse(payload) as { size: number };
    const size = kept[data.size] ?? 0;
    const note = signedCheckpoint(originOfLog('precedent', workspace), this.key, leaves, size);
    const root = Buffer.from(rootOf(size, readerOf(leaves))).toString('base64');
    return canonicalJson({ ...data, size, root, note });
  }
}

/** The event with other contents. */
export function saying(event: RecordedEvent, data: Record<string, unknown>): RecordedEvent {
  return { ...event, payload: canonicalJson(data) };
}

function signedCheckpoint(
  origin: string,
  key: KeyObject,
  leaves: readonly Hash[],
  size: number,
): string {
  const root = rootOf(size, readerOf(leaves));
  return signNote(formatCheckpoint({ origin, size, root }), [noteSigner(origin, key)]);
}

function readerOf(leaves: readonly Hash[]): HashReader {
  const read: HashReader = (level, index) => {
    if (level > 0) return nodeHash(read(level - 1, 2 * index), read(level - 1, 2 * index + 1));
    const leaf = leaves[index];
    if (!leaf) throw new Error(`no leaf ${index}`);
    return leaf;
  };
  return read;
}
