import type { HeaderFacts } from '#event-store/header-facts.js';
import {
  checkLedger,
  LedgerDamage,
  type Coverage,
  type Finding,
  type LedgerSource,
  type StoredEvent,
} from '#event-store/ledger-check.js';
import { pseudonymOf } from '../domain/origin.js';
import type { RecordedLeaves } from './verify-leaves.js';
import { removed, TreeCheck, type LogReport, type TreeOptions } from './verify-log.js';
import { PinnedLog, type Pin } from './verify-pins.js';

export interface VerifyOptions {
  /** Positions count from 1 without gaps. */
  contiguous: boolean;
  /** False for the events of one workspace. */
  wholeStreams: boolean;
  leaves?: RecordedLeaves | undefined;
  trusted?: ReadonlySet<string> | undefined;
  /** Kept elsewhere, by the pseudonym of the workspace; every signature among them was proved already. */
  pins?: ReadonlyMap<string, readonly Pin[]>;
  signal: AbortSignal;
  /** Events and texts so far. */
  onProgress: (done: number) => void;
}

export interface Verified {
  /** The first thing that is wrong, and what had been checked until then. */
  finding: Finding | undefined;
  coverage: Coverage;
  logs: LogReport[];
  /** Texts that an event names and that are there with the right bytes. */
  texts: number;
  /** Statements kept elsewhere that the log agrees with. */
  pins: number;
  /** What the read models recorded of the log and a signature proves wrong. */
  recordedWrongly: Finding | undefined;
}

/**
 * Proves a ledger: the chain of its log (`checkLedger`), every text that it names, the tree of every workspace against every checkpoint,
 * against what the read models saw, and against what is kept elsewhere. One pass; memory grows with the workspaces, not with the log.
 */
export async function verifyLedger(
  source: LedgerSource,
  options: VerifyOptions,
): Promise<Verified> {
  const check = new LedgerVerification(source, options);
  const { contiguous, wholeStreams, signal, onProgress } = options;
  try {
    const { coverage } = await checkLedger(source, {
      contiguous,
      wholeStreams,
      marks: false,
      signal,
      onProgress,
      onEvent: (event, facts) => check.take(event, facts),
    });
    return check.result(check.end(), coverage);
  } catch (error) {
    if (!(error instanceof LedgerDamage)) throw error;
    return check.result(check.first(error.finding));
  }
}

class LedgerVerification {
  readonly #trees = new Map<string, TreeCheck>();
  readonly #pinned = new Map<string, PinnedLog>();
  readonly #treeOptions: TreeOptions;
  #events = 0;
  #position = 0;
  #recordedAt: string | null = null;
  #texts = 0;

  constructor(
    private readonly source: LedgerSource,
    private readonly options: VerifyOptions,
  ) {
    for (const [pseudonym, pins] of options.pins ?? [])
      this.#pinned.set(pseudonym, new PinnedLog(pins));
    this.#treeOptions = {
      leaves: options.leaves,
      trusted: options.trusted,
      pinned: (pseudonym) => this.#pinned.get(pseudonym),
    };
  }

  take(event: StoredEvent, facts: HeaderFacts): Promise<void> | undefined {
    this.#events += 1;
    this.#position = event.position;
    this.#recordedAt = facts.recorded_at;
    const grown = this.#treeOf(facts.workspace).take(event, facts);
    if (facts.type !== 'SourceCaptured') return grown;
    return Promise.resolve(grown).then(() => this.#text(event));
  }

  /** A captured source without its text would be evidence that nobody can look at. */
  async #text(event: StoredEvent): Promise<void> {
    const hash = textOf(event);
    if (hash === undefined) return;
    const { position } = event;
    if (await this.source.hasBlob(hash)) this.#texts += 1;
    else
      throw new LedgerDamage({
        at: `position ${position}`,
        what: 'text of the source',
        expected: `blob ${hash}`,
        found: 'none',
        first: position,
        last: position,
      });
  }

  #treeOf(workspace: string): TreeCheck {
    let tree = this.#trees.get(workspace);
    if (!tree) {
      tree = new TreeCheck(workspace, this.source, this.#treeOptions);
      this.#trees.set(workspace, tree);
    }
    return tree;
  }

  /** Of what is wrong the first, where something earlier than the damage that ended the reading is known. */
  first(damage: Finding): Finding {
    const trees = [...this.#trees.values()];
    const { first, last = Infinity } = damage;
    const missing = trees.map((tree) => tree.missingBefore(last)).filter((f) => f !== undefined);
    const proved = Math.min(...trees.map((tree) => tree.provedUpTo));
    const narrowed =
      first === undefined || first === last
        ? damage
        : { ...damage, first: Math.max(first, proved + 1) };
    return earliest([narrowed, ...missing, ...this.#suspects()]) ?? damage;
  }

  end(): Finding | undefined {
    const ends = [...this.#trees.values()].map((tree) => tree.end());
    return earliest([...ends, ...this.#unseenLogs()].filter((f) => f !== undefined));
  }

  #suspects(): Finding[] {
    return [...this.#trees.values()].map((tree) => tree.suspect).filter((f) => f !== undefined);
  }

  /** Logs that somebody has seen, and of which the ledger has nothing. */
  #unseenLogs(): (Finding | undefined)[] {
    const { leaves, wholeStreams } = this.options;
    const seen = wholeStreams ? (leaves?.workspaces() ?? []) : [];
    const gone = seen
      .filter((workspace) => !this.#trees.has(workspace))
      .map((workspace) => {
        const leaf = leaves?.at(workspace, 0);
        return leaf && removed(leaf);
      });
    const known = new Set([...this.#trees.keys()].map(pseudonymOf));
    const pinned = [...this.#pinned]
      .filter(([pseudonym]) => !known.has(pseudonym))
      .map(([pseudonym, pin]) => pin.beyond(0, `the workspace ${pseudonym}`));
    return [...gone, ...pinned];
  }

  result(finding: Finding | undefined, coverage?: Coverage): Verified {
    const trees = [...this.#trees.values()];
    return {
      finding,
      coverage: coverage ?? {
        events: this.#events,
        last_position: this.#position,
        last_recorded_at: this.#recordedAt,
        headers_sha256: '',
        blobs: 0,
      },
      logs: trees.map((tree) => tree.report()),
      texts: this.#texts,
      pins: [...this.#pinned.values()].reduce((n, pin) => n + pin.met, 0),
      recordedWrongly: trees.map((tree) => tree.recordedWrongly).find((f) => f !== undefined),
    };
  }
}

/** Name of the blob that holds the text of a captured source. */
function textOf({ payload }: StoredEvent): string | undefined {
  const { blob, sha256 } = JSON.parse(payload) as Record<string, unknown>;
  const hash = blob ?? sha256;
  return typeof hash === 'string' ? hash : undefined;
}

/** By the last position at which it may be: what is known exactly comes before a range that ends there. */
export function earliest(findings: readonly Finding[]): Finding | undefined {
  const place = ({ last }: Finding): number => last ?? Infinity;
  return [...findings].sort((a, b) => place(a) - place(b))[0];
}
