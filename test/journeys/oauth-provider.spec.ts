import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SignJWT, type JWK } from 'jose';
import { Browser, CALLBACK, ForeignProvider, OAuthClient } from '../support/oauth.js';
import {
  challenged,
  contextAs,
  done,
  listen,
  post,
  type Any,
  type Place,
} from '../support/oauth-people.js';

describe('people of another provider', () => {
  let provider: ForeignProvider;
  let other: ForeignProvider;
  let place: Place;

  beforeAll(async () => {
    provider = await ForeignProvider.start();
    other = await ForeignProvider.start();
    place = await listen({ PRECEDENT_OIDC_ISSUER: provider.issuer });
    const identity = { issuer: provider.issuer, subject: 'gerda' };
    const { body } = await post(place, 'principals', { name: 'Gerda', kind: 'person', identity });
    await post(place, 'members', { principal: body['principal'], role: 'member' });
  });
  afterAll(async () => {
    await done(place);
    await provider.close();
    await other.close();
  });

  const call = (token: string) =>
    place.server.call<Any>('GET', '/v1/workspace/settings', undefined, token);

  it('RFC 9728: metadata at the root and at the suffixed address name the resource and the provider', async () => {
    for (const path of ['', '/mcp']) {
      const response = await fetch(`${place.url}/.well-known/oauth-protected-resource${path}`);
      expect(await response.json()).toMatchObject({
        resource: `${place.url}${path}`,
        authorization_servers: [provider.issuer],
        bearer_methods_supported: ['header'],
      });
    }
    const named = await fetch(
      `${place.url.replace('127.0.0.1', 'localhost')}/.well-known/oauth-protected-resource/mcp`,
    );
    expect(((await named.json()) as Any)['resource']).toBe(
      `${place.url.replace('127.0.0.1', 'localhost')}/mcp`,
    );
    const bare = await fetch(`${place.url}/mcp`, { method: 'POST' });
    expect([bare.status, bare.headers.get('www-authenticate')]).toEqual([
      401,
      `Bearer realm="precedent", resource_metadata="${place.url}/.well-known/oauth-protected-resource/mcp"`,
    ]);
    // Its own provider is not there.
    expect((await fetch(`${place.url}/oauth/authorize`)).status).toBe(404);
    const invited = await post(place, 'accounts/invitations', { principal: 'owner', login: 'x' });
    expect([invited.status, invited.body['error']]).toEqual([404, 'no_accounts']);
  });

  it('an MCP client signs in there and calls a tool here', async () => {
    const client = new OAuthClient({ clientId: 'a-client', scope: 'anything' });
    const transport = await challenged(place, client);
    const browser = new Browser();
    expect(client.start.origin).toBe(provider.issuer);
    let page = await browser.open(client.start.href, CALLBACK);
    page = await browser.submit(page, CALLBACK, {
      prompt: 'login',
      login: 'gerda',
      password: 'any',
    });
    page = await browser.submit(page, CALLBACK, { prompt: 'consent' });
    await transport.finishAuth(new URL(page.url).searchParams);
    const { tools, seen } = await contextAs(place, client);
    expect([tools.includes('resolve_decision_state'), seen.status]).toEqual([true, 200]);
  });

  it('refuses what is expired, too early, for another server, of another provider, of nobody, forged or unsigned', async () => {
    const gerda = { sub: 'gerda', aud: `${place.url}/mcp` };
    expect((await call(await provider.token(gerda))).status).toBe(200);
    const now = Math.floor(Date.now() / 1_000);
    const b64 = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const claims = { ...gerda, iss: provider.issuer, exp: now + 300 };
    const genuine = await provider.token(gerda);
    const [head, , signature] = genuine.split('.');
    const jwks = (await (await fetch(`${provider.issuer}/jwks`)).json()) as { keys: JWK[] };
    const shared = new TextEncoder().encode(JSON.stringify(jwks.keys[0]));
    const refused: Record<string, string> = {
      expired: await provider.token({ ...gerda, exp: now - 60 }),
      'too early': await provider.token({ ...gerda, nbf: now + 120 }),
      'without an end': await provider.token({ ...gerda, exp: undefined as never }),
      'for another server': await provider.token({ ...gerda, aud: 'https://other.example/mcp' }),
      'for nobody': await provider.token({ sub: 'gerda' }),
      'without a subject': await provider.token({ aud: gerda.aud }),
      'of another provider': await other.token({ ...gerda }),
      'of another provider in this one’s name': await other.token({
        ...gerda,
        iss: provider.issuer,
      }),
      'of a stranger': await provider.token({ ...gerda, sub: 'nobody' }),
      'with another key’s name': await provider.token(gerda, { kid: 'foreign-2' }),
      'alg none': `${b64({ alg: 'none', typ: 'at+jwt' })}.${b64(claims)}.`,
      'alg none with a signature': `${b64({ alg: 'none' })}.${b64(claims)}.${signature}`,
      'signed with the public key as a secret': await new SignJWT(claims)
        .setProtectedHeader({ alg: 'HS256', kid: 'foreign-1' })
        .sign(shared),
      'with other claims under a good signature': `${head}.${b64({ ...claims, sub: 'owner' })}.${signature}`,
      'not a token': 'eyJhbGciOiJSUzI1NiJ9.e30.x',
    };
    const before = await place.server.end();
    for (const [what, token] of Object.entries(refused))
      for (const url of ['/v1/workspace/settings', '/mcp']) {
        const response = await fetch(`${place.url}${url}`, {
          method: url === '/mcp' ? 'POST' : 'GET',
          headers: { authorization: `Bearer ${token}` },
        });
        const text = await response.text();
        expect([what, response.status, JSON.parse(text).error]).toEqual([
          what,
          401,
          what === 'of a stranger' ? 'unknown_person' : 'invalid_token',
        ]);
        expect(response.headers.get('www-authenticate')).toMatch(
          /^Bearer realm="precedent", error="invalid_token", error_description="[a-z ]+", resource_metadata="http/,
        );
        expect(text).not.toContain('gerda');
      }
    expect(await place.server.end()).toBe(before);
    process.stdout.write(
      `OAuth: ${Object.keys(refused).length} kinds of bad tokens refused at 2 doors\n`,
    );
  });

  it('an API key works beside it, and a provider that is down takes only people with it', async () => {
    const silent = await ForeignProvider.start();
    const { issuer } = silent;
    await silent.close();
    const cut = await listen({ PRECEDENT_OIDC_ISSUER: issuer });
    try {
      expect((await cut.server.call('GET', '/v1/workspace/settings')).status).toBe(200);
      const ready = await cut.server.call<Any>('GET', '/health/ready');
      expect([ready.status, ready.body['keys']]).toEqual([503, 'not_loaded']);
      const token = await new SignJWT({ iss: issuer, sub: 'x', aud: cut.url, exp: 9e9 })
        .setProtectedHeader({ alg: 'HS256' })
        .sign(new Uint8Array(32));
      expect(
        (await cut.server.call('GET', '/v1/workspace/settings', undefined, token)).status,
      ).toBe(401);
      const asked = await cut.server.call<Any>(
        'GET',
        '/v1/workspace/settings',
        undefined,
        await other.token({ iss: issuer, sub: 'x', aud: cut.url }),
      );
      expect([asked.status, asked.body['error']]).toEqual([503, 'identity_provider_unreachable']);
    } finally {
      await done(cut);
    }
  });
});
