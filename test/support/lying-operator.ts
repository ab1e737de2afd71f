import { createPrivateKey, type KeyObject } from 'node:crypto';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { headerText, recordedEvent } from '#event-store/header.js';
import type { RecordedEvent } from '#event-store/event-store.js';
import { canonicalJson } from '#kernel/json.js';
import { originOfLog } from '#ledger/index.js';
import type { Receipt, ReceiptPredicate } from '#transparency/receipt.js';
import { TILE_WIDTH, tilePath } from '#transparency/tile.js';
import { SmallLog } from './small-log.js';

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

  get key(): KeyObject {
    return createPrivateKey(readFileSync(join(this.dir, 'log-key.pem'), 'utf8'));
  }

  /** The events of his workspace. */
  get log(): readonly RecordedEvent[] {
    return this.events.filter((event) => event.workspace === this.workspace);
  }

  /** What he signs of them. */
  get signed(): SmallLog {
    return this.newLog(this.workspace).append(...this.log.map(({ header }) => header));
  }

  get size(): number {
    return this.log.length;
  }

  indexOf(id: string): number {
    return this.log.findIndex((event) => event.id === id);
  }

  checkpoint(size = this.size): string {
    return this.signed.checkpoint(size);
  }

  /** A receipt that says whatever he wants of the event at an index, with the proof of another one where `proven` names it. */
  receipt(index: number, said: Partial<ReceiptPredicate>, proven = index): Receipt {
    const { log, signed, size } = this;
    const event = log[index];
    if (!event) throw new Error(`no event ${index}`);
    const { id: event_id, type: event_type, recordedAt: recorded_at } = event;
    const receipt = signed.receipt(index, { event_id, event_type, recorded_at, ...said });
    return { ...receipt, tlog_proof: signed.proof(index, size, signed.checkpoint(), proven) };
  }

  /** Writes the log as C2SP tlog-tiles, as a server would serve it at `size`. */
  serve(folder: string, size = this.size): void {
    rmSync(folder, { recursive: true, force: true });
    if (size > TILE_WIDTH ** 2) throw new Error('a test needs no log of that size');
    const paths = ['checkpoint'];
    for (let at = 0; at < size; at += TILE_WIDTH) {
      const width = Math.min(TILE_WIDTH, size - at);
      paths.push(tilePath(0, at / TILE_WIDTH, width), tilePath('entries', at / TILE_WIDTH, width));
    }
    const full = Math.floor(size / TILE_WIDTH);
    if (full > 0) paths.push(tilePath(1, 0, full));
    const { signed } = this;
    for (const path of paths) {
      const bytes = signed.resource(path, size);
      if (!bytes) throw new Error(`no ${path} at ${size}`);
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), bytes);
    }
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
    const trees = new Map<string, Tree>();
    return this.events.flatMap((event) => {
      const tree = trees.get(event.workspace) ?? { log: this.newLog(event.workspace), kept: [0] };
      trees.set(event.workspace, tree);
      const data = JSON.parse(event.payload) as Record<string, unknown>;
      const said = edit({ ...event, data });
      const kept = tree.kept.at(-1) ?? 0;
      tree.kept.push(said ? kept + 1 : kept);
      if (!said) return [];
      const { stream, recordedAt } = said;
      const revision = revisions.get(stream) ?? 0;
      revisions.set(stream, revision + 1);
      const payload = resigned(said, tree);
      const header = headerText({ ...said, payload }, stream, revision, recordedAt);
      tree.log.append(header);
      return [{ stream, revision, header, payload }];
    });
  }

  private newLog(workspace: string): SmallLog {
    const log = new SmallLog(originOfLog('precedent', workspace));
    log.privateKey = this.key;
    return log;
  }
}

/** A log that is written anew: `kept` says how many of the first so many events are still in it. */
interface Tree {
  log: SmallLog;
  kept: number[];
}

/** A checkpoint is made to fit the tree that it is now in. */
function resigned({ type, payload }: RecordedEvent, { log, kept }: Tree): string {
  if (type !== 'CheckpointSigned') return payload;
  const data = JSON.parse(payload) as { size: number };
  const size = kept[data.size] ?? 0;
  const root = Buffer.from(log.root(size)).toString('base64');
  return canonicalJson({ ...data, size, root, note: log.checkpoint(size) });
}

/** The event with other contents. */
export function saying(event: RecordedEvent, data: Record<string, unknown>): RecordedEvent {
  return { ...event, payload: canonicalJson(data) };
}
