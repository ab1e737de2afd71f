/** The log of the test server: what EventStoreDB keeps, and its rules for an append. Outlives the server that serves it. */
export interface LogEvent {
  stream: string;
  revision: number;
  id: string;
  /** `type`, `content-type` and `created`, as the wire has them. */
  system: Map<string, string>;
  metadata: Uint8Array;
  data: Uint8Array;
  /** Commit and prepare position: equal for events of a classic append, rising with gaps. */
  position: number;
}

export type Proposed = Pick<LogEvent, 'id' | 'system' | 'metadata' | 'data'>;
export type Expected = number | 'any' | 'stream_exists';

export type Verdict =
  | { kind: 'stored'; revision: number; position: number; idempotent: boolean }
  | { kind: 'wrong'; current: number };

export interface Filter {
  on: 'stream' | 'type';
  regex: RegExp | undefined;
  prefixes: readonly string[];
}

export class ServerLog {
  readonly all: LogEvent[] = [];
  readonly #streams = new Map<string, LogEvent[]>();
  readonly #listeners = new Set<() => void>();
  /** Event ids to the streams that have them: what the real server's bloom filter of recent ids stands for. */
  readonly #ids = new Map<string, LogEvent[]>();
  readonly #tombstones = new Set<string>();
  #next = 0;

  /** Deletes a stream for good, as a tombstone and a scavenge do; false where that was done before. */
  tombstone(name: string): boolean {
    if (this.#tombstones.has(name)) return false;
    this.#tombstones.add(name);
    this.#streams.delete(name);
    for (let i = this.all.length - 1; i >= 0; i -= 1)
      if (this.all[i]?.stream === name) this.all.splice(i, 1);
    return true;
  }

  isDeleted(name: string): boolean {
    return this.#tombstones.has(name);
  }

  stream(name: string): readonly LogEvent[] {
    return this.#streams.get(name) ?? [];
  }

  /** Stores all events or none, as `CheckCommit` of the real server decides. */
  append(stream: string, expected: Expected, events: readonly Proposed[]): Verdict {
    const held = this.stream(stream);
    const current = held.length - 1;
    if (expected === 'any' || expected === 'stream_exists') {
      if (expected === 'stream_exists' && current < 0) return { kind: 'wrong', current };
      const known = this.#ids.get(events[0]?.id ?? '')?.find((e) => e.stream === stream);
      const earlier = known && this.#earlier(held, known.revision, events);
      return earlier ?? this.#store(stream, events);
    }
    if (expected === current) return this.#store(stream, events);
    return this.#earlier(held, expected + 1, events) ?? { kind: 'wrong', current };
  }

  /** The append is the one that is stored from `from` on: same ids, whatever the content. A part of it is not. */
  #earlier(held: readonly LogEvent[], from: number, events: readonly Proposed[]) {
    const there = held.slice(from, from + events.length);
    const last = there.at(-1);
    if (!last || there.length < events.length) return undefined;
    if (there.some((event, i) => event.id !== events[i]?.id)) return undefined;
    const { revision, position } = last;
    return { kind: 'stored', revision, position, idempotent: true } as const;
  }

  #store(stream: string, events: readonly Proposed[]): Verdict {
    // The real server writes its own events between ours.
    if (this.all.length % 7 === 0 && !stream.startsWith('$')) this.#add('$stats-0', statistics());
    for (const event of events) this.#add(stream, event);
    for (const listener of this.#listeners) listener();
    const last = this.all.at(-1);
    if (!last) throw new Error('an append without events');
    const { revision, position } = last;
    return { kind: 'stored', revision, position, idempotent: false };
  }

  #add(stream: string, proposed: Proposed): void {
    const held = this.#streams.get(stream) ?? [];
    const event = { ...proposed, stream, revision: held.length, position: this.#next };
    event.system.set('created', String(BigInt(Date.now()) * 10_000n));
    this.#next += 90 + proposed.data.length + proposed.metadata.length;
    this.all.push(event);
    held.push(event);
    this.#streams.set(stream, held);
    const same = this.#ids.get(event.id);
    if (same) same.push(event);
    else this.#ids.set(event.id, [event]);
  }

  /** Index in `all` of the first event after a position. */
  indexAfter(position: number): number {
    let low = 0;
    let high = this.all.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.all[middle]?.position ?? Infinity) > position) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** `listener` runs after every append until the returned function is called. */
  onAppend(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

export function matches(filter: Filter | undefined, event: LogEvent): boolean {
  if (!filter) return true;
  const name = filter.on === 'stream' ? event.stream : (event.system.get('type') ?? '');
  if (filter.regex) return filter.regex.test(name);
  return filter.prefixes.some((prefix) => name.startsWith(prefix));
}

let statisticsWritten = 0;

function statistics(): Proposed {
  return {
    id: `00000000-0000-4000-8000-${String(++statisticsWritten).padStart(12, '0')}`,
    system: new Map([
      ['type', '$statsCollected'],
      ['content-type', 'application/json'],
    ]),
    metadata: new Uint8Array(0),
    data: Buffer.from('{"proc-cpu":1}'),
  };
}
