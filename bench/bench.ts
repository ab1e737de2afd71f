import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { diskFolder } from './files.js';
import type { Line } from './measure.js';

/** What a row gets from the run that it is part of. */
export class Bench {
  private readonly dirs: string[] = [];
  private readonly kept = new Map<string, { dir: string; made: Promise<void> }>();

  constructor(
    readonly quick: boolean,
    /** Folder for CPU profiles of the subjects. */
    readonly profile: string | undefined,
    /** Tells how far it is, and what has no place in the table. */
    readonly note: (line: string) => void,
  ) {}

  /** A new folder, gone after the row. With `like`, a copy of that ledger, which nobody may have open. */
  dir(like?: string): string {
    const dir = mkdtempSync(join(diskFolder(), 'precedent-bench-'));
    this.dirs.push(dir);
    if (like !== undefined) cpSync(like, dir, { recursive: true });
    return dir;
  }

  /** A folder that several rows use, made once and there until the run ends. */
  async shared(name: string, make: (dir: string) => Promise<void>): Promise<string> {
    let held = this.kept.get(name);
    if (!held) {
      const dir = mkdtempSync(join(diskFolder(), 'precedent-bench-'));
      held = { dir, made: make(dir) };
      this.kept.set(name, held);
    }
    await held.made;
    return held.dir;
  }

  /** Between rows. */
  clean(): void {
    for (const dir of this.dirs.splice(0)) rmSync(dir, { recursive: true, force: true });
  }

  end(): void {
    this.clean();
    for (const { dir } of this.kept.values()) rmSync(dir, { recursive: true, force: true });
  }
}

/** One row of the table, or a few that share what they prepare. */
export interface Row {
  ids: readonly string[];
  run(bench: Bench, ids: ReadonlySet<string>): Promise<Line[]>;
}
