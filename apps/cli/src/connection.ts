import { join } from 'node:path';
import { readClientFile } from '../../server/src/client-file.js';
import { EXIT, Failure, unusable } from './failure.js';

/** The server to talk to and the key to show it. */
export interface Connection {
  /** Without a slash at its end. */
  url: string;
  key: string;
  /** Where the key came from, for the words of a refusal. */
  keyFrom: string;
}

/**
 * From `PRECEDENT_URL` and `PRECEDENT_KEY`, else from the `client.json` that a server on this machine wrote into its data folder. What is
 * given on the command line goes first.
 */
export async function findServer(on: { url?: string; data?: string } = {}): Promise<Connection> {
  // Reading them loads a quarter of this program: help and wrong usage do without.
  const { commandLineSettings } = await import('./settings.js');
  const { DATA, URL, KEY } = commandLineSettings();
  // Who names a folder means the server that wrote into it.
  const [named, own] = on.data === undefined ? [given(URL), given(KEY)] : [];
  const folder = on.data ?? DATA;
  const path = join(folder, 'client.json');
  const file = await readClientFile(folder);
  const url = given(on.url) ?? named ?? given(file?.url);
  if (url === undefined) throw noServer(path);
  const address = addressOf(url);
  if (own !== undefined) return { url: address, key: sendable(own), keyFrom: 'PRECEDENT_KEY' };
  const key = keyIn(file, address);
  if (key === undefined) throw noKey(address, path);
  return { url: address, key: sendable(key), keyFrom: path };
}

/** The key of one server is never shown to another. */
function keyIn(
  file: Awaited<ReturnType<typeof readClientFile>>,
  address: string,
): string | undefined {
  const same = given(file?.url) !== undefined && addressOf(file?.url ?? '') === address;
  return same ? given(file?.key) : undefined;
}

/** An empty variable is one that is not set; a file may hold anything. */
function given(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
}

/** A header carries no other characters; what is wrong with the key itself is for the server to say, to nobody else. */
function sendable(key: string): string {
  if (/^[!-~]+$/.test(key)) return key;
  throw unusable('invalid_key', 'the key holds characters that no key has', {
    path: 'PRECEDENT_KEY',
    fix: 'copy it whole, without spaces or quotation marks',
  });
}

function addressOf(text: string): string {
  const url = URL.parse(text);
  if (url && (url.protocol === 'http:' || url.protocol === 'https:'))
    return `${url.origin}${url.pathname}`.replace(/\/+$/, '');
  throw unusable('invalid_url', `"${text}" is no address of a server`, {
    path: 'PRECEDENT_URL',
    fix: 'give an address like http://127.0.0.1:4600',
  });
}

function noServer(path: string): Failure {
  return new Failure(EXIT.unreachable, {
    error: 'no_server',
    message: `no server is known: PRECEDENT_URL is not set and ${path} names none`,
    fix: 'start the server with "npm start", or set PRECEDENT_URL and PRECEDENT_KEY, or PRECEDENT_DATA to its data folder',
  });
}

function noKey(url: string, path: string): Failure {
  return new Failure(EXIT.notAuthorised, {
    error: 'no_key',
    message: `there is no key for ${url}: PRECEDENT_KEY is not set and ${path} has none for this address`,
    fix: 'set PRECEDENT_KEY to a key of this server',
  });
}
