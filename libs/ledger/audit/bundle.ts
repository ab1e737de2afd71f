import { createHash } from 'node:crypto';
import { closeSync, createReadStream, existsSync, fsyncSync, openSync } from 'node:fs';
import { readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Coverage } from '#event-store/ledger-check.js';
import { Refusal } from '#kernel/refusal.js';

// A bundle is a folder of text files with a ledger, or one workspace of it, for whoever leaves with it (docs/operations.md).

export const BUNDLE_SCHEMA = 'precedent.bundle/1';

export const BUNDLE_FILES = {
  manifest: 'manifest.json',
  events: 'events.ndjson',
  blobs: 'blobs.ndjson',
  checkpoints: 'checkpoints.ndjson',
  /** Verifier keys, one a line. */
  keys: 'log-keys.txt',
  /** Only where it was asked for: with it the sealed texts can be read. */
  textKeys: 'text-keys.ndjson',
} as const;

/** What an export that is under way goes on with. Gone once it is finished. */
export const STATE_FILE = '.export.json';

/** A line of `events.ndjson`: the event's stored texts, which are what was hashed. */
export interface BundledEvent {
  /** Of the ledger that was exported, in decimal. */
  position: string;
  header: string;
  payload: string;
}

export interface BundledBlob {
  hash: string;
  base64: string;
}

/** A line of `checkpoints.ndjson`. The same stands in the events; here it is at hand for other tools. */
export interface BundledCheckpoint {
  workspace: string;
  position: string;
  size: number;
  root: string;
  note: string;
}

export interface BundledLog {
  workspace: string;
  /** Null where nothing was ever signed. */
  origin: string | null;
  /** Leaves of the tree, and its root in base64, at the end of the bundle. */
  size: number;
  root: string;
  /** The key that signs; null as above. */
  vkey: string | null;
  /** Leaves under the last checkpoint. */
  signed_size: number;
}

export interface BundleManifest {
  schema: typeof BUNDLE_SCHEMA;
  tool: string;
  /** The one that was exported; null for all. */
  workspace: string | null;
  coverage: Omit<Coverage, 'last_position'> & { last_position: string };
  logs: BundledLog[];
  files: Record<string, { bytes: number; sha256: string }>;
}

/** Refuses `no_bundle` and `unfinished_bundle`; other texts in its place are damage, which the reader finds. */
export function readManifest(dir: string): BundleManifest {
  let text: string;
  try {
    text = readFileSync(join(dir, BUNDLE_FILES.manifest), 'utf8');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause;
    if (existsSync(join(dir, STATE_FILE)))
      throw new Refusal('unavailable', 'unfinished_bundle', `the export in ${dir} was cut short`, {
        fix: 'run the same "precedent export" again: it goes on where it was',
      });
    throw new Refusal('not_found', 'no_bundle', `there is no export in ${dir}`, {
      fix: 'give a folder that "precedent export" has written',
    });
  }
  const manifest = parsedManifest(text);
  if (manifest?.schema === BUNDLE_SCHEMA) return manifest;
  throw new Refusal('unavailable', 'not_a_bundle', `${dir} holds no export of this version`, {
    fix: 'give a folder that "precedent export" has finished',
  });
}

function parsedManifest(text: string): BundleManifest | undefined {
  try {
    const manifest = JSON.parse(text) as BundleManifest | null;
    const { coverage, files, logs } = manifest ?? {};
    const whole = typeof coverage === 'object' && typeof files === 'object' && Array.isArray(logs);
    return whole ? (manifest as BundleManifest) : undefined;
  } catch {
    return undefined;
  }
}

export interface Line {
  text: string;
  /** Bytes of the file up to and with this line. */
  end: number;
  /** False for a last line without its line feed. */
  whole: boolean;
}

const LINE_FEED = 0x0a;

/** The lines of a file of any length, and in the end the SHA-256 of all of it. */
export async function* linesOf(
  path: string,
): AsyncGenerator<Line, { bytes: number; sha256: string }> {
  const hash = createHash('sha256');
  let parts: Buffer[] = [];
  let end = 0;
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) {
    const bytes = chunk as Buffer;
    hash.update(bytes);
    let from = 0;
    for (let at = bytes.indexOf(LINE_FEED); at >= 0; at = bytes.indexOf(LINE_FEED, from)) {
      parts.push(bytes.subarray(from, at));
      const line = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
      parts = [];
      from = at + 1;
      end += line.length + 1;
      yield { text: line.toString(), end, whole: true };
    }
    if (from < bytes.length) parts.push(bytes.subarray(from));
  }
  const rest = Buffer.concat(parts);
  if (rest.length > 0) yield { text: rest.toString(), end: end + rest.length, whole: false };
  return { bytes: end + rest.length, sha256: hash.digest('hex') };
}

/** Writes lines at the end of a file, gathered. */
export class LineWriter {
  readonly #fd: number;
  #gathered: string[] = [];
  #chars = 0;

  constructor(path: string) {
    this.#fd = openSync(path, 'a', 0o600);
  }

  write(line: object): void {
    const text = JSON.stringify(line);
    this.#gathered.push(text, '\n');
    this.#chars += text.length;
    if (this.#chars > 1 << 20) this.flush();
  }

  flush(): void {
    const bytes = Buffer.from(this.#gathered.join(''));
    this.#gathered = [];
    this.#chars = 0;
    for (let at = 0; at < bytes.length;) at += writeSync(this.#fd, bytes, at);
  }

  /** Afterwards it is on the disk. */
  close(): void {
    this.flush();
    fsyncSync(this.#fd);
    closeSync(this.#fd);
  }

  /** As it is, without what was gathered. */
  abandon(): void {
    closeSync(this.#fd);
  }
}
