import type { KeyObject } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Position } from '#event-store/event-store.js';
import type { Streams } from '#event-store/streams.js';
import { Refusal } from '#kernel/refusal.js';
import type { Reads } from '#projections/read-database.js';
import type { ReadModels } from '#projections/read-models.js';
import { inclusionProof, verifyInclusion, type Hash } from '#transparency/merkle.js';
import { inconsistent } from '../domain/checkpoint.js';
import { givenKey, type LogKeys } from './log-keys.js';
import { coverage, everyVkey, openLogs, uncoveredLogs } from '../projections/checkpoints.js';
import { assertFollowed, sizeOf, treeOf } from '../projections/log-tree.js';
import { Signer, type Signed } from './signer.js';

export type LogState = 'signing' | 'no_key' | 'foreign_key' | 'inconsistent' | 'failing';

/** How the signing of checkpoints fares, for probes and metrics. Names no workspace. */
export interface LogStatus {
  state: LogState;
  /** How long the oldest event that was found uncovered has waited; 0 where all are covered. */
  uncoveredSeconds: number;
  /** Logs whose events are not those of their checkpoints. */
  inconsistent: number;
  /** Attempts that failed since the start. */
  errors: number;
}

/** That an event is in the signed log. */
export interface Inclusion {
  index: number;
  leaf: Hash;
  hashes: readonly Hash[];
  checkpoint: Signed;
}

export interface LogOptions {
  keys: LogKeys;
  /** Between two checkpoints of a log; 0: only where somebody asks for one. */
  seconds: number;
  /** Told of each new problem once, by the word of its refusal. */
  onProblem: (error: unknown, problem: string) => void;
}

/** Logs that are signed at a time. */
const AT_ONCE = 16;
/** A shutdown waits that long for the last checkpoints. */
const CLOSE_MS = 5_000;

/** Signs every log that has uncovered events, at intervals, on demand and at the end. Owned by whoever started it. */
export class LogService {
  readonly signer: Signer;
  readonly keys: LogKeys;
  private timer: NodeJS.Timeout | undefined;
  private turn: Promise<unknown> = Promise.resolve();
  private rotating: Promise<unknown> = Promise.resolve();
  private looked: Position = -1;
  private uncoveredSince: number | undefined;
  private isUnpublished = true;
  /** By workspace, or by the work that is about no single one. */
  private readonly problems = new Map<string, string>();
  private errors = 0;

  constructor(
    streams: Streams,
    private readonly models: ReadModels,
    private readonly options: LogOptions,
  ) {
    this.keys = options.keys;
    this.signer = new Signer(streams, models, options.keys, () => {
      this.isUnpublished = true;
    });
  }

  start(): void {
    if (!this.holdsKey) return;
    this.turn = this.keys.held.length > 1 ? this.leadOn() : this.publish();
    if (this.options.seconds === 0) return;
    this.timer = setInterval(() => {
      this.turn = this.turn.then(() => this.signAll());
    }, this.options.seconds * 1_000);
    this.timer.unref();
  }

  /** Signs what is left, so that a copy of the data folder is covered whole. A store that does not answer is not waited for long. */
  async close(): Promise<void> {
    clearInterval(this.timer);
    const isLate = AbortSignal.timeout(CLOSE_MS);
    const work = async (): Promise<void> => {
      await this.turn;
      if (this.options.seconds > 0 && this.holdsKey) await this.signAll(isLate);
      await this.models.settled().catch(() => undefined);
    };
    await Promise.race([work(), delay(CLOSE_MS, undefined, { ref: false })]);
  }

  get holdsKey(): boolean {
    return this.keys.held.length > 0;
  }

  status(): LogStatus {
    const since = this.uncoveredSince;
    return {
      state: this.state(),
      uncoveredSeconds: since === undefined ? 0 : (performance.now() - since) / 1_000,
      inconsistent: [...this.problems.values()].filter((p) => p === 'log_inconsistent').length,
      errors: this.errors,
    };
  }

  private state(): LogState {
    const problems = new Set(this.problems.values());
    if (!this.holdsKey) return 'no_key';
    if (problems.has('log_inconsistent')) return 'inconsistent';
    if (problems.has('foreign_log_key')) return 'foreign_key';
    return problems.size > 0 ? 'failing' : 'signing';
  }

  /** Events of the whole ledger, and those under a checkpoint. */
  coverage(): { events: number; covered: number } {
    return this.models.now(coverage);
  }

  /** Proves the event at `index`, which the read models have, against a checkpoint that covers it: the last one by default, or one signed now. */
  async prove(
    workspace: string,
    index: number,
    which: 'first' | 'last' = 'last',
  ): Promise<Inclusion> {
    const proof = await this.noted(workspace, async () => {
      const checkpoint =
        which === 'first'
          ? await this.signer.firstCovering(workspace, index)
          : await this.signer.covering(workspace, index);
      return this.models.read(
        (reads) => ({ index, checkpoint, ...proofOf(reads, workspace, index, checkpoint) }),
        checkpoint.position,
      );
    });
    await this.publish();
    return proof;
  }

  /** Opens a log where it is not. */
  async open(workspace: string): Promise<void> {
    await this.noted(workspace, () => this.signer.open(workspace));
    await this.publish();
  }

  /** Lets a new key follow a held one; where another follows it already, all logs are led on to that. */
  rotate(isFormer: (key: KeyObject) => boolean): Promise<boolean> {
    const work = async (): Promise<boolean> => {
      if (this.keys.held.findIndex(isFormer) === 0) {
        if (!this.keys.renew) throw givenKey();
        await this.keys.renew();
      }
      return this.leadOn();
    };
    const mine = this.rotating.then(work, work);
    this.rotating = mine;
    return mine;
  }

  /** Leads every log on to the first key; once all are there, the former ones are forgotten. False where some are not. */
  async leadOn(): Promise<boolean> {
    return this.tried('rotation', async () => {
      let all = true;
      for (const workspace of await this.models.read(openLogs))
        all = (await this.tried(workspace, () => this.signer.open(workspace))) && all;
      await this.publish();
      if (!all)
        throw new Refusal('unavailable', 'rotation_unfinished', 'logs wait for the new key');
      await this.keys.forgetFormer?.();
    });
  }

  /** Introduces the first key where the one that signed is lost. */
  async replaceLost(reason: string): Promise<boolean> {
    return this.tried('rotation', async () => {
      for (const workspace of await this.models.read(openLogs)) {
        await this.signer.replace(workspace, reason);
        this.problems.delete(workspace);
      }
      await this.publish();
    });
  }

  /** A checkpoint event alone is no reason for another checkpoint. */
  private async signAll(stop?: AbortSignal): Promise<void> {
    await this.tried('signing', async () => {
      const { position } = this.models;
      if (position === this.looked && this.uncoveredSince === undefined) return;
      const logs = this.models.now(uncoveredLogs);
      if (logs.length > 0) this.uncoveredSince ??= performance.now();
      if (!(await this.signLogs(logs.values(), stop))) return;
      this.uncoveredSince = undefined;
      this.looked = position;
    });
    if (this.problems.has('rotation')) await this.leadOn();
    await this.publish();
  }

  /** Several at a time, which share commits. False where some could not be signed. */
  private async signLogs(logs: Iterator<string>, stop: AbortSignal | undefined): Promise<boolean> {
    let all = true;
    const worker = async (): Promise<void> => {
      for (let next = logs.next(); next.done !== true; next = logs.next()) {
        const workspace = next.value;
        const signed =
          stop?.aborted !== true &&
          (await this.tried(workspace, () => this.signer.sign(workspace)));
        all &&= signed;
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    return all;
  }

  /** Lays the public keys down where they have changed. */
  private async publish(): Promise<void> {
    if (!this.isUnpublished) return;
    this.isUnpublished = false;
    const published = await this.tried('publication', async () => {
      await this.keys.publish(await this.models.read(everyVkey));
    });
    if (!published) this.isUnpublished = true;
  }

  private async tried(what: string, work: () => Promise<unknown>): Promise<boolean> {
    try {
      await this.noted(what, work);
      return true;
    } catch {
      return false;
    }
  }

  private async noted<T>(what: string, work: () => Promise<T>): Promise<T> {
    try {
      const result = await work();
      this.problems.delete(what);
      return result;
    } catch (error) {
      const problem = error instanceof Refusal ? error.error : 'failed';
      this.errors += 1;
      if (this.problems.get(what) !== problem) this.options.onProblem(error, problem);
      this.problems.set(what, problem);
      throw error;
    }
  }
}

/** Only what holds is handed out: the tree may be another than the one that was signed. */
function proofOf(
  reads: Reads,
  workspace: string,
  index: number,
  checkpoint: Signed,
): { leaf: Hash; hashes: Hash[] } {
  const { size, root, position } = checkpoint;
  assertFollowed(reads, position);
  if (sizeOf(reads, workspace).size < size) throw inconsistent(checkpoint);
  const tree = treeOf(reads, workspace);
  const [leaf, hashes] = [tree(0, index), inclusionProof(index, size, tree)];
  try {
    verifyInclusion({ index, size, leaf, proof: hashes, root: Buffer.from(root, 'base64') });
  } catch {
    throw inconsistent(checkpoint);
  }
  return { leaf, hashes };
}
