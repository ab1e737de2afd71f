import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { FetchResource } from '#transparency/log-reader.js';
import { encodeTile, parseTilePath, TILE_HEIGHT, TILE_WIDTH } from '#transparency/tile.js';
import { findServer, type Connection } from './connection.js';
import { EXIT, Failure, unusable } from './failure.js';
import { interruption } from './interruption.js';
import { onLedger } from './ledger.js';
import type { SignedLog } from './signed-log.js';
import { openSource } from './source.js';

/**
 * Runs `work` on a log as C2SP tlog-tiles lays it out: below a URL, in a folder that holds `checkpoint` and `tile`, or as the data folder
 * of a ledger has it (there `workspace` says whose, where it has several).
 */
export async function onLog<T>(
  location: string,
  workspace: string | undefined,
  work: (fetch: FetchResource) => Promise<T>,
): Promise<T> {
  if (/^https?:\/\//i.test(location)) return work(await overHttp(location));
  const folder = resolve(location);
  if (existsSync(join(folder, 'checkpoint'))) return work(inFolder(folder));
  if (existsSync(join(folder, 'ledger.sqlite'))) return inLedger(folder, workspace, work);
  throw unusable('no_log', `${location} is no log`, {
    path: 'log',
    fix: 'give the URL of a log, a folder with a file "checkpoint" and a folder "tile", or the data folder of a ledger',
  });
}

function inFolder(folder: string): FetchResource {
  return async (path) => {
    try {
      return await readFile(join(folder, path));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw new Failure(EXIT.unreachable, {
        error: 'unreadable_file',
        message: `${join(folder, path)} cannot be read: ${(error as Error).message}`,
        fix: 'see that the folder may be read',
      });
    }
  };
}

function inLedger<T>(
  data: string,
  given: string | undefined,
  work: (fetch: FetchResource) => Promise<T>,
): Promise<T> {
  return onLedger('ledger', async () => {
    const source = await openSource({ data });
    try {
      const { onTrees } = await import('./signed-log.js');
      return await onTrees(source, (logs) => work(ofLog(logs.chosen(given))));
    } finally {
      await source.close();
    }
  });
}

function ofLog(log: SignedLog): FetchResource {
  return (path) => {
    if (path === 'checkpoint') {
      const note = log.newest();
      return Promise.resolve(note === undefined ? undefined : Buffer.from(note));
    }
    const tile = parseTilePath(path);
    if (!tile || tile.level === 'entries') return Promise.resolve(undefined);
    const { level, index, width } = tile;
    const hashes = Array.from({ length: width }, (_, i) =>
      log.read(level * TILE_HEIGHT, index * TILE_WIDTH + i),
    );
    return Promise.resolve(encodeTile(hashes));
  };
}

/** Milliseconds until a silent log counts as unreachable. */
const PATIENCE = 60_000;
/** A full entry bundle is smaller. */
const BYTES_MAX = 17_000_000;

async function overHttp(prefix: string): Promise<FetchResource> {
  const base = prefix.replace(/\/+$/, '');
  const server = await ownServer(base);
  const headers = server ? { authorization: `Bearer ${server.key}` } : undefined;
  return async (path) => {
    const address = `${base}/${path}`;
    const signal = AbortSignal.any([interruption, AbortSignal.timeout(PATIENCE)]);
    let response: Response;
    try {
      // A redirect could carry the key elsewhere.
      response = await fetch(address, { ...(headers && { headers }), signal, redirect: 'error' });
      if (response.ok) return await bytesOf(response, address);
    } catch (error) {
      throw error instanceof Failure ? error : unreachable(address, error);
    }
    if (response.status === 404) return undefined;
    throw refused(address, response.status, server);
  };
}

async function bytesOf(response: Response, address: string): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    length += part.length;
    if (length > BYTES_MAX) throw unreachable(address, new Error(`more than ${BYTES_MAX} bytes`));
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/** The configured server where the log is one of its: its key is shown to nobody else. */
async function ownServer(base: string): Promise<Connection | undefined> {
  try {
    const server = await findServer();
    return base === server.url || base.startsWith(`${server.url}/`) ? server : undefined;
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}

function refused(address: string, status: number, server: Connection | undefined): Failure {
  const unauthorised = status === 401 || status === 403;
  return new Failure(unauthorised ? EXIT.notAuthorised : EXIT.unreachable, {
    error: unauthorised ? 'unauthorised' : 'unreadable_reply',
    message: `${address} answered HTTP ${status}`,
    fix: unauthorised
      ? server
        ? `the key came from ${server.keyFrom}: set PRECEDENT_KEY to a key of this server`
        : 'set PRECEDENT_URL and PRECEDENT_KEY to this server and a key of it'
      : 'give the prefix of the log, below which it has "checkpoint", as …/v1/log',
  });
}

function unreachable(address: string, error: unknown): Failure {
  if (interruption.aborted)
    return new Failure(EXIT.interrupted, { error: 'interrupted', message: 'interrupted' });
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return new Failure(EXIT.unreachable, {
    error: 'unreachable',
    message: `${address} cannot be read (${cause instanceof Error ? cause.message : String(cause)})`,
    fix: 'see that the server runs and that the address is right',
  });
}
