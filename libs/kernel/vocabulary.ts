import { compile, type Static, type TSchema } from './schema.js';
import type { Json } from './json.js';
import type { Personal, PersonalFields } from './sealing.js';

type Upcast = (payload: Json) => Json;

/** One kind of event: its present version and schema, and how each older version becomes the next one. */
export interface EventKind<S extends TSchema = TSchema> {
  version: number;
  schema: S;
  /** `upcasts[v]` turns a payload of version v into one of version v + 1. Every version from 1 up to the present has one. */
  upcasts?: Readonly<Record<number, Upcast>>;
  /** Where it holds text of a subject, which is sealed with the keys that a member `keys` names; refused once one was destroyed. */
  personal?: PersonalFields;
  /** Where it holds what an actor remarks on a subject: sealed alike, and with the actor's own key once one was destroyed. */
  remarks?: PersonalFields;
}

export type Vocabulary = Readonly<Record<string, EventKind>>;

/** The union of events that a vocabulary describes, told apart by `type`. */
export type EventOf<V extends Vocabulary> = {
  [K in keyof V & string]: { readonly type: K; readonly data: Static<V[K]['schema']> };
}[keyof V & string];

export interface Codec<V extends Vocabulary> {
  /** Present version of each event type. */
  readonly versions: ReadonlyMap<string, number>;
  /** Version to store, after the payload was checked: an event that its own schema rejects is a defect and is never stored. */
  encode(event: EventOf<V>): { version: number; data: Json; sealed: Personal };
  /** The event in its present version; undefined for a type that this vocabulary does not know. */
  decode(type: string, version: number, data: Json): EventOf<V> | undefined;
}

/** Checks a vocabulary once and returns what writes and reads its events. */
export function codec<V extends Vocabulary>(vocabulary: V): Codec<V> {
  const kinds = new Map(
    Object.entries(vocabulary).map(([name, kind]) => {
      for (let v = 1; v < kind.version; v++)
        if (!kind.upcasts?.[v]) throw new Error(`${name}: version ${v} has no upcast`);
      return [name, { ...kind, problem: compile(kind.schema) }] as const;
    }),
  );
  return {
    versions: new Map([...kinds].map(([name, kind]) => [name, kind.version])),
    encode(event) {
      const kind = kinds.get(event.type);
      if (!kind) throw new Error(`unknown event type ${event.type}`);
      const problem = kind.problem(event.data);
      if (problem) throw new Error(`${event.type} does not fit its schema: ${problem}`);
      const { version, personal = [], remarks = [] } = kind;
      return { version, data: event.data as Json, sealed: { personal, remarks } };
    },
    decode(type, version, data) {
      const kind = kinds.get(type);
      if (!kind) return undefined;
      if (version > kind.version)
        throw new Error(`${type} has version ${version}; this build knows ${kind.version}`);
      let payload = data;
      for (let v = version; v < kind.version; v++)
        payload = kind.upcasts?.[v]?.(payload) ?? payload;
      return { type, data: payload };
    },
  };
}
