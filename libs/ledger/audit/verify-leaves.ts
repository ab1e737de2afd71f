import type { Position } from '#event-store/event-store.js';
import type { Reads } from '#projections/read-database.js';
import { logTree } from '../projections/log-tree.js';

/** Where the read models have seen an event of a log, and what its leaf hash (base64) was then. */
export interface RecordedLeaf {
  position: Position;
  hash: string;
}

const PAGE = 256;

/**
 * Leaf hashes that the read models kept: a second record of the log, which nobody signed. With it a change is named exactly, and one
 * behind the last checkpoint is found at all.
 */
export class RecordedLeaves {
  readonly #pages = new Map<string, { from: number; leaves: readonly RecordedLeaf[] }>();

  private constructor(
    private readonly reads: Reads,
    /** Every event up to here was seen. */
    readonly upTo: Position,
  ) {}

  /** Undefined where these read models were made by another version, or do not have it yet. */
  static in(reads: Reads): RecordedLeaves | undefined {
    const row = reads.get('SELECT version, position FROM checkpoint WHERE name = ?', logTree.name);
    if (row?.['version'] !== logTree.version) return undefined;
    return new RecordedLeaves(reads, Number(row['position']));
  }

  /** Called with rising indexes of each log. */
  at(workspace: string, index: number): RecordedLeaf | undefined {
    let page = this.#pages.get(workspace);
    if (!page || index < page.from || index >= page.from + PAGE) {
      page = { from: index, leaves: this.#read(workspace, index) };
      this.#pages.set(workspace, page);
    }
    return page.leaves[index - page.from];
  }

  workspaces(): string[] {
    return this.reads
      .all('SELECT DISTINCT workspace FROM log_leaf ORDER BY workspace')
      .map((row) => row['workspace'] as string);
  }

  #read(workspace: string, from: number): readonly RecordedLeaf[] {
    const leaves: RecordedLeaf[] = [];
    for (const row of this.reads.all(
      'SELECT idx, position, hash FROM log_leaf WHERE workspace = ? AND idx >= ? AND idx < ? ORDER BY idx',
      workspace,
      from,
      from + PAGE,
    ))
      leaves[Number(row['idx']) - from] = {
        position: Number(row['position']),
        hash: String(row['hash']),
      };
    return leaves;
  }
}
