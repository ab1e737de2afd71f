import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Refusal } from '#kernel/refusal.js';
import type { LogKeys } from '#ledger/module.js';
import { createFile, replaceFile } from './durable-file.js';
import type { Settings } from './settings.js';

const KEY_FILE = 'log-key.pem';
const PUBLIC_FILE = 'log-keys.txt';

type Needs = Pick<Settings, 'LOG_NAME' | 'LOG_KEY' | 'EVENTSTORE' | 'DATA'>;

/**
 * The keys that sign the log: from the file that the setting names, or from one in the data folder, which the first start writes and
 * which is durable before anything is signed. None where servers share a ledger and no setting gives them the same one.
 */
export async function logKeysFor(settings: Needs): Promise<LogKeys> {
  const { LOG_NAME: name, LOG_KEY: given, DATA: dir } = settings;
  if (given !== undefined) return { name, held: await fromFile(given), publish: publisher(dir) };
  switch (settings.EVENTSTORE) {
    case 'memory:':
      return inMemory(name);
    case 'sqlite:':
      return inFolder(name, dir);
    default:
      return { name, held: [], publish: publisher(dir) };
  }
}

function inMemory(name: string): LogKeys {
  const held = [newKey()];
  return {
    name,
    held,
    renew: () => {
      held.unshift(newKey());
      return Promise.resolve();
    },
    forgetFormer: () => {
      held.length = 1;
      return Promise.resolve();
    },
    publish: () => Promise.resolve(),
  };
}

async function inFolder(name: string, dir: string): Promise<LogKeys> {
  const path = join(dir, KEY_FILE);
  const held = await fromFile(path).catch(async (error: unknown) => {
    if (!(error instanceof Refusal) || error.error !== 'no_log_key_file') throw error;
    await createFile(path, pemOf([newKey()]));
    return fromFile(path);
  });
  return {
    name,
    held,
    // On the disk first: a key that signed anything is never lost to a crash.
    renew: async () => {
      const next = newKey();
      await replaceFile(path, pemOf([next, ...held]), 0o600);
      held.unshift(next);
    },
    forgetFormer: async () => {
      await replaceFile(path, pemOf(held.slice(0, 1)), 0o600);
      held.length = 1;
    },
    publish: publisher(dir),
  };
}

function publisher(dir: string): LogKeys['publish'] {
  return (vkeys) => replaceFile(join(dir, PUBLIC_FILE), vkeys.map((v) => `${v}\n`).join(''), 0o644);
}

function newKey(): KeyObject {
  return generateKeyPairSync('ed25519').privateKey;
}

function pemOf(keys: readonly KeyObject[]): string {
  return keys.map((key) => key.export({ type: 'pkcs8', format: 'pem' }).toString()).join('');
}

const BLOCK = /-----BEGIN PRIVATE KEY-----[^-]+-----END PRIVATE KEY-----/g;

/** One key or several, the one to sign with first. */
async function fromFile(path: string): Promise<KeyObject[]> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw unusable('no_log_key_file', `${path} is not there`);
  }
  const keys = (text.match(BLOCK) ?? []).map((block) => {
    try {
      return createPrivateKey(block);
    } catch {
      throw unusable('invalid_log_key', `${path} holds a key that cannot be read`);
    }
  });
  if (keys.length > 0 && keys.every((key) => key.asymmetricKeyType === 'ed25519')) return keys;
  throw unusable('invalid_log_key', `${path} holds no Ed25519 key`);
}

function unusable(error: string, problem: string): Refusal {
  return new Refusal('invalid', error, problem, {
    path: 'PRECEDENT_LOG_KEY',
    issues: [{ path: 'PRECEDENT_LOG_KEY', problem }],
    fix: 'put the right file there; "openssl genpkey -algorithm ed25519" makes a new key',
  });
}
