import type { Dirent } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { DocumentInput, INGEST_LIMITS } from '#decisions/contract-ingestion.js';
import type { Issue } from '#kernel/refusal.js';
import { unusable, type Failure } from './failure.js';

type Limits = Pick<typeof INGEST_LIMITS, 'documents' | 'textBytes' | 'totalBytes'>;

export interface Folder {
  /** Sorted by path. */
  documents: DocumentInput[];
  /** Markdown behind symbolic links, which are not followed. */
  links: string[];
}

interface Found {
  path: string;
  file: string;
}

const MARKDOWN = /\.(?:md|markdown)$/i;
const NOT_READ = 'hidden files and folders, node_modules and symbolic links are not read';

/**
 * Every Markdown file below a folder, as text. Refused as a whole, naming each file that is in the way: nothing half-read is ever sent,
 * and no file is read before all sizes are known to be within the limits.
 */
export async function readFolder(folder: string, limits: Limits): Promise<Folder> {
  await assertFolder(folder);
  const { files, links } = await markdownBelow(folder, limits.documents);
  if (files.length === 0)
    throw unusable('no_documents', `${folder} holds no Markdown`, {
      path: folder,
      fix: `give the folder that holds the *.md or *.markdown files; ${NOT_READ}`,
    });
  await assertSizes(folder, files, limits);
  const broken: Issue[] = [];
  const documents: DocumentInput[] = [];
  for (const { path, file } of files) {
    const bytes = await orRefuse(path, readFile(file));
    const offset = firstBrokenByte(bytes);
    if (offset === undefined) documents.push({ path, text: bytes.toString('utf8') });
    else broken.push({ path, problem: `is not UTF-8 at byte ${offset}${guess(bytes)}` });
  }
  if (broken.length > 0) throw several('invalid_encoding', broken, 'save the file as UTF-8');
  return { documents, links };
}

async function assertFolder(folder: string): Promise<void> {
  const found = await stat(folder).catch((error: unknown) => {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'ENOTDIR') throw unreadable(folder, error);
    throw unusable('no_such_folder', `${folder} does not exist`, {
      path: folder,
      fix: 'give the folder that holds the decision records, for example docs/adr',
    });
  });
  if (found.isDirectory()) return;
  throw unusable('not_a_folder', `${folder} is not a folder`, {
    path: folder,
    fix: 'give the folder that holds it',
  });
}

async function markdownBelow(
  folder: string,
  most: number,
): Promise<{ files: Found[]; links: string[] }> {
  const files: Found[] = [];
  const links: string[] = [];
  const waiting = [''];
  for (let below = waiting.pop(); below !== undefined; below = waiting.pop()) {
    const listed = readdir(join(folder, below), { withFileTypes: true });
    for (const entry of await orRefuse(below === '' ? folder : below, listed)) {
      const path = below === '' ? entry.name : `${below}/${entry.name}`;
      const kind = kindOf(entry);
      if (kind === 'folder') waiting.push(path);
      // Some systems decompose names: the same folder must bear the same paths on all of them.
      if (kind === 'link') links.push(path.normalize('NFC'));
      if (kind === 'file') files.push({ path: path.normalize('NFC'), file: join(folder, path) });
    }
    // A wrong folder may hold millions: it is left as soon as it is known to be too much.
    if (files.length > most) throw tooMany(folder, most);
  }
  return { files: files.sort(byPath), links: links.sort() };
}

function kindOf(entry: Dirent): 'folder' | 'file' | 'link' | undefined {
  if (entry.name.startsWith('.') || entry.name === 'node_modules') return undefined;
  if (entry.isDirectory()) return 'folder';
  if (!MARKDOWN.test(entry.name)) return undefined;
  if (entry.isSymbolicLink()) return 'link';
  return entry.isFile() ? 'file' : undefined;
}

/** By code unit: the same order on every machine. */
function byPath(a: Found, b: Found): number {
  return a.path < b.path ? -1 : 1;
}

async function assertSizes(folder: string, files: readonly Found[], limits: Limits): Promise<void> {
  const large: Issue[] = [];
  let total = 0;
  for (const { path, file } of files) {
    const { size } = await orRefuse(path, stat(file));
    total += size;
    if (size > limits.textBytes)
      large.push({ path, problem: `has ${size} bytes; at most ${limits.textBytes} are taken` });
  }
  if (large.length > 0)
    throw several('text_too_large', large, 'split the file, or move it out of the folder');
  if (total > limits.totalBytes)
    throw unusable(
      'folder_too_large',
      `${folder} holds ${total} bytes of Markdown; at most ${limits.totalBytes} are taken at once`,
      { path: folder, fix: 'ingest its folders one by one, each as a collection of its own' },
    );
}

function tooMany(folder: string, most: number): Failure {
  return unusable('too_many_documents', `${folder} holds more than ${most} Markdown files`, {
    path: folder,
    fix: `is it the right folder? At most ${most} are taken at once`,
  });
}

function several(error: string, issues: readonly Issue[], fix: string): Failure {
  const [first = { path: '', problem: '' }, ...more] = issues;
  const others = more.length > 0 ? ` (and ${more.length} more)` : '';
  return unusable(error, `${first.path} ${first.problem}${others}`, {
    path: first.path,
    issues: more.length > 0 ? [...issues] : [],
    fix,
  });
}

async function orRefuse<T>(path: string, reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    throw unreadable(path, error);
  }
}

function unreadable(path: string, error: unknown): Failure {
  const { code, message } = error as NodeJS.ErrnoException;
  return unusable('unreadable_file', `${path} cannot be read (${code ?? message})`, {
    path,
    fix: 'make it readable, or move it out of the folder',
  });
}

const REPLACEMENT = Buffer.from('\ufffd');

/** Offset of the first byte that is no part of well-formed UTF-8. */
export function firstBrokenByte(bytes: Buffer): number | undefined {
  const text = bytes.toString('utf8');
  let offset = 0;
  let from = 0;
  for (;;) {
    const at = text.indexOf('\ufffd', from);
    if (at === -1) return undefined;
    offset += Buffer.byteLength(text.slice(from, at));
    // The character that stands for broken bytes may also be written out, and then is as good as any.
    if (!bytes.subarray(offset, offset + REPLACEMENT.length).equals(REPLACEMENT)) return offset;
    offset += REPLACEMENT.length;
    from = at + 1;
  }
}

function guess(bytes: Buffer): string {
  const [first, second] = bytes;
  const marked = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  return marked ? ' (it looks like UTF-16)' : '';
}
