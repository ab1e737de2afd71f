import { HASH_BYTES, type Hash } from './merkle.js';
import { ProofError } from './proof-error.js';

/** Hashes or entries in a full tile (C2SP tlog-tiles). */
export const TILE_WIDTH = 256;
/** Levels of the tree that one tile spans. */
export const TILE_HEIGHT = 8;
/** A record longer than this has no place in an entry bundle. */
export const ENTRY_MAX = 65_535;
const LENGTH = 2;
const LEVEL_MAX = 63;

export interface TileAddress {
  /** 0 has leaf hashes; each hash of a level above stands for a full tile of the one below. */
  level: number | 'entries';
  index: number;
  /** 1 to 256; less than 256 is a partial tile. */
  width: number;
}

/** `tile/0/x001/x234/067` or, partial, `tile/entries/000.p/12`: relative to the log's prefix. */
export function tilePath(level: number | 'entries', index: number, width = TILE_WIDTH): string {
  const digits = String(index);
  const padded = digits.padStart(Math.ceil(digits.length / 3) * 3, '0');
  const groups = padded.match(/\d{3}/g) ?? [];
  const last = groups.length - 1;
  const path = groups.map((group, i) => (i < last ? `x${group}` : group)).join('/');
  return `tile/${level}/${path}${width === TILE_WIDTH ? '' : `.p/${width}`}`;
}

const PATH = /^tile\/(0|[1-9]\d?|entries)\/((?:x\d{3}\/){0,5}\d{3})(?:\.p\/([1-9]\d{0,2}))?$/;

/** The reverse; undefined for a path that names no tile, also one that is spelled in another way than `tilePath` does. */
export function parseTilePath(path: string): TileAddress | undefined {
  const [, where, groups, partial] = PATH.exec(path) ?? [];
  if (where === undefined || groups === undefined) return undefined;
  const level = where === 'entries' ? where : Number(where);
  const index = Number(groups.replaceAll(/[x/]/g, ''));
  const width = partial === undefined ? TILE_WIDTH : Number(partial);
  if ((level !== 'entries' && level > LEVEL_MAX) || !Number.isSafeInteger(index)) return undefined;
  return tilePath(level, index, width) === path ? { level, index, width } : undefined;
}

/** How many hashes (entries) the tile has in a tree of `size` leaves; 0 where it does not exist. */
export function tileWidth(level: number | 'entries', index: number, size: number): number {
  const nodes = level === 'entries' ? size : Math.floor(size / TILE_WIDTH ** level);
  return Math.max(0, Math.min(TILE_WIDTH, nodes - index * TILE_WIDTH));
}

export function encodeTile(hashes: readonly Hash[]): Buffer {
  return Buffer.concat(hashes);
}

/** The hashes of a tile. Throws `ProofError` unless there are exactly `width`. */
export function decodeTile(bytes: Uint8Array, width: number): Hash[] {
  if (bytes.length !== width * HASH_BYTES)
    throw new ProofError('a tile has another length than its width asks for', {
      expected: `${width * HASH_BYTES} bytes`,
      found: `${bytes.length} bytes`,
    });
  return Array.from({ length: width }, (_, i) =>
    bytes.subarray(i * HASH_BYTES, (i + 1) * HASH_BYTES),
  );
}

/** An entry bundle: each record behind its length, two bytes, big-endian. Text is taken as UTF-8. */
export function encodeEntries(records: readonly (string | Uint8Array)[]): Buffer {
  const parts = records.flatMap((record) => {
    const bytes = typeof record === 'string' ? Buffer.from(record) : record;
    if (bytes.length > ENTRY_MAX)
      throw new Error(`a record of ${bytes.length} bytes has no place in an entry bundle`);
    const length = Buffer.alloc(LENGTH);
    length.writeUInt16BE(bytes.length);
    return [length, bytes];
  });
  return Buffer.concat(parts);
}

/** The records of an entry bundle. Throws `ProofError` where it is cut short. */
export function decodeEntries(bytes: Uint8Array): Uint8Array[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const records: Uint8Array[] = [];
  for (let at = 0; at < bytes.length;) {
    const start = at + LENGTH;
    const end = start > bytes.length ? Infinity : start + view.getUint16(at);
    if (end > bytes.length)
      throw new ProofError('an entry bundle ends inside a record', { found: `at byte ${at}` });
    records.push(bytes.subarray(start, end));
    at = end;
  }
  return records;
}
