import type { Position } from '#event-store/event-store.js';
import type { HeaderFacts } from '#event-store/header-facts.js';
import { LedgerDamage, type Finding, type StoredEvent } from '#event-store/ledger-check.js';
import type { LedgerSource } from '#event-store/ledger-check.js';
import { CompactRange, leafHash, type Hash } from '#transparency/merkle.js';
import { SignedSizes } from './verify-sizes.js';
import { KeyChain } from './verify-keys.js';
import type { RecordedLeaf, RecordedLeaves } from './verify-leaves.js';
import type { PinnedLog } from './verify-pins.js';
import { pseudonymOf } from '../domain/origin.js';
import { checkpointStream, isCheckpointStream } from '../streams.js';

/** What a check of one workspace's tree rests on. */
export interface TreeOptions {
  leaves: RecordedLeaves | undefined;
  /** Verifier keys that somebody outside of the ledger vouches for; undefined where nobody does. */
  trusted: ReadonlySet<string> | undefined;
  /** What receipts and checkpoints kept elsewhere say of the log with this pseudonym. */
  pinned: (pseudonym: string) => PinnedLog | undefined;
}

export interface LogReport {
  workspace: string;
  origin: string | null;
  size: number;
  /** Base64. */
  root: string;
  /** Leaves under the last checkpoint. */
  signed_size: number;
  checkpoints: number;
  /** Keys that signed, in their order. */
  vkeys: string[];
  /** Events behind the last checkpoint, checkpoint events not counted. */
  unsigned: number;
}

/** The tree as it was at a size that a checkpoint names. */
interface Grown {
  root: Hash;
  /** Of the last leaf. */
  position: Position;
  content: number;
  /** Root (base64) of the recorded leaves at this size, where they differ. */
  recorded: string | undefined;
}

/** The first leaf that is not the recorded one, and the tree of the recorded ones from there on. */
interface Suspect {
  finding: Finding;
  recorded: CompactRange | undefined;
}

/** The tree of one workspace while the log is read, beside what was signed of it and what was recorded. */
export class TreeCheck {
  readonly #tree = CompactRange.from(0, []);
  readonly #stream: string;
  readonly #keys: KeyChain;
  readonly #pinned: PinnedLog | undefined;
  readonly #grown = new Map<number, Grown>();
  readonly #sizes: SignedSizes;
  #content = 0;
  #signedContent = 0;
  #signedSize = 0;
  /** Everything up to here is under a checkpoint. */
  provedUpTo: Position = 0;
  #checkpoints = 0;
  #suspect: Suspect | undefined;
  /** A recorded leaf that a signature has proved wrong. */
  recordedWrongly: Finding | undefined;

  constructor(
    readonly workspace: string,
    source: Pick<LedgerSource, 'stream'>,
    private readonly options: TreeOptions,
  ) {
    this.#stream = checkpointStream(workspace);
    this.#keys = new KeyChain(options.trusted);
    this.#pinned = options.pinned(pseudonymOf(workspace));
    this.#sizes = new SignedSizes(source, this.#stream);
  }

  take(event: StoredEvent, facts: HeaderFacts): Promise<void> | undefined {
    const ready = this.#sizes.ready();
    if (ready) return ready.then(() => this.#grow(event, facts));
    this.#grow(event, facts);
    return undefined;
  }

  #grow(event: StoredEvent, facts: HeaderFacts): void {
    const index = this.#tree.size;
    const leaf = leafHash(event.header);
    if (this.options.leaves) this.#compare(this.options.leaves, index, event.position, leaf);
    this.#pinned?.leaf(index, event.position, leaf, () => this.suspect);
    this.#tree.append(leaf);
    const isContent = facts.stream !== this.#stream;
    if (isContent) this.#content += 1;
    this.#reached(event.position);
    if (!isContent) this.#checkpointEvent(event, facts);
    else if (isCheckpointStream(facts.stream))
      throw damage(event.position, `stream of ${this.workspace}`, this.#stream, facts.stream);
  }

  #reached(position: Position): void {
    const { size } = this.#tree;
    if (this.#sizes.take(size)) this.#grown.set(size, this.#grownNow(position));
    const differs = this.#pinned?.root(size, () => this.#tree.root());
    if (differs) throw new LedgerDamage(this.#narrowed(differs, this.#grownNow(position)));
  }

  #grownNow(position: Position): Grown {
    const recorded = this.#suspect?.recorded;
    return {
      root: this.#tree.root(),
      position,
      content: this.#content,
      recorded: recorded?.size === this.#tree.size ? textOf(recorded.root()) : undefined,
    };
  }

  #compare(leaves: RecordedLeaves, index: number, position: Position, leaf: Hash): void {
    const recorded = leaves.at(this.workspace, index);
    if (this.#suspect) {
      if (recorded) this.#suspect.recorded?.append(Buffer.from(recorded.hash, 'base64'));
      else this.#suspect.recorded = undefined;
      return;
    }
    if (!recorded && position > leaves.upTo) return;
    const found = textOf(leaf);
    if (recorded?.hash === found && recorded.position === position) return;
    const tree = CompactRange.from(this.#tree.size, this.#tree.hashes);
    if (recorded) tree.append(Buffer.from(recorded.hash, 'base64'));
    this.#suspect = {
      finding: suspicion(position, found, recorded),
      recorded: recorded ? tree : undefined,
    };
  }

  #checkpointEvent(event: StoredEvent, facts: HeaderFacts): void {
    const signed = this.#keys.take(event, facts);
    if (!signed) return;
    const { size, root } = signed;
    const grown = this.#grown.get(size);
    this.#grown.delete(size);
    this.#sizes.met(size);
    if (!grown) throw new LedgerDamage(this.#notGrown(size, event.position));
    const found = textOf(grown.root);
    if (found !== root)
      throw new LedgerDamage(this.#narrowed({ what: 'signed root', expected: root, found }, grown));
    if (this.#suspect && (this.#suspect.finding.last ?? 0) <= grown.position) {
      this.recordedWrongly ??= this.#suspect.finding;
      this.#suspect = undefined;
    }
    this.#checkpoints += 1;
    this.#signedSize = size;
    this.#signedContent = grown.content;
    this.provedUpTo = grown.position;
  }

  /** A checkpoint of a size that the tree did not have before it: it signs more than there is, or it is in the wrong place. */
  #notGrown(size: number, position: Position): Finding {
    const before = this.#tree.size - 1;
    if (size > before && size > this.#signedSize)
      return this.#narrowed(
        { what: 'events under the checkpoint', expected: String(size), found: String(before) },
        { position, recorded: undefined },
      );
    return damage(
      position,
      'size of the checkpoint',
      `more than ${this.#signedSize}, and of leaves before it`,
      String(size),
    ).finding;
  }

  /** A root that is not the signed one: where the log parts from what was signed, as narrow as it can be told. */
  #narrowed(
    differs: { what: string; expected: string; found: string },
    { position, recorded }: Pick<Grown, 'position' | 'recorded'>,
  ): Finding {
    // The recorded leaves give the signed root: they are what was signed.
    if (this.#suspect && recorded === differs.expected) return this.#suspect.finding;
    const first = this.provedUpTo + 1;
    const at = first === position ? `position ${position}` : `positions ${first}–${position}`;
    return { at, ...differs, first, last: position };
  }

  /** What is known to be wrong before anything said so: the first difference from the record, or a root that another checkpoint claims. */
  get suspect(): Finding | undefined {
    if (this.#suspect) return this.#suspect.finding;
    for (const [size, grown] of this.#grown) {
      const claim = this.#sizes.claimed(size);
      const expected = claim && this.#keys.signedRoot(claim);
      const found = textOf(grown.root);
      if (expected !== undefined && expected !== found)
        return this.#narrowed({ what: 'signed root', expected, found }, grown);
    }
    return undefined;
  }

  /** An event that was recorded before `position`, and that the log went past. */
  missingBefore(position: Position): Finding | undefined {
    const next = this.options.leaves?.at(this.workspace, this.#tree.size);
    return next && next.position < position ? removed(next) : undefined;
  }

  /** After the last event: what is missing behind it. */
  end(): Finding | undefined {
    const { size } = this.#tree;
    const missing = this.options.leaves?.at(this.workspace, size);
    if (this.suspect) return this.suspect;
    if (missing) return removed(missing);
    return this.#pinned?.beyond(size, this.workspace);
  }

  report(): LogReport {
    return {
      workspace: this.workspace,
      origin: this.#keys.origin ?? null,
      size: this.#tree.size,
      root: textOf(this.#tree.root()),
      signed_size: this.#signedSize,
      checkpoints: this.#checkpoints,
      vkeys: this.#keys.vkeys,
      unsigned: this.#content - this.#signedContent,
    };
  }
}

export function removed({ position, hash }: RecordedLeaf): Finding {
  return {
    at: `position ${position}`,
    what: 'event',
    expected: `the one of leaf hash ${hash}, which the read models have seen`,
    found: 'none',
    first: position,
    last: position,
  };
}

function suspicion(position: Position, found: string, recorded: RecordedLeaf | undefined): Finding {
  if (recorded && recorded.position < position) return removed(recorded);
  const expected =
    recorded?.position === position ? recorded.hash : 'no event here: the read models saw none';
  return {
    at: `position ${position}`,
    what: 'leaf hash of the event, as the read models saw it',
    expected,
    found,
    first: position,
    last: position,
  };
}

function damage(position: Position, what: string, expected: string, found: string): LedgerDamage {
  return new LedgerDamage({
    at: `position ${position}`,
    what,
    expected,
    found,
    first: position,
    last: position,
  });
}

function textOf(hash: Hash): string {
  return Buffer.from(hash.buffer, hash.byteOffset, hash.length).toString('base64');
}
