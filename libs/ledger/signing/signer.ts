import { createPublicKey, randomUUID, type KeyObject } from 'node:crypto';
import type { Position } from '#event-store/event-store.js';
import type { Folded, Origin, Streams } from '#event-store/streams.js';
import { Refusal } from '#kernel/refusal.js';
import type { Reads } from '#projections/read-database.js';
import type { ReadModels } from '#projections/read-models.js';
import { toBase64 } from '#transparency/base64.js';
import { formatCheckpoint, openCheckpoint } from '#transparency/checkpoint.js';
import { rootOf } from '#transparency/merkle.js';
import { ed25519Vkey, noteSigner, parseVkey, signNote } from '#transparency/note.js';
import { ProofError } from '#transparency/proof-error.js';
import {
  foreignKey,
  inconsistent,
  type CheckpointCommand,
  type CheckpointLog,
} from '../domain/checkpoint.js';
import { rotationNote } from './key-chain.js';
import { noLogKey, type LogKeys } from './log-keys.js';
import { originOfLog } from '../domain/origin.js';
import { firstOver, keysOf, lastCheckpoint } from '../projections/checkpoints.js';
import { assertFollowed, sizeOf, treeOf } from '../projections/log-tree.js';
import { checkpointStream, checkpointStreams } from '../streams.js';

/** A checkpoint that is in the log, and the key that signed it. */
export interface Signed {
  origin: string;
  size: number;
  /** Base64. */
  root: string;
  note: string;
  vkey: string;
  key: KeyObject;
  /** Of the last event of the log's stream when this was read. */
  position: Position;
}

/** An open log, the key that it names, and how far its stream was read. */
interface Open extends CheckpointLog {
  key: KeyObject;
  position: Position;
}

const ATTEMPTS = 8;

/**
 * Signs checkpoints. Each is an event before anybody sees it, appended only after the tree was found to continue the one that was signed
 * before it: so no two signed trees of one log contradict, whoever else signs.
 */
export class Signer {
  /** One at a time in each workspace; whoever comes meanwhile waits for it. */
  private readonly running = new Map<string, Promise<unknown>>();

  constructor(
    private readonly streams: Streams,
    private readonly models: ReadModels,
    readonly keys: LogKeys,
    /** Told whenever a log got a key. */
    private readonly onKey: () => void,
  ) {}

  /** A checkpoint over the event at `index`, which the read models have: the last one, or one signed now. */
  async covering(workspace: string, index: number): Promise<Signed> {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const open = await this.open(workspace);
      if (open.size > index) return signed(open);
      await this.sign(workspace, index);
    }
    throw busy();
  }

  /** The first checkpoint over the event at `index` that the present key signed: the same one however often it is asked for. */
  async firstCovering(workspace: string, index: number): Promise<Signed> {
    const last = await this.covering(workspace, index);
    const first = await this.models.read(
      (reads) => firstOver(reads, workspace, index),
      last.position,
    );
    if (!first || first.size >= last.size) return last;
    try {
      // The read models say which one; what was signed, its note says.
      const { size, root, note } = openCheckpoint(first.note, [parseVkey(last.vkey)], last.origin);
      return { ...last, size, root: toBase64(root), note };
    } catch (error) {
      if (error instanceof ProofError) return last;
      throw error;
    }
  }

  /** Signs what no checkpoint covers. Checkpoint events alone are left for the next one, unless `index` asks for it. */
  async sign(workspace: string, index = -1): Promise<void> {
    const before = this.running.get(workspace);
    if (before) {
      await before;
      return;
    }
    const mine = this.signNow(workspace, index);
    this.running.set(workspace, mine);
    try {
      await mine;
    } finally {
      this.running.delete(workspace);
    }
  }

  private async signNow(workspace: string, index: number): Promise<void> {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const open = await this.open(workspace);
      const seen = await this.inspect(workspace, open);
      if (seen.content <= open.size && index < open.size) return;
      const { origin, vkey, key } = open;
      const text = formatCheckpoint({ origin, size: seen.size, root: seen.root });
      const command = {
        type: 'Sign',
        vkey,
        after: open.size,
        size: seen.size,
        root: toBase64(seen.root),
        note: signNote(text, [noteSigner(origin, key)]),
      } as const;
      if (await this.tried(workspace, command)) return;
    }
    throw busy();
  }

  /** The tree as it is, after it was found to continue what was signed last. */
  private async inspect(workspace: string, open: Open) {
    const seen = await this.models.read((reads) => {
      assertFollowed(reads, open.position);
      const tree = treeOf(reads, workspace);
      const { size, content } = sizeOf(reads, workspace);
      const continues =
        open.size === 0 || (size >= open.size && toBase64(rootOf(open.size, tree)) === open.root);
      return { size, content, root: rootOf(size, tree), continues };
    }, open.position);
    if (seen.continues) return seen;
    throw inconsistent(open);
  }

  /** The log of a workspace, opened where it is not, and led on to the first key of this server where it signs with a former one. */
  async open(workspace: string): Promise<Open> {
    const { held, name } = this.keys;
    const [first] = held;
    if (!first) throw noLogKey();
    const origin = originOfLog(name, workspace);
    const vkey = vkeyOf(origin, first);
    await this.streams.resume(checkpointStreams, checkpointStream(workspace), () =>
      this.models.read((reads) => beforeLast(reads, workspace)),
    );
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const { state, position } = await this.streams.load(
        checkpointStreams,
        checkpointStream(workspace),
      );
      const key = state && held.find((k) => vkeyOf(state.origin, k) === state.vkey);
      if (state && !key) throw foreignKey(state.vkey);
      if (!state || state.origin !== origin) {
        await this.tried(workspace, { type: 'Open', origin, vkey });
        continue;
      }
      if (key === first || state.vkeys.includes(vkey))
        return { ...state, key: key ?? first, position };
      const former = noteSigner(origin, key ?? first);
      const note = rotationNote(origin, state.vkey, vkey, former);
      await this.tried(workspace, { type: 'Rotate', from: state.vkey, vkey, note });
    }
    throw busy();
  }

  /** Introduces the first key where the one that signed is lost: nobody but the operator vouches for it. */
  async replace(workspace: string, reason: string): Promise<void> {
    const [first] = this.keys.held;
    if (!first) throw noLogKey();
    const { state } = await this.streams.load(checkpointStreams, checkpointStream(workspace));
    if (!state) return;
    if (this.keys.held.some((key) => vkeyOf(state.origin, key) === state.vkey)) {
      await this.open(workspace);
      return;
    }
    const vkey = vkeyOf(state.origin, first);
    await this.tried(workspace, { type: 'Replace', from: state.vkey, vkey, reason });
  }

  /** False where another signer was faster: look again. */
  private async tried(workspace: string, command: CheckpointCommand): Promise<boolean> {
    try {
      await this.streams.execute(
        checkpointStreams,
        checkpointStream(workspace),
        command,
        byTheSystem(workspace),
      );
    } catch (error) {
      if (error instanceof Refusal && error.error === 'checkpoint_moved') return false;
      throw error;
    }
    if (command.type !== 'Sign') this.onKey();
    return true;
  }
}

export function vkeyOf(origin: string, key: KeyObject): string {
  return ed25519Vkey(origin, createPublicKey(key));
}

function signed({ origin, size, root, note, vkey, key, position }: Open): Signed {
  return { origin, size, root, note, vkey, key, position };
}

/** A random command id: a checkpoint that lost its race must not be taken for the one that won it. */
function byTheSystem(workspace: string): Origin {
  const command = randomUUID();
  const actor = { principal: 'system', kind: 'system', credential: null } as const;
  return { workspace, actor, command, correlation: command };
}

function busy(): Refusal {
  return new Refusal('unavailable', 'busy', 'others sign the same log at the moment', {
    fix: 'try again in a moment',
  });
}

/**
 * The log's stream as it was before its last checkpoint, as far as the read models tell: so that years of checkpoints need not be read.
 * What was signed last is read from the log itself.
 */
function beforeLast(reads: Reads, workspace: string): Folded<CheckpointLog> | undefined {
  const last = lastCheckpoint(reads, workspace);
  const keys = keysOf(reads, workspace).filter((key) => last && key.position < last.position);
  const signs = keys.at(-1);
  if (!last || !signs) return undefined;
  const { origin, vkey } = signs;
  const vkeys = keys.map((key) => key.vkey);
  return {
    state: { origin, vkey, vkeys, size: 0, root: '', note: '' },
    revision: last.revision - 1,
    position: signs.position,
  };
}
