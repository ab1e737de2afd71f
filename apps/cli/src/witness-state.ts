import { randomUUID } from 'node:crypto';
import { linkSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { sha256 } from '#kernel/json.js';
import { parseCheckpoint, type Checkpoint } from '#transparency/checkpoint.js';
import { openNote, type Verifier } from '#transparency/note.js';
import { ProofError } from '#transparency/proof-error.js';
import { EXIT, Failure } from './failure.js';

const STEP = /^after-(\d{1,16})\.checkpoint$/;

/**
 * What one witness has cosigned of one log: a file `after-<n>.checkpoint` for the checkpoint that followed the one of n events, under
 * the witness's own signature. A step is taken by a hard link, which only one run can make: two that run at once never cosign two
 * histories, and a crash leaves the state before or after it. `checkpoint` is a copy of the last one, to be served.
 */
export class WitnessState {
  readonly #folder: string;

  constructor(
    folder: string,
    origin: string,
    private readonly own: Verifier,
  ) {
    // As C2SP tlog-witness names it below the monitoring prefix.
    this.#folder = join(folder, sha256(origin));
    mkdirSync(this.#folder, { recursive: true });
  }

  /** The last checkpoint that was cosigned; undefined where none was. */
  last(): Checkpoint | undefined {
    const sizes = readdirSync(this.#folder).map((name) => Number(STEP.exec(name)?.[1] ?? -1));
    const after = Math.max(-1, ...sizes);
    if (after === -1) return undefined;
    const file = join(this.#folder, `after-${after}.checkpoint`);
    try {
      const { text } = openNote(readFileSync(file, 'utf8'), [this.own]);
      return parseCheckpoint(text);
    } catch (error) {
      if (!(error instanceof ProofError)) throw error;
      throw new Failure(EXIT.unreachable, {
        error: 'damaged_state',
        message: `${file} is not what this witness signed: ${error.message}`,
        path: '--state',
        fix: 'restore the folder from a backup; without it this witness can vouch for nothing that it saw before',
      });
    }
  }

  /** Durable before it resolves. Rejects where another run has gone on from the same checkpoint. */
  async advance(from: number, note: string): Promise<void> {
    const next = await this.#write(note);
    try {
      linkSync(next, join(this.#folder, `after-${from}.checkpoint`));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      throw new Failure(EXIT.incomplete, {
        error: 'overtaken',
        message: 'another run of this witness was faster',
        fix: 'run the command again',
      });
    } finally {
      rmSync(next);
    }
    await sync(this.#folder);
    await this.publish(note);
  }

  /** For whoever asks which checkpoint was cosigned last. */
  async publish(note: string): Promise<void> {
    await rename(await this.#write(note), join(this.#folder, 'checkpoint'));
  }

  /** Keeps a checkpoint that its log signed and should not have; with the last one it is the proof. Gives its path. */
  async keepRefused(size: number, note: string): Promise<string> {
    const path = join(this.#folder, `refused-${size}-${sha256(note).slice(0, 16)}.checkpoint`);
    await rename(await this.#write(note), path);
    return path;
  }

  async #write(note: string): Promise<string> {
    const path = join(this.#folder, `${randomUUID()}.part`);
    const file = await open(path, 'wx');
    try {
      await file.writeFile(note);
      await file.sync();
    } finally {
      await file.close();
    }
    return path;
  }
}

async function sync(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
