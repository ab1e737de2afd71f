import { setTimeout as delay } from 'node:timers/promises';
import type { EventStore, Position, RecordedEvent } from '#event-store/event-store.js';
import type { Json } from '#kernel/json.js';
import { NOWHERE, placeOf, type Place } from './place.js';
import type { Meta, Projection } from './projection.js';
import { isStorageFailure, type ReadDatabase } from './read-database.js';

/** Where one read model stands. `parked`: an event it could not digest; it stays before that event until the next start. */
export interface FollowerStatus {
  name: string;
  version: number;
  position: Position;
  /** The last event that changed its tables, as far as this process has seen; before that, where it stood at the start. */
  changed: Position;
  parked?: { position: Position; reason: string };
}

/** An event as projections get it. */
interface Read {
  event: RecordedEvent;
  at: Place;
}

/** Events in one transaction at most: long enough to be cheap, short enough to hold a shared event loop for milliseconds only. */
const BATCH = 512;
/** The same before the start, when nobody is served yet. */
const CATCH_UP_BATCH = 4_096;

/** Pause before a batch is tried again that the disk did not take. */
const STORAGE_RETRY_MS = 250;

const CHECKPOINTS = `CREATE TABLE IF NOT EXISTS checkpoint (
  name TEXT PRIMARY KEY, version INTEGER NOT NULL, position INTEGER NOT NULL, recorded_at TEXT NOT NULL,
  place TEXT NOT NULL) WITHOUT ROWID`;

/**
 * Applies the log to the read models. Effects of a batch and the checkpoints commit together, so a crash at any point repeats nothing
 * and skips nothing. It is the only writer of its database.
 */
export class Follower {
  private readonly states: { projection: Projection; status: FollowerStatus }[];
  private readonly stop = new AbortController();
  private running: Promise<void> = Promise.resolve();
  /** Of the event that was taken last. */
  private last = NOWHERE;

  constructor(
    private readonly store: Pick<EventStore, 'follow'>,
    private readonly db: ReadDatabase,
    projections: readonly Projection[],
    /** Called after each commit. */
    private readonly onProgress: (position: Position, statuses: FollowerStatus[]) => void = () =>
      undefined,
  ) {
    this.removeStrange(projections);
    db.exec(CHECKPOINTS);
    this.states = projections.map((projection) => ({
      projection,
      status: this.prepare(projection),
    }));
  }

  /** Every read model has seen everything up to here, parked ones aside. */
  get position(): Position {
    const moving = this.states.filter((s) => !s.status.parked);
    return moving.length === 0 ? 0 : Math.min(...moving.map((s) => s.status.position));
  }

  get statuses(): FollowerStatus[] {
    return this.states.map((s) => ({ ...s.status }));
  }

  /** Catches up with the present end. False where the disk did not take it all, or it was closed before. */
  async catchUp(): Promise<boolean> {
    return this.run(false);
  }

  /** Follows until `close`. Rejects only when the store cannot be read. */
  start(): Promise<void> {
    this.running = this.run(true).then(() => undefined);
    return this.running;
  }

  async close(): Promise<void> {
    this.stop.abort();
    await this.running.catch(() => undefined);
  }

  private async run(live: boolean): Promise<boolean> {
    const batch = live ? BATCH : CATCH_UP_BATCH;
    const options = { signal: this.stop.signal, live, batch };
    this.last = this.savedPlace();
    for await (const read of this.store.follow(this.position, options)) {
      if (this.stop.signal.aborted) return false;
      while (!this.tryBatch(read)) {
        // Not live, whoever waits for this goes on with what there is; `start` takes it up again.
        if (!live || this.stop.signal.aborted) return false;
        await delay(STORAGE_RETRY_MS);
      }
      this.onProgress(this.position, this.statuses);
    }
    return !this.stop.signal.aborted;
  }

  /** False when the disk did not take it: full, say. Nothing of the unfinished part is kept, and nobody is parked for it (P6). */
  private tryBatch(batch: readonly RecordedEvent[]): boolean {
    try {
      this.applyBatch(batch);
      return true;
    } catch (error) {
      if (isStorageFailure(error)) return false;
      throw error;
    }
  }

  private applyBatch(batch: readonly RecordedEvent[]): void {
    // What the disk does not take is read again from where the batch began.
    let at = this.last;
    const read = batch.map((event) => {
      at = placeOf(event, at);
      return { event, at };
    });
    try {
      this.db.transaction(() => {
        for (const each of read) this.applyEvent(each);
        this.applyEvery(batch);
        this.saveCheckpoints(batch, at);
      });
      this.advance(batch);
    } catch (error) {
      if (isStorageFailure(error)) throw error;
      // One event is indigestible for one read model. Find it by taking the events one at a time.
      for (const each of read) this.applyAlone(each);
    }
    this.last = at;
  }

  private applyEvent({ event, at }: Read): void {
    let payload: Json | undefined;
    let meta: Meta | undefined;
    for (const { projection, status } of this.states) {
      if (status.parked || status.position >= event.position) continue;
      const apply = projection.on.get(event.type);
      if (!apply) continue;
      payload ??= JSON.parse(event.payload) as Json;
      meta ??= metaOf(event, at);
      apply(this.db, event, payload, meta);
      status.changed = event.position;
    }
  }

  private applyEvery(batch: readonly RecordedEvent[]): void {
    for (const { projection, status } of this.states) {
      if (!projection.every || status.parked) continue;
      const ahead = batch.filter((event) => event.position > status.position);
      if (ahead.length === 0) continue;
      projection.every(this.db, ahead);
      status.changed = ahead.at(-1)?.position ?? status.changed;
    }
  }

  private applyAlone({ event, at }: Read): void {
    for (const state of this.states) {
      const { projection, status } = state;
      if (status.parked || status.position >= event.position) continue;
      try {
        this.db.transaction(() => {
          const apply = projection.on.get(event.type);
          apply?.(this.db, event, JSON.parse(event.payload) as Json, metaOf(event, at));
          projection.every?.(this.db, [event]);
          this.saveCheckpoint(projection, event.position, at);
        });
        status.position = event.position;
        status.changed = event.position;
      } catch (error) {
        if (isStorageFailure(error)) throw error;
        const reason = error instanceof Error ? error.message : String(error);
        status.parked = { position: event.position, reason };
      }
    }
  }

  private saveCheckpoints(batch: readonly RecordedEvent[], at: Place): void {
    const parked = this.states.flatMap((s) => (s.status.parked ? [s.status.name] : []));
    this.db.run(
      `UPDATE checkpoint SET position = ?1, recorded_at = ?2, place = ?3
        WHERE position < ?1 AND name NOT IN (SELECT value FROM json_each(?4))`,
      batch.at(-1)?.position ?? 0,
      at.recordedAt,
      JSON.stringify(at),
      JSON.stringify(parked),
    );
  }

  private advance(batch: readonly RecordedEvent[]): void {
    const last = batch.at(-1)?.position ?? 0;
    for (const { status } of this.states)
      if (!status.parked && status.position < last) status.position = last;
  }

  private saveCheckpoint(projection: Projection, position: Position, at: Place): void {
    this.db.run(
      'INSERT OR REPLACE INTO checkpoint (name, version, position, recorded_at, place) VALUES (?, ?, ?, ?, ?)',
      projection.name,
      projection.version,
      position,
      at.recordedAt,
      JSON.stringify(at),
    );
  }

  /** Of the read model that is furthest behind: the log is read from there. */
  private savedPlace(): Place {
    const saved = this.db.get(
      'SELECT place FROM checkpoint WHERE position >= ? ORDER BY position LIMIT 1',
      this.position,
    );
    return saved ? (JSON.parse(saved['place'] as string) as Place) : NOWHERE;
  }

  /** Drops what another version of the program left: read models that are none any more, and all where checkpoints had another form. */
  private removeStrange(projections: readonly Projection[]): void {
    const columns = this.db.all(`SELECT name FROM pragma_table_info('checkpoint')`);
    if (columns.length === 0) return;
    const known = columns.some(({ name }) => name === 'place') ? projections : [];
    const owned = known.flatMap(({ tables }) => Object.keys(tables));
    const kept = new Set(known.length > 0 ? ['checkpoint', ...owned] : []);
    const there = this.db.all(
      `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'`,
    );
    this.db.transaction(() => {
      for (const { name } of there)
        if (!kept.has(name as string)) this.db.exec(`DROP TABLE "${name as string}"`);
      if (kept.has('checkpoint'))
        this.db.run(
          'DELETE FROM checkpoint WHERE name NOT IN (SELECT value FROM json_each(?))',
          JSON.stringify(known.map(({ name }) => name)),
        );
    });
  }

  /** Keeps the tables of an unchanged version; drops and recreates those of any other. */
  private prepare(projection: Projection): FollowerStatus {
    const { name, version, tables } = projection;
    const saved = this.db.get('SELECT version, position FROM checkpoint WHERE name = ?', name);
    const standing = (position: Position): FollowerStatus => ({
      name,
      version,
      position,
      changed: position,
    });
    if (saved?.['version'] === version) return standing(saved['position'] as number);
    this.db.transaction(() => {
      for (const [table, ddl] of Object.entries(tables)) {
        this.db.exec(`DROP TABLE IF EXISTS "${table}"`);
        this.db.exec(ddl);
      }
      this.saveCheckpoint(projection, 0, NOWHERE);
    });
    return standing(0);
  }
}

function metaOf(event: RecordedEvent, { recordedAt, first }: Place): Meta {
  return {
    position: event.position,
    workspace: event.workspace,
    stream: event.stream,
    revision: event.revision,
    recordedAt,
    recordedMs: Date.parse(recordedAt),
    actor: event.actor,
    causation: event.causation,
    append: first,
  };
}
