import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { diskFolder } from './files.js';
import type { Result } from './measure.js';

/** What a row gets from the run that it is part of. */
export class Bench {
  private readonly dirs: string[] = [];

  constructor(
    readonly quick: boolean,
    /** Folder for CPU profiles of the subjects. */
    readonly profile: string | undefined,
    /** Tells how far it is, and what has no place in the table. */
    readonly note: (line: string) => void,
  ) {}

  /** A new folder, gone when the run ends. With `like`, a copy of that ledger, which nobody may have open. */
  dir(like?: string): string {
    const dir = mkdtempSync(join(diskFolder(), 'precedent-bench-'));
    this.dirs.push(dir);
    if (like !== undefined) cpSync(like, dir, { recursive: true });
    return dir;
  }

  clean(): void {
    for (const dir of this.dirs) rmSync(dir, { recursive: true, force: true });
  }
}

/** One row of `docs/performance.md`, or a few that share what they prepare. */
export interface Row {
  ids: readonly string[];
  run(bench: Bench, ids: ReadonlySet<string>): Promise<Result[]>;
}
