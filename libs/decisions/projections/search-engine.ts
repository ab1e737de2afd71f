import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import type { TextName } from '#event-store/sealing.js';
import type { Reads } from '#projections/read-database.js';
import { QUOTE_MAX, sourceText } from '#sources/index.js';
import { clipped } from '../domain/document-text.js';
import { passage } from '../domain/ranking-excerpt.js';
import { feedAfter, type FeedRow } from './search.js';
import { WorkspaceIndex, type Near, type NearSource } from './search-index.js';
import { openedName } from './topics.js';

export interface SearchQuestion {
  workspace: string;
  question: string;
  most: { topics: number; sources: number };
  /** How long a question waits for what is not indexed yet. */
  patienceMs: number;
}

/** A source and the passage of it that is nearest to the question. */
export interface NearPassage extends NearSource {
  excerpt: string;
  /** UTF-16 offsets in the source. */
  start: number;
  end: number;
}

export interface Found {
  topics: Near['topics'];
  sources: NearPassage[];
  /** False while the index does not hold everything that is recorded. */
  complete: boolean;
}

export type SearchRequest =
  | ({ kind: 'near'; id: number } & SearchQuestion)
  | { kind: 'texts'; id: number; texts: (Uint8Array | undefined)[] | undefined }
  | { kind: 'close' };

export type SearchReply =
  | { kind: 'near'; id: number; near: Found }
  | { kind: 'failed'; id: number; reason: string }
  | { kind: 'texts'; id: number; hashes: string[] };

/** The search index reads this much of a text, in UTF-16 units (docs/architecture.md, limits). */
export const SEARCHED_OF_A_TEXT = 400_000;
/** Rows of the feed between two looks at what else there is to do. */
const SLICE = 500;
/** Texts kept for passages, in UTF-16 units. */
const KEPT = 8_000_000;

/** The store of texts does not answer: what is not indexed yet stays for the next question. */
export class TextsUnavailable extends Error {}

/** The search index of a whole ledger in memory. It reads on in the feed before each question. */
export class SearchEngine {
  private readonly workspaces = new Map<string, WorkspaceIndex>();
  private readonly kept = new Map<string, string>();
  private keptLength = 0;
  private position = 0;
  private reading: Promise<void> = Promise.resolve();

  constructor(
    private readonly reads: Reads,
    /** Stored bytes by their hash; rejects with `TextsUnavailable` where they cannot be had now. */
    private readonly blobs: (hashes: readonly string[]) => Promise<(Uint8Array | undefined)[]>,
    /** The text of stored bytes. */
    private readonly opened: (name: TextName, stored: Uint8Array) => Uint8Array | undefined = (
      _name,
      stored,
    ) => stored,
  ) {}

  async near(asked: SearchQuestion): Promise<Found> {
    const mine = this.reading.catch(() => undefined).then(() => this.readOn());
    this.reading = mine;
    const complete = await Promise.race([
      mine.then(() => true, unlessUnavailable),
      delay(asked.patienceMs, false, { ref: false }),
    ]);
    const index = this.workspaces.get(asked.workspace);
    if (!index) return { topics: [], sources: [], complete };
    const { topics, sources } = index.near(this.reads, asked.workspace, asked.question, asked.most);
    const weights = index.weigh(asked.question);
    const passages = await this.passages(asked.workspace, sources, weights).catch(
      unlessUnavailable,
    );
    return passages === false
      ? { topics, sources: [], complete: false }
      : { topics, sources: passages, complete };
  }

  /** Bytes held and documents indexed, for whoever measures. */
  get size(): { bytes: number; documents: number } {
    const all = [...this.workspaces.values()];
    return {
      bytes: all.reduce((n, w) => n + w.bytes, 0),
      documents: all.reduce((n, w) => n + w.documents.decisions + w.documents.sources, 0),
    };
  }

  private async readOn(): Promise<void> {
    for (;;) {
      const rows = feedAfter(this.reads, this.position, SLICE);
      if (rows.length === 0) return;
      const texts = await this.textsOf(rows);
      this.index(rows, texts);
      this.position = rows.at(-1)?.position ?? this.position;
      await nextTurn();
    }
  }

  private index(rows: readonly FeedRow[], texts: ReadonlyMap<string, string>): void {
    // Names that no claim has taken along yet, by workspace and topic.
    const names = new Map<string, { row: FeedRow; text: string[] }>();
    for (const row of rows) {
      const index = this.workspaceOf(row.workspace);
      const key = `${row.workspace}/${row.topic}`;
      switch (row.kind) {
        case 'names':
          names.set(key, { row, text: [...(names.get(key)?.text ?? []), row.text] });
          break;
        case 'claim':
          if (!index.full)
            index.addClaim(row, (names.get(key)?.text ?? [this.nameOf(row)]).join('\n'));
          names.delete(key);
          break;
        case 'source':
          if (!index.full) index.addSource(row, texts.get(row.ref) ?? '');
          break;
        case 'approved':
        case 'ended':
        case 'dropped':
          index.changeState(row.ref, row.kind);
          break;
      }
    }
    for (const { row, text } of names.values()) {
      const index = this.workspaceOf(row.workspace);
      if (!index.full) index.addNames(row, text.join('\n'));
    }
  }

  private workspaceOf(workspace: string): WorkspaceIndex {
    const known = this.workspaces.get(workspace);
    if (known) return known;
    const made = new WorkspaceIndex();
    this.workspaces.set(workspace, made);
    return made;
  }

  private nameOf({ workspace, topic }: FeedRow): string {
    return openedName(this.reads, workspace, topic) ?? '';
  }

  private async textsOf(rows: readonly FeedRow[]): Promise<Map<string, string>> {
    const wanted = rows
      .filter((row) => row.kind === 'source')
      .map((row) => ({ id: row.ref, name: this.textName(row.workspace, row.ref) }));
    if (wanted.length === 0) return new Map();
    const texts = await this.read(wanted.map((w) => w.name));
    return new Map(wanted.map(({ id }, i) => [id, texts[i] ?? '']));
  }

  private textName(workspace: string, source: string): TextName {
    return sourceText(this.reads, workspace, source) ?? { sha256: '' };
  }

  /** The part of each text that is searched; nothing of one that is erased. */
  private async read(names: readonly TextName[]): Promise<string[]> {
    const stored = await this.blobs(names.map(storedAs));
    return names.map((name, i) => {
      const bytes = stored[i];
      return decoded(bytes && this.opened(name, bytes));
    });
  }

  private async passages(
    workspace: string,
    found: readonly NearSource[],
    weights: ReadonlyMap<string, number>,
  ): Promise<NearPassage[]> {
    const names = found.map((f) => this.textName(workspace, f.source_id));
    const missing = names.filter((name) => !this.kept.has(storedAs(name)));
    const texts = missing.length === 0 ? [] : await this.read(missing);
    for (const [i, name] of missing.entries()) this.keep(storedAs(name), texts[i] ?? '');
    return found.map((source, i) => {
      const name = names[i];
      const text = (name && this.kept.get(storedAs(name))) ?? '';
      const { start, end } = passage(text, weights, QUOTE_MAX);
      return { ...source, excerpt: text.slice(start, end), start, end };
    });
  }

  private keep(hash: string, text: string): void {
    this.kept.set(hash, text);
    this.keptLength += text.length;
    for (const [oldest, dropped] of this.kept) {
      if (this.keptLength <= KEPT || oldest === hash) return;
      this.kept.delete(oldest);
      this.keptLength -= dropped.length;
    }
  }
}

function storedAs({ blob, sha256 }: TextName): string {
  return blob ?? sha256;
}

function unlessUnavailable(error: unknown): false {
  if (error instanceof TextsUnavailable) return false;
  throw error;
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** The part of a text that is searched. */
function decoded(bytes: Uint8Array | undefined): string {
  if (bytes === undefined) return '';
  return clipped(decoder.decode(bytes.subarray(0, SEARCHED_OF_A_TEXT * 3)), SEARCHED_OF_A_TEXT);
}
