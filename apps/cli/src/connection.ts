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

/** From `PRECEDENT_URL` and `PRECEDENT_KEY`, else from the `client.json` that a server on this machine wrote into its data folder. */
export async function findServer(): Promise<Connection> {
  // Reading them loads a quarter of this program: help and wrong usage do without.
  const { commandLineSettings } = await import('./settings.js');
  const settings = commandLineSettings();
  const path = join(settings.DATA, 'client.json');
  const file = await readClientFile(settings.DATA);
  const url = given(settings.URL) ?? given(file?.url);
  if (url === undefined) throw noServer(path);
  const address = addressOf(url);
  const own = given(settings.KEY);
  if (own !== undefined) return { url: address, key: sendable(own), keyFrom: 'PRECEDENT_KEY' };
  // The key of one server is never shown to another.
  const same =
    file !== undefined && given(file.url) !== undefined && addressOf(file.url) === address;
  const key = same ? given(file.key) : undefined;
  if (key === undefined) throw noKey(address, path);
  return { url: address, key: sendable(key), keyFrom: path };
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
