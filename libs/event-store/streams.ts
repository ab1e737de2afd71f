import { setTimeout as delay } from 'node:timers/promises';
import { actorOf, type Actor, type Caller } from '#kernel/context.js';
import type { Decider } from '#kernel/decider.js';
import { derivedId, type Json } from '#kernel/json.js';
import { Recent } from '#kernel/recent.js';
import { Refusal } from '#kernel/refusal.js';
import type { Codec, EventOf, Vocabulary } from '#kernel/vocabulary.js';
import {
  NO_STREAM,
  WrongExpectedRevision,
  type Appended,
  type EventStore,
  type NewEvent,
  type Position,
  type RecordedEvent,
} from './event-store.js';
import { Sealing } from './sealing.js';

/** Everything that `Streams` needs to know of one kind of stream. */
export interface StreamKind<State, Command, V extends Vocabulary> {
  decider: Decider<State, Command, EventOf<V>>;
  codec: Codec<V>;
  /** True for kinds whose streams are large and rarely met again: their state is not kept in memory. */
  transient?: boolean;
}

/** On whose behalf, and caused by what. The same `command` id at the same revision gives the same event ids. */
export interface Origin {
  workspace: string;
  actor: Actor;
  command: string;
  correlation: string;
}

export function originOf(caller: Caller, command: string): Origin {
  return { workspace: caller.workspace, actor: actorOf(caller), command, correlation: command };
}

/** A folded stream. `state` belongs to the cache: read it before the next `await`, never change or keep it. */
export interface Folded<State> {
  state: State;
  revision: number;
  /** Of the stream's last event; 0 for a stream that does not exist. */
  position: Position;
}

export interface Executed<State, Event> extends Folded<State> {
  /** What this command appended; none when the state already was as it asks. */
  events: readonly Event[];
}

const CACHED_STREAMS = 10_000;
const ATTEMPTS = 8;

/** Of differing length, or two that race in step would race in step again. */
function lostRace(attempt: number): Promise<void> {
  return delay(Math.random() * 2 ** attempt);
}

/**
 * Loads, decides and appends. Commands on one stream run one after the other in this process; against other processes the
 * expected revision decides, and a lost race is decided again on the newer state.
 */
export class Streams {
  private readonly cache = new Recent<Folded<unknown>>(CACHED_STREAMS);
  private readonly queues = new Map<string, Promise<unknown>>();
  private acknowledgedPosition: Position = 0;

  /** `shared`: other processes append to the same store, so a cached state is brought up to date before it is used. */
  constructor(
    private readonly store: EventStore,
    private readonly options: { shared: boolean } = { shared: false },
    private readonly sealing = new Sealing(undefined),
  ) {
    // Folded states hold opened texts.
    sealing.onDestroyed(() => {
      this.cache.clear();
    });
  }

  /** The highest position that this process has acknowledged: what its readers must at least have seen. */
  get acknowledged(): Position {
    return this.acknowledgedPosition;
  }

  async execute<S, C, V extends Vocabulary>(
    kind: StreamKind<S, C, V>,
    stream: string,
    command: C,
    origin: Origin,
  ): Promise<Executed<S, EventOf<V>>> {
    return this.inTurn(stream, async () => {
      for (let attempt = 1; ; attempt++) {
        const folded = await this.fold(kind, stream);
        const events = kind.decider.decide(command, folded.state);
        if (events.length === 0) return { ...folded, events };
        try {
          const appended = await this.store.append(
            stream,
            folded.revision,
            await Promise.all(
              events.map((event, i) =>
                this.newEvent(kind.codec, event, origin, `${stream}@${folded.revision + 1 + i}`),
              ),
            ),
          );
          return { ...this.advance(kind, stream, folded, events, appended), events };
        } catch (error) {
          // Whatever happened, the cached state may be behind: fold again from the store.
          this.cache.delete(stream);
          if (!(error instanceof WrongExpectedRevision)) throw error;
          if (attempt === ATTEMPTS) throw busy(stream);
          await lostRace(attempt);
        }
      }
    });
  }

  /** The stream folded to its end. */
  async load<S, C, V extends Vocabulary>(
    kind: StreamKind<S, C, V>,
    stream: string,
  ): Promise<Folded<S>> {
    const cached = this.cache.get(stream) as Folded<S> | undefined;
    // In turn with commands: a fold must not put an older state over a newer one.
    return cached && !this.options.shared
      ? cached
      : this.inTurn(stream, () => this.fold(kind, stream));
  }

  /**
   * Lets the fold of a long stream go on from a state that is `known` otherwise; what follows is read from the log. Not asked where the
   * stream is in memory.
   */
  async resume<S, C, V extends Vocabulary>(
    kind: StreamKind<S, C, V>,
    stream: string,
    known: () => Promise<Folded<S> | undefined>,
  ): Promise<void> {
    if (this.cache.get(stream)) return;
    const folded = await known();
    if (!folded) return;
    await this.inTurn(stream, async () => {
      if (!this.cache.get(stream)) await this.foldOn(kind, stream, folded);
    });
  }

  /** The stream as its first event left it, read from the log; nothing later can change that. */
  async began<S, C, V extends Vocabulary>(
    kind: StreamKind<S, C, V>,
    stream: string,
  ): Promise<Folded<S>> {
    const state = kind.decider.initial();
    for await (const [event] of this.store.readStream(stream)) {
      if (!event) continue;
      const { position, revision } = event;
      return { state: this.evolved(kind, state, event), revision, position };
    }
    return { state, revision: NO_STREAM, position: 0 };
  }

  private async fold<S, C, V extends Vocabulary>(
    kind: StreamKind<S, C, V>,
    stream: string,
  ): Promise<Folded<S>> {
    const cached = this.cache.get(stream) as Folded<S> | undefined;
    if (cached && !this.options.shared) return cached;
    return this.foldOn(
      kind,
      stream,
      cached ?? { state: kind.decider.initial(), revision: NO_STREAM, position: 0 },
    );
  }

  private async foldOn<S, C, V extends Vocabulary>(
    kind: StreamKind<S, C, V>,
    stream: string,
    folded: Folded<S>,
  ): Promise<Folded<S>> {
    for await (const batch of this.store.readStream(stream, folded.revision + 1)) {
      for (const event of batch) {
        folded.state = this.evolved(kind, folded.state, event);
        folded.revision = event.revision;
        folded.position = event.position;
      }
    }
    if (!kind.transient) this.cache.set(stream, folded);
    return folded;
  }

  private advance<S, C, V extends Vocabulary>(
    kind: StreamKind<S, C, V>,
    stream: string,
    folded: Folded<S>,
    events: readonly EventOf<V>[],
    appended: Appended,
  ): Folded<S> {
    const at = Date.parse(appended.recordedAt);
    folded.state = events.reduce((s, e) => kind.decider.evolve(s, e, at), folded.state);
    folded.revision = appended.revision;
    folded.position = appended.position;
    if (appended.position > this.acknowledgedPosition)
      this.acknowledgedPosition = appended.position;
    if (!kind.transient) this.cache.set(stream, folded);
    return folded;
  }

  /** An event of an unknown type changes nothing. */
  private evolved<S, C, V extends Vocabulary>(
    { codec, decider }: StreamKind<S, C, V>,
    state: S,
    { type, version, payload, recordedAt }: RecordedEvent,
  ): S {
    const data = JSON.parse(this.sealing.opener.json(payload)) as Json;
    const known = codec.decode(type, version, data);
    return known ? decider.evolve(state, known, Date.parse(recordedAt)) : state;
  }

  private async newEvent<V extends Vocabulary>(
    codec: Codec<V>,
    event: EventOf<V>,
    origin: Origin,
    place: string,
  ): Promise<NewEvent> {
    const { workspace, actor } = origin;
    // An event of nobody's would be everybody's (B39).
    if (workspace === '') throw new Error(`an event of ${place} has no workspace`);
    const { version, data, sealed } = codec.encode(event);
    const id = derivedId(origin.command, place);
    return {
      id,
      type: event.type,
      version,
      workspace,
      actor,
      causation: origin.command,
      correlation: origin.correlation,
      payload: await this.sealing.payload(data, sealed, {
        workspace,
        id,
        principal: actor.principal,
      }),
    };
  }

  private async inTurn<T>(stream: string, work: () => Promise<T>): Promise<T> {
    const before = this.queues.get(stream);
    const mine = before ? before.then(work, work) : work();
    this.queues.set(stream, mine);
    try {
      return await mine;
    } finally {
      if (this.queues.get(stream) === mine) this.queues.delete(stream);
    }
  }
}

function busy(stream: string): Refusal {
  return new Refusal('conflict', 'busy', `too many writers at once on ${stream}`, {
    fix: 'read the present state and send the command again',
  });
}
