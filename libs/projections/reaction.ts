import { setTimeout as delay } from 'node:timers/promises';
import {
  UnknownOutcome,
  type EventStore,
  type Position,
  type RecordedEvent,
} from '#event-store/event-store.js';
import type { Json } from '#kernel/json.js';
import { Refusal } from '#kernel/refusal.js';
import type { Codec, EventOf, Vocabulary } from '#kernel/vocabulary.js';
import { isStorageFailure, ReadDatabase, type Param } from './read-database.js';

/**
 * What follows from an event in another stream. Delivered at least once: `run` sends commands whose ids derive from
 * `<name>@<position>`, so that a second delivery changes nothing. A projection rebuild never runs it again.
 */
export interface Reaction {
  name: string;
  types: readonly string[];
  run(event: RecordedEvent): Promise<void>;
}

export function reaction<V extends Vocabulary, K extends EventOf<V>['type']>(
  name: string,
  codec: Codec<V>,
  type: K,
  run: (data: Extract<EventOf<V>, { type: K }>['data'], event: RecordedEvent) => Promise<void>,
): Reaction {
  return {
    name,
    types: [type],
    async run(event) {
      const known = codec.decode(event.type, event.version, JSON.parse(event.payload) as Json);
      if (known) await run(known.data, event);
    },
  };
}

/** Pause before a checkpoint is tried again that the disk did not take. */
const STORAGE_RETRY_MS = 250;

/** Runs reactions in log order, each event to its end before the next. Keeps its own checkpoint file, apart from the disposable read models. */
export class Reactor {
  private readonly db: ReadDatabase;
  private readonly stop = new AbortController();
  private running: Promise<void> = Promise.resolve();
  private reached: Position;

  constructor(
    private readonly store: Pick<EventStore, 'follow' | 'end'>,
    path: string,
    private readonly reactions: readonly Reaction[],
    /** Told of each event that a reaction gave up on; it is left to an operator and the next ones go on (B29). */
    private readonly onGivenUp: (reaction: string, position: Position, error: unknown) => void,
    /** Pauses before the second, third … attempt. */
    private readonly retryMs: readonly number[] = [50, 500, 5_000],
  ) {
    this.db = ReadDatabase.openOrReplace(path);
    this.db.exec(
      'CREATE TABLE IF NOT EXISTS reactor (id INTEGER PRIMARY KEY, position INTEGER NOT NULL)',
    );
    this.db.exec(
      'CREATE TABLE IF NOT EXISTS given_up (reaction TEXT, position INTEGER, reason TEXT, PRIMARY KEY (reaction, position))',
    );
    this.reached = (this.db.get('SELECT position FROM reactor WHERE id = 1')?.['position'] ??
      0) as number;
  }

  /** Everything up to here has been reacted to, or given up. */
  get position(): Position {
    return this.reached;
  }

  start(): void {
    this.running = this.run();
    this.running.catch((error: unknown) => {
      this.onGivenUp('reactor', 0, error);
    });
  }

  async close(): Promise<void> {
    this.stop.abort();
    await this.running.catch(() => undefined);
    this.db.close();
  }

  private async run(): Promise<void> {
    if (this.reached > (await this.store.end())) await this.beginAnew();
    const from = this.reached;
    const options = { signal: this.stop.signal, live: true };
    for await (const batch of this.store.follow(from, options)) {
      for (const event of batch) {
        for (const reaction of this.reactions)
          if (reaction.types.includes(event.type)) await this.deliver(reaction, event);
        if (this.stop.signal.aborted) return;
      }
      await this.save(batch.at(-1)?.position ?? from);
    }
  }

  /** The ledger was put back from a copy: what is written there now would be taken for done. Everything is delivered once more. */
  private async beginAnew(): Promise<void> {
    await this.write('DELETE FROM given_up');
    await this.save(0);
  }

  private async deliver(reaction: Reaction, event: RecordedEvent): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      try {
        await reaction.run(event);
        break;
      } catch (error) {
        if (this.stop.signal.aborted) return;
        const pause = this.retryMs[attempt] ?? (mayPass(error) ? this.retryMs.at(-1) : undefined);
        if (pause === undefined) {
          await this.giveUp(reaction, event, error);
          return;
        }
        await this.pause(pause);
        if (this.stop.signal.aborted) return;
      }
    }
    await this.save(event.position);
  }

  private async giveUp(reaction: Reaction, event: RecordedEvent, error: unknown): Promise<void> {
    await this.write(
      'INSERT OR REPLACE INTO given_up (reaction, position, reason) VALUES (?, ?, ?)',
      reaction.name,
      event.position,
      error instanceof Error ? error.message : String(error),
    );
    await this.save(event.position);
    this.onGivenUp(reaction.name, event.position, error);
  }

  private save(position: Position): Promise<void> {
    this.reached = position;
    return this.write('INSERT OR REPLACE INTO reactor (id, position) VALUES (1, ?)', position);
  }

  /** Waits for a full disk to have room again. What is not saved when it is closed is delivered once more. */
  private async write(sql: string, ...params: readonly Param[]): Promise<void> {
    while (!this.stop.signal.aborted) {
      try {
        this.db.run(sql, ...params);
        return;
      } catch (error) {
        if (!isStorageFailure(error)) throw error;
        await this.pause(STORAGE_RETRY_MS);
      }
    }
  }

  private async pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.stop.signal }).catch(() => undefined);
  }
}

/** A full disk, a ledger that takes no writes: nothing that is wrong with the event, so that giving it up would lose it. */
function mayPass(error: unknown): boolean {
  if (error instanceof Refusal) return error.kind === 'unavailable';
  return error instanceof UnknownOutcome || isStorageFailure(error);
}
