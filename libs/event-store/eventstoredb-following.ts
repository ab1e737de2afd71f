import {
  streamNameFilter,
  type AllStreamResolvedEvent,
  type AllStreamSubscription,
  type EventStoreDBClient,
  type Position as EnginePosition,
} from '@eventstore/db-client';
import type { FollowOptions, Position, RecordedEvent } from './event-store.js';
import { type Connection } from './eventstoredb-connection.js';
import { backoff } from './eventstoredb-health.js';
import {
  ForeignEvent,
  PAGE_BYTES,
  readLast,
  toPosition,
  toRecorded,
  toStored,
} from './eventstoredb-reading.js';

/** Events that wait for the consumer, in the client's stream. */
const BUFFERED = 128;
/** The server tells how far it has searched after so many times 32 events. */
const CHECKPOINT_INTERVAL = 32;
/** For the next event of a batch, while more are known to be on their way. */
const LINGER_MS = 5;

/** One wait that several things may end. */
export class Alarm {
  #ring: (() => void) | undefined;
  #rung = false;

  ring(): void {
    this.#rung = true;
    this.#ring?.();
  }

  /** Resolves at the next ring, at once if it rang since the last wait, or after `ms`; true when it rang. */
  async wait(ms: number): Promise<boolean> {
    if (!this.#rung)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        this.#ring = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    this.#ring = undefined;
    const rung = this.#rung;
    this.#rung = false;
    return rung;
  }
}

/** The subscription is of no more use; another one will be. */
class Cut extends Error {
  override name = 'Cut';
}

/** One subscription of the client: from confirmation until it is cut. The client never renews it. */
class Subscription {
  readonly #client: EventStoreDBClient;
  readonly #stream: AllStreamSubscription;
  #failure: Cut | undefined;
  confirmed = false;
  /** Everything up to the end of the log was sent. Servers before 23.10 do not tell. */
  #caughtUp = false;
  /** Bytes in the batch that is being taken. */
  #taken = 0;
  /** How far the server has searched. What it found up to there may still be in the buffer. */
  #searched: EnginePosition | undefined;

  constructor(
    private readonly connection: Connection,
    prefix: string,
    from: EnginePosition | 'start',
    private readonly alarm: Alarm,
  ) {
    this.#client = connection.hold().client;
    const filter = streamNameFilter({
      prefixes: [prefix],
      checkpointInterval: CHECKPOINT_INTERVAL,
      checkpointReached: (_, position) => {
        this.#searched = position;
      },
    });
    const options = { fromPosition: from, filter, ...connection.any };
    this.#stream = this.#client.subscribeToAll(options, { highWaterMark: BUFFERED });
    // The first two are listened to for as long as the stream exists: the client may fail it more than once, and after the end.
    this.#stream.on('error', (error: Error) => this.#fail(new Cut(String(error))));
    this.#stream.on('end', () => this.#fail(new Cut('ended by the server')));
    this.#stream.on('confirmation', () => {
      this.confirmed = true;
      alarm.ring();
    });
    this.#stream.on('caughtUp', () => {
      this.#caughtUp = true;
      alarm.ring();
    });
    this.#stream.on('fellBehind', () => {
      this.#caughtUp = false;
    });
    this.#stream.on('readable', () => alarm.ring());
  }

  #fail(error: Cut): void {
    this.#failure ??= error;
    this.alarm.ring();
  }

  /**
   * Events that are here, at most `limit`; behind the end of the log it waits a moment for more of them, so that whoever
   * follows gets batches. Throws once the subscription is cut and what came before is taken.
   */
  async take(limit: number): Promise<RecordedEvent[]> {
    const events: RecordedEvent[] = [];
    this.#taken = 0;
    let more = this.#read(events, limit);
    while (more && !this.#caughtUp && !this.#failure)
      more = (await this.alarm.wait(LINGER_MS)) && this.#read(events, limit);
    if (events.length > 0) this.confirmed = true;
    else if (this.#failure) throw this.#failure;
    return events;
  }

  /** Adds what is in the buffer. False when nothing was, or when the batch is full. */
  #read(events: RecordedEvent[], limit: number): boolean {
    const before = events.length;
    while (events.length < limit && this.#taken < PAGE_BYTES) {
      const next = this.#stream.read() as AllStreamResolvedEvent | null;
      if (!next) return events.length > before;
      const event = toRecorded(toStored(next));
      this.#taken += event.payload.length;
      events.push(event);
    }
    return false;
  }

  /** Position up to which all events were taken; only to be asked after an empty `take`. */
  get searched(): EnginePosition | undefined {
    return this.#stream.readableLength === 0 ? this.#searched : undefined;
  }

  /** Its client has probably lost its connection without noticing. */
  suspect(): void {
    this.connection.replace(this.#client);
  }

  stop(): void {
    this.#stream
      .unsubscribe()
      .catch(() => undefined)
      .finally(() => this.connection.release(this.#client));
  }
}

/**
 * `EventStore.follow` over subscriptions to $all, filtered by the server to the streams of this ledger. A subscription that
 * is cut, ended, not confirmed, or silent while the log goes on, is replaced by another one from where delivery stopped.
 */
export class Follower {
  readonly #alarm = new Alarm();
  #stopped = false;
  #at: Position;
  /** At least `#at`: nothing of this ledger lies between the two. */
  #from: EnginePosition | 'start';
  #cuts = 0;
  /** End of the log at the last idle look, while delivery was behind it. */
  #missing: Position | undefined;
  /** What a silent subscription kept back: a confirmed one in its place may be silent as well. */
  #owed: Position = 0;

  constructor(
    private readonly connection: Connection,
    private readonly prefix: string,
    after: Position,
    private readonly goal: Position,
  ) {
    this.#at = after;
    this.#from = after === 0 ? 'start' : { commit: BigInt(after), prepare: BigInt(after) };
  }

  /** Ends the iteration; a pending wait returns at once. */
  readonly stop = (): void => {
    this.#stopped = true;
    this.#alarm.ring();
  };

  get #done(): boolean {
    return this.#stopped || this.connection.closed || this.#at >= this.goal;
  }

  async *batches(size: number): AsyncGenerator<readonly RecordedEvent[], void, void> {
    let subscription: Subscription | undefined;
    try {
      for (let failed = 0; !this.#done;) {
        try {
          subscription ??= this.#subscribe();
          const events = await this.#next(subscription, size);
          if (subscription.confirmed) failed = 0;
          if (events.length > 0 && !this.#stopped) yield events;
        } catch (error) {
          // The consumer's own errors end the generator at `yield` and do not come here.
          if (this.#stopped || this.connection.closed) return;
          // What is thrown for an event that cannot be read would come again.
          if (!(error instanceof Cut)) throw error;
          subscription?.stop();
          subscription = undefined;
          this.#cuts++;
          this.connection.health.down(this);
          await this.#pause(backoff(this.connection.timings.backoffMs, failed++));
        }
      }
    } finally {
      subscription?.stop();
      this.connection.health.up(this);
    }
  }

  #subscribe(): Subscription {
    this.#missing = undefined;
    return new Subscription(this.connection, this.prefix, this.#from, this.#alarm);
  }

  async #pause(ms: number): Promise<void> {
    const until = performance.now() + ms;
    for (let left = ms; left > 0 && !this.#stopped; left = until - performance.now())
      await this.#alarm.wait(left);
  }

  /** The next events, or none when there is reason to look again. Throws `Cut`. */
  async #next(subscription: Subscription, size: number): Promise<RecordedEvent[]> {
    const before = subscription.confirmed;
    const taken = await subscription.take(size);
    const events = taken.filter((e) => e.position > this.#at);
    const last = events.at(-1);
    if (last) this.#at = last.position;
    if (subscription.confirmed && this.#at >= this.#owed) this.#connected();
    if (last) {
      this.#from = { commit: BigInt(last.position), prepare: BigInt(last.position) };
      this.#missing = undefined;
      return this.goal === Infinity ? events : events.filter((e) => e.position <= this.goal);
    }
    if (taken.length > 0) return [];
    const { searched } = subscription;
    if (searched && toPosition(searched.commit) > this.#at) this.#from = searched;
    const { idleMs, readMs } = this.connection.timings;
    if (await this.#alarm.wait(before ? idleMs : readMs)) return [];
    if (!subscription.confirmed) {
      subscription.suspect();
      throw new Cut('a subscription was not confirmed');
    }
    await this.#look(subscription);
    return [];
  }

  /** Nothing came for a while: is there nothing, or is the subscription dead without a sign? */
  async #look(subscription: Subscription): Promise<void> {
    const last = await readLast(this.connection, this.prefix).catch((error: unknown) => {
      if (error instanceof ForeignEvent) throw error;
      throw new Cut(`nor does the log answer: ${String(error)}`);
    });
    const end = last?.position ?? 0;
    if (end <= this.#at) this.#missing = undefined;
    else if (this.#missing === undefined) this.#missing = end;
    else {
      this.connection.health.stats.silentSubscriptions++;
      this.#owed = this.#missing;
      subscription.suspect();
      throw new Cut(`a subscription stands at ${this.#at} while the log is at ${end}`);
    }
  }

  #connected(): void {
    if (this.#cuts === 0) return;
    this.#cuts = 0;
    this.connection.health.stats.reconnects++;
    this.connection.health.up(this);
    this.connection.reached();
  }
}

/** Follows until the end of the log as it was, or for ever. `enlist` gets what stops it, and takes it back in the end. */
export async function* follow(
  connection: Connection,
  prefix: string,
  after: Position,
  options: FollowOptions & { goal: Position },
  enlist: Set<() => void>,
): AsyncGenerator<readonly RecordedEvent[], void, void> {
  const { signal, goal, batch = 512 } = options;
  const follower = new Follower(connection, prefix, after, goal);
  signal.addEventListener('abort', follower.stop);
  enlist.add(follower.stop);
  try {
    if (!signal.aborted) yield* follower.batches(batch);
  } finally {
    signal.removeEventListener('abort', follower.stop);
    enlist.delete(follower.stop);
  }
}
