import type { Position, RecordedEvent } from '#event-store/event-store.js';
import type { Actor } from '#kernel/context.js';
import type { Json } from '#kernel/json.js';
import type { Codec, EventOf, Vocabulary } from '#kernel/vocabulary.js';
import type { Writes } from './read-database.js';

/** What a projection sees of an event beside its payload. */
export interface Meta {
  position: Position;
  workspace: string;
  stream: string;
  revision: number;
  /** ISO text, and the same in milliseconds. */
  recordedAt: string;
  recordedMs: number;
  actor: Actor;
  /** Id of the command. */
  causation: string;
  /** Position of the first event of its append: events of one append are neighbours in the log. */
  append: Position;
}

type HandlersOf<V extends Vocabulary> = {
  [K in EventOf<V>['type']]?: (
    tables: Writes,
    data: Extract<EventOf<V>, { type: K }>['data'],
    meta: Meta,
  ) => void;
};

type Apply = (tables: Writes, event: RecordedEvent, payload: Json, meta: Meta) => void;

/** A read model's write half: its tables and what each event does to them. */
export interface Projection {
  name: string;
  /** Raising it drops the tables and rebuilds them from the first event. */
  version: number;
  /** DDL by table name, indexes with their table. No other projection touches these tables. */
  tables: Readonly<Record<string, string>>;
  /** By event type. Other events only move the checkpoint. */
  on: ReadonlyMap<string, Apply>;
  /** Given all events of whatever type, in order, after `on`. For what is made of the log itself: it must keep nothing outside of its tables. */
  every?: (tables: Writes, events: readonly RecordedEvent[]) => void;
}

/** Binds handlers to the events of one vocabulary; payloads arrive in their present version. */
export function when<V extends Vocabulary>(
  codec: Codec<V>,
  handlers: HandlersOf<V>,
): readonly (readonly [string, Apply])[] {
  return Object.entries(handlers).map(([type, handle]) => [
    type,
    (tables, event, payload, meta) => {
      const known = codec.decode(event.type, event.version, payload);
      if (known) (handle as (t: Writes, d: unknown, m: Meta) => void)(tables, known.data, meta);
    },
  ]);
}

export function projection(
  name: string,
  version: number,
  tables: Readonly<Record<string, string>>,
  ...handlers: readonly (readonly (readonly [string, Apply])[])[]
): Projection {
  return { name, version, tables, on: new Map(handlers.flat()) };
}
