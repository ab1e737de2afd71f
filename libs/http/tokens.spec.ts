import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK } from 'jose';
import { Refusal } from '#kernel/refusal.js';
import { identityOf, remoteKeys, type TokenRules } from './tokens.js';

const COOLDOWN_MS = 300;

/** A provider's discovery document and keys, which the test changes. */
class KeyServer {
  keys: JWK[] = [];
  fetched = 0;
  broken = false;
  issuer = '';
  readonly #server: Server = createServer((request, response) => {
    response.setHeader('content-type', 'application/json');
    if (this.broken) return response.writeHead(500).end('{}');
    if (request.url === '/.well-known/openid-configuration')
      return response.end(JSON.stringify({ issuer: this.issuer, jwks_uri: `${this.issuer}/keys` }));
    this.fetched += 1;
    return response.end(JSON.stringify({ keys: this.keys }));
  });

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    this.issuer = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

async function keyPair(kid: string): Promise<{ privateKey: CryptoKey; jwk: JWK }> {
  const { privateKey, publicKey } = await generateKeyPair('ES256');
  return { privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig' } };
}

describe('keys of a provider elsewhere', () => {
  const server = new KeyServer();
  let rules: TokenRules;

  beforeAll(async () => {
    await server.start();
    rules = { issuer: server.issuer, audiences: ['me'], scope: '', workspaceClaim: 'ws' };
  });
  afterAll(() => server.stop());

  const token = (key: CryptoKey, kid: string): Promise<string> =>
    new SignJWT({ sub: 'anna' })
      .setProtectedHeader({ alg: 'ES256', kid })
      .setIssuer(server.issuer)
      .setAudience('me')
      .setExpirationTime('5m')
      .sign(key);
  const open = () =>
    remoteKeys(server.issuer, undefined, { cooldownMs: COOLDOWN_MS, maxAgeMs: 60_000 });
  const refusalOf = async (work: Promise<unknown>): Promise<string> => {
    const error = await work.then(
      () => undefined,
      (e: unknown) => e,
    );
    return error instanceof Refusal ? `${error.kind} ${error.error}` : String(error);
  };

  it('a rotated key is found by itself, the withdrawn one ends, and a flood of unknown ones fetches nothing', async () => {
    const [one, two] = [await keyPair('one'), await keyPair('two')];
    server.keys = [one.jwk];
    const keys = open();
    expect(keys.loaded).toBe(false);
    expect(await identityOf(await token(one.privateKey, 'one'), rules, keys.find)).toEqual({
      issuer: server.issuer,
      subject: 'anna',
    });
    expect(keys.loaded).toBe(true);

    server.keys = [two.jwk];
    await delay(COOLDOWN_MS + 50);
    expect((await identityOf(await token(two.privateKey, 'two'), rules, keys.find)).subject).toBe(
      'anna',
    );
    expect(await refusalOf(identityOf(await token(one.privateKey, 'one'), rules, keys.find))).toBe(
      'unauthenticated invalid_token',
    );

    const before = server.fetched;
    const forged = await Promise.all(
      Array.from({ length: 200 }, (_, i) => token(one.privateKey, `k${i}`)),
    );
    const outcomes = await Promise.all(
      forged.map((t) => refusalOf(identityOf(t, rules, keys.find))),
    );
    expect(new Set(outcomes)).toEqual(new Set(['unauthenticated invalid_token']));
    expect(server.fetched - before).toBeLessThanOrEqual(1);
    process.stdout.write(`tokens: 200 unknown keys, ${server.fetched - before} fetches\n`);
  });

  it('a provider that fails is said to be away, and is asked again', async () => {
    const { privateKey, jwk } = await keyPair('three');
    server.keys = [jwk];
    server.broken = true;
    const keys = open();
    const mine = await token(privateKey, 'three');
    expect(await refusalOf(identityOf(mine, rules, keys.find))).toBe(
      'unavailable identity_provider_unreachable',
    );
    server.broken = false;
    expect((await identityOf(mine, rules, keys.find)).subject).toBe('anna');
  });

  it('a discovery document of another issuer is not believed', async () => {
    const keys = remoteKeys(server.issuer, undefined);
    const issuer = server.issuer;
    server.issuer = 'https://other.example';
    await expect(keys.load()).rejects.toThrow('another issuer');
    server.issuer = issuer;
  });
});
