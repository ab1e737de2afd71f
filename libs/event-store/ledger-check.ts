import { sha256 } from '#kernel/json.js';
import { foreignToken } from '#kernel/sealing.js';
import type { Position } from './event-store.js';
import { factsOf, type HeaderFacts } from './header-facts.js';
import { HeadersDigest } from './headers-digest.js';

/** An event as an engine keeps it: what its index says of it, and the stored bytes. */
export interface StoredEvent {
  position: Position;
  stream: string;
  revision: number;
  /** The text whose UTF-8 is stored. */
  header: string;
  payload: string;
  /** What is stored there is no UTF-8, and the text above not it. */
  unreadable?: 'header' | 'payload';
}

export interface StoredBlob {
  hash: string;
  bytes: Uint8Array;
}

/** What a check reads: one moment of a ledger, on any engine. */
export interface LedgerSource {
  /** The log after a position, the whole without one, in batches, in the order in which the engine delivers it. */
  log(after?: Position): AsyncIterable<readonly StoredEvent[]>;
  /** Where the engine's index has a revision of a stream. */
  locate(stream: string, revision: number): Promise<Position | undefined>;
  /** Some events of one stream from a revision on, in order; none at its end. Read ahead of the log, and proved only when the log gets there. */
  stream(name: string, fromRevision: number): Promise<readonly StoredEvent[]>;
  blobs(): AsyncIterable<readonly StoredBlob[]>;
  blob(hash: string): Promise<Uint8Array | undefined>;
  hasBlob(hash: string): Promise<boolean>;
}

/** What a ledger holds. Two ledgers of one `headers_sha256` have the same history, on whatever engines. */
export interface Coverage {
  events: number;
  /** 0 for a ledger without events. */
  last_position: Position;
  last_recorded_at: string | null;
  /**
   * SHA-256, in lower-case hex, of the stored headers in log order, each in UTF-8 and followed by one line feed (which no header
   * contains). Each header names the SHA-256 of its payload, so this covers every byte of the history; positions are the engine's
   * and not in it. `sqlite3 FILE "SELECT header FROM event ORDER BY position" | sha256sum` gives the same.
   */
  headers_sha256: string;
  blobs: number;
}

export interface Checked {
  coverage: Coverage;
  /** `headers_sha256` after every `MARK_EVENTS` events: where two ledgers part is found to that many events. */
  marks: readonly string[];
}

export const MARK_EVENTS = 1_000;

/** The first thing that is wrong with a ledger. */
export interface Finding {
  /** Where: `position 12`, `blob <hash>`, or a part of the file. */
  at: string;
  what: string;
  expected: string;
  found: string;
  /** The positions between which the first bad one is; the same where it is known exactly. Absent for what has no position. */
  first?: Position;
  last?: Position;
}

export class LedgerDamage extends Error {
  constructor(
    readonly finding: Finding,
    options?: ErrorOptions,
  ) {
    const { at, what, expected, found } = finding;
    super(`${at}: ${what}: expected ${expected}, found ${found}`, options);
    this.name = 'LedgerDamage';
  }
}

export interface CheckOptions {
  /** Positions have no gaps on this engine. */
  contiguous: boolean;
  /** What the ledger must turn out to hold; the first difference is a finding. */
  expected?: Checked;
  /** Events and blobs that were checked so far. */
  onProgress?: (done: number) => void;
  signal?: AbortSignal;
  /** Streams whose heads are kept in memory; of the others the engine's index is asked. */
  heads?: number;
  /** False for the events of one workspace: other events of its streams may be missing between them. */
  wholeStreams?: boolean;
  /** False: none are made. */
  marks?: boolean;
  /** Sees every event of which nothing was found wrong, in order. It may throw a `LedgerDamage` of its own. */
  onEvent?: (event: StoredEvent, facts: HeaderFacts) => void | Promise<void>;
}

/** Heads of streams, and characters of their names: of long ones fewer. */
const REMEMBERED = { heads: 250_000, characters: 10_000_000 };

/**
 * Proves a ledger from its own bytes: every payload and blob has the hash that is written of it, positions rise (without gaps where
 * the engine leaves none), revisions of every stream are contiguous, and the index says what the headers say. Recorded times are only
 * covered by the digest: on a cluster they may run backwards between servers (ADR 4), and a ledger can come from one. Throws a
 * `LedgerDamage` of the first thing that is wrong. Memory does not grow with the ledger.
 */
export async function checkLedger(source: LedgerSource, options: CheckOptions): Promise<Checked> {
  const log = new LogCheck(source, options);
  for await (const batch of source.log()) {
    options.signal?.throwIfAborted();
    for (const event of batch) {
      const more = log.take(event);
      if (more) await more;
    }
    options.onProgress?.(log.events);
  }
  let blobs = 0;
  for await (const batch of source.blobs()) {
    options.signal?.throwIfAborted();
    for (const blob of batch) checkBlob(blob);
    blobs += batch.length;
    options.onProgress?.(log.events + blobs);
  }
  const checked = log.end(blobs);
  if (options.expected) assertSame(options.expected.coverage, checked.coverage);
  return checked;
}

function checkBlob({ hash, bytes }: StoredBlob): void {
  const found = sha256(bytes);
  if (found !== hash)
    throw new LedgerDamage({ at: `blob ${hash}`, what: 'SHA-256', expected: hash, found });
}

/** The digest last: the others say more. */
const COVERED = ['events', 'last_position', 'last_recorded_at', 'blobs', 'headers_sha256'] as const;

function assertSame(expected: Coverage, found: Coverage): void {
  for (const what of COVERED)
    if (expected[what] !== found[what])
      throw new LedgerDamage({
        at: `the ledger as a whole`,
        what,
        expected: String(expected[what]),
        found: String(found[what]),
      });
}

class LogCheck {
  events = 0;
  #position: Position = 0;
  #recordedAt: string | null = null;
  readonly #digest = new HeadersDigest();
  readonly #marks: string[] = [];
  /** Revisions of the streams seen last, in two halves: dropping the older one at once is cheap, dropping the oldest entry of a map is not. */
  #heads = new Map<string, number>();
  #olderHeads = new Map<string, number>();
  #characters = 0;
  #forgotten = false;

  constructor(
    private readonly source: LedgerSource,
    private readonly options: CheckOptions,
  ) {}

  /** A promise only where something has to be waited for. */
  take(event: StoredEvent): Promise<void> | undefined {
    this.#checkPosition(event);
    const facts = headerOf(event);
    checkContent(event, facts);
    const asked = this.#checkRevision(event, facts);
    if (asked) return asked.then(() => this.#accept(event, facts));
    return this.#accept(event, facts);
  }

  #accept(event: StoredEvent, facts: HeaderFacts): Promise<void> | undefined {
    this.#position = event.position;
    this.#recordedAt = facts.recorded_at;
    this.events += 1;
    this.#digest.add(event.header);
    if (this.events % MARK_EVENTS === 0 && this.options.marks !== false) this.#mark(event);
    return this.options.onEvent?.(event, facts) ?? undefined;
  }

  end(blobs: number): Checked {
    return {
      coverage: {
        events: this.events,
        last_position: this.#position,
        last_recorded_at: this.#recordedAt,
        headers_sha256: this.#digest.hex(),
        blobs,
      },
      marks: this.#marks,
    };
  }

  #checkPosition(event: StoredEvent): void {
    const next = this.#position + 1;
    const right = this.options.contiguous ? event.position === next : event.position >= next;
    if (right) return;
    const or = this.options.contiguous ? '' : ' or later';
    throw wrong({ position: next }, 'position', `${next}${or}`, String(event.position));
  }

  #checkRevision(event: StoredEvent, facts: HeaderFacts): Promise<void> | undefined {
    // The index has the same name as the header by now, and as one text for all events of the stream: it is hashed once.
    const { stream, revision } = event;
    const head = this.#heads.get(stream) ?? this.#olderHeads.get(stream);
    const next = (head ?? -1) + 1;
    const asked =
      head === undefined && this.#forgotten ? this.#askIndex(event, stream, revision) : undefined;
    const wholeStreams = this.options.wholeStreams ?? true;
    if (!asked && (wholeStreams ? revision !== next : revision < next))
      throw this.#wrongRevision(event, facts, next);
    this.#remember(stream, revision);
    return asked;
  }

  #wrongRevision(
    event: StoredEvent,
    { stream, revision }: HeaderFacts,
    next: number,
  ): LedgerDamage {
    const { wholeStreams = true, contiguous } = this.options;
    const expected = wholeStreams ? String(next) : `${next} or later`;
    const { finding } = wrong(event, `revision of ${stream}`, expected, String(revision));
    // Where positions have gaps, the one that is missing may have been anywhere before.
    return new LedgerDamage(revision > next && !contiguous ? { ...finding, first: 1 } : finding);
  }

  #remember(stream: string, revision: number): void {
    if (!this.#heads.has(stream)) this.#characters += stream.length;
    const { size } = this.#heads.set(stream, revision);
    const { heads = REMEMBERED.heads } = this.options;
    if (size < heads / 2 && this.#characters < REMEMBERED.characters / 2) return;
    this.#forgotten ||= this.#olderHeads.size > 0;
    this.#olderHeads = this.#heads;
    this.#heads = new Map();
    this.#characters = 0;
  }

  /** The stream was seen long ago or never: the index has this event at its revision, and the one before at an earlier position. */
  async #askIndex(event: StoredEvent, stream: string, revision: number): Promise<void> {
    const here = await this.source.locate(stream, revision);
    if (here !== event.position)
      throw wrong(event, `revision ${revision} of ${stream} once`, 'here', `at ${String(here)}`);
    if (revision === 0 || this.options.wholeStreams === false) return;
    const before = await this.source.locate(stream, revision - 1);
    if (before === undefined || before >= event.position)
      throw wrong(
        event,
        `revision ${revision - 1} of ${stream}`,
        `before position ${event.position}`,
        before === undefined ? 'nowhere' : `at ${before}`,
      );
  }

  #mark(event: StoredEvent): void {
    const found = this.#digest.hex();
    const expected = this.options.expected?.marks[this.#marks.length] ?? found;
    this.#marks.push(found);
    if (found === expected) return;
    const same = this.events - MARK_EVENTS;
    throw wrong(event, `headers_sha256 up to here (right up to event ${same})`, expected, found);
  }
}

function wrong(
  { position }: { position: Position },
  what: string,
  expected: string,
  found: string,
): LedgerDamage {
  const at = `position ${position}`;
  return new LedgerDamage({ at, what, expected, found, first: position, last: position });
}

function headerOf(event: StoredEvent): HeaderFacts {
  const { header, unreadable } = event;
  if (unreadable) throw wrong(event, unreadable, 'UTF-8', 'bytes that are none');
  const facts = factsOf(header);
  if (facts) return facts;
  const shown = header.length > 80 ? `${header.slice(0, 80)}…` : header;
  throw wrong(event, 'header', 'the members of a header as JSON', JSON.stringify(shown));
}

function checkContent(event: StoredEvent, header: HeaderFacts): void {
  const { payload_sha256: hash, stream, revision, workspace, id } = header;
  const found = sha256(event.payload);
  if (found !== hash) throw wrong(event, 'payload_sha256', hash, found);
  if (event.stream !== stream) throw wrong(event, 'stream in the index', stream, event.stream);
  if (event.revision !== revision)
    throw wrong(event, 'revision in the index', String(revision), String(event.revision));
  const from = foreignToken(event.payload, header);
  if (from) throw wrong(event, 'place of a sealed text', `${workspace}:${id}`, from);
}
