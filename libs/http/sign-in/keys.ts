import { createHmac } from 'node:crypto';
import { open, readFile } from 'node:fs/promises';
import { createLocalJWKSet, exportJWK, generateKeyPair, type JWK } from 'jose';
import { Refusal } from '#kernel/refusal.js';
import type { ProviderKeys } from '../tokens.js';

export const SIGNATURE = 'ES256';

/** The private keys of this server's own provider. The first one signs; tokens of all of them are taken, so that a key can be replaced. */
export interface SigningKeys extends ProviderKeys {
  readonly jwks: { readonly keys: JWK[] };
  /** Secrets that sign cookies. */
  readonly cookies: readonly string[];
}

/** Reads the key set in `path`; makes one where the file is not there, readable by its owner alone. */
export async function signingKeys(path: string): Promise<SigningKeys> {
  return keysOf(await textOf(path), path);
}

async function textOf(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  const text = await newKeySet();
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  return text;
}

async function newKeySet(): Promise<string> {
  const { privateKey } = await generateKeyPair(SIGNATURE, { extractable: true });
  const jwk = await exportJWK(privateKey);
  const kid = createHmac('sha256', 'kid')
    .update(`${jwk.x}${jwk.y}`)
    .digest('base64url')
    .slice(0, 16);
  return `${JSON.stringify({ keys: [{ ...jwk, kid, use: 'sig', alg: SIGNATURE }] }, null, 2)}\n`;
}

function keysOf(text: string, path: string): SigningKeys {
  const keys = privateKeysIn(text, path);
  const open = keys.map(({ d: _private, ...rest }) => rest);
  return {
    jwks: { keys },
    cookies: keys.map(({ d = '' }) =>
      createHmac('sha256', d).update('cookies').digest('base64url'),
    ),
    find: createLocalJWKSet({ keys: open }),
    loaded: true,
  };
}

function privateKeysIn(text: string, path: string): JWK[] {
  let keys: unknown;
  try {
    keys = (JSON.parse(text) as { keys?: unknown }).keys;
  } catch {
    keys = undefined;
  }
  const good = (jwk: JWK): boolean =>
    jwk.kty === 'EC' &&
    jwk.crv === 'P-256' &&
    typeof jwk.d === 'string' &&
    typeof jwk.kid === 'string';
  if (Array.isArray(keys) && keys.length > 0 && (keys as JWK[]).every(good))
    return (keys as JWK[]).map((jwk) => ({ ...jwk, use: 'sig', alg: SIGNATURE }));
  throw new Refusal('invalid', 'invalid_keys', `${path} holds no private P-256 keys with a kid`, {
    path: 'PRECEDENT_OIDC_KEYS',
    fix: 'name a JSON Web Key Set, or move the file away: the next start makes a new one',
  });
}
