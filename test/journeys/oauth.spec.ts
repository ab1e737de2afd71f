import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeJwt, decodeProtectedHeader, importJWK, SignJWT, type JWK } from 'jose';
import { Browser, CALLBACK, OAuthClient } from '../support/oauth.js';
import {
  NATIVE,
  PASSWORD,
  challenged,
  contextAs,
  done,
  listen,
  personWithAccount,
  post,
  signIn,
  type Any,
  type Place,
} from '../support/oauth-people.js';

describe('people with accounts of the server', () => {
  let place: Place;
  let anna: string;

  beforeAll(async () => {
    place = await listen();
    anna = await personWithAccount(place, 'Anna', 'Anna@Example.com');
  });
  afterAll(() => done(place));

  it('an MCP client finds its way from the 401 to a tool: metadata, sign-in, consent, code with PKCE, token', async () => {
    const client = new OAuthClient({ clientId: NATIVE });
    const transport = await challenged(place, client);
    const asked = client.start;
    expect(asked.origin).toBe(place.url);
    expect(Object.fromEntries(asked.searchParams)).toMatchObject({
      response_type: 'code',
      code_challenge_method: 'S256',
      resource: `${place.url}/mcp`,
      scope: expect.stringContaining('precedent'),
    });
    const back = await signIn(new Browser(), asked, 'anna@example.com');
    expect(back.url).toMatch(/^http:\/\/127\.0\.0\.1:43210\/callback\?code=/);
    await transport.finishAuth(new URL(back.url).searchParams);

    const token = client.accessToken;
    expect(decodeProtectedHeader(token)).toMatchObject({ alg: 'ES256', typ: 'at+jwt' });
    expect(decodeJwt(token)).toMatchObject({ iss: place.url, aud: `${place.url}/mcp` });
    const { tools, seen } = await contextAs(place, client);
    expect(tools).toContain('resolve_decision_state');
    expect(seen.status).toBe(200);
    // What she writes is hers, whoever the client is.
    const receipt = await place.server.ingest(
      {
        request_id: 'by-anna',
        source: { title: 'Note', type: 'note', text: 'We use PostgreSQL.' },
        records: [
          {
            topic: 'database',
            statement: 'PostgreSQL',
            status: 'candidate',
            evidence: [{ quote: 'PostgreSQL' }],
          },
        ],
      },
      token,
    );
    expect(receipt['status']).toBe('completed');
    expect(anna).not.toBe('owner');
  });

  it('a refresh token works once; used again, it ends the whole grant', async () => {
    const client = new OAuthClient({ clientId: NATIVE });
    const transport = await challenged(place, client);
    const back = await signIn(new Browser(), client.start, 'anna@example.com');
    await transport.finishAuth(new URL(back.url).searchParams);
    const first = client.refreshToken;
    const refresh = async (token: string) => {
      const response = await fetch(`${place.url}/oauth/token`, {
        method: 'POST',
        body: new URLSearchParams({
          grant_type: 'refresh_token',
          refresh_token: token,
          client_id: NATIVE,
        }),
      });
      return { status: response.status, body: (await response.json()) as Any };
    };
    const second = await refresh(first);
    expect(second.status).toBe(200);
    expect(second.body['refresh_token']).not.toBe(first);
    expect((await refresh(first)).body).toMatchObject({ error: 'invalid_grant' });
    expect((await refresh(second.body['refresh_token'] as string)).body).toMatchObject({
      error: 'invalid_grant',
    });
  });

  it('a wrong password, an unknown name and a used link are refused alike, with nothing said of which', async () => {
    const client = new OAuthClient({ clientId: NATIVE });
    await challenged(place, client);
    const browser = new Browser();
    const page = await browser.open(client.start.href, CALLBACK);
    const wrong = await browser.submit(page, CALLBACK, {
      login: 'anna@example.com',
      password: 'wrong password 1',
    });
    const nobody = await browser.submit(page, CALLBACK, {
      login: 'nobody@example.com',
      password: PASSWORD,
    });
    expect([wrong.status, nobody.status]).toEqual([401, 401]);
    const said = (html: string): string | undefined => /role="alert">([^<]*)</.exec(html)?.[1];
    expect(said(wrong.html)).toBe(said(nobody.html));
  });

  it('the sign-in page is inert, belongs to one browser and takes no form of another page', async () => {
    const client = new OAuthClient({ clientId: NATIVE });
    await challenged(place, client);
    const browser = new Browser();
    const page = await browser.open(client.start.href, CALLBACK);
    const policy = page.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(page.html).not.toMatch(/<script|javascript:|onclick/i);
    expect(page.html).toMatch(/<html lang="en">[^]*<label for="login">[^]*<label for="password">/);
    // Another browser, with the same link: no cookie, no sign-in.
    const thief = await new Browser().submit(page, CALLBACK, {
      login: 'anna@example.com',
      password: PASSWORD,
    });
    expect([thief.status, thief.html]).toEqual([400, expect.stringContaining('begin again')]);
    const action = /action="([^"]*)"/.exec(page.html)![1]!;
    const forged = await fetch(new URL(action, page.url), {
      method: 'POST',
      headers: {
        origin: 'https://evil.example',
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: 'login=anna&password=x',
    });
    expect(forged.status).toBe(403);
  });

  it('without PKCE, with the plain method or for another server no code is given', async () => {
    const client = new OAuthClient({ clientId: NATIVE });
    await challenged(place, client);
    const changed = async (change: (url: URL) => void): Promise<string> => {
      const url = new URL(client.start);
      change(url);
      const page = await new Browser().open(url.href, CALLBACK);
      return page.url.startsWith(CALLBACK)
        ? (new URL(page.url).searchParams.get('error') ?? '')
        : String(page.status);
    };
    expect(await changed((u) => u.searchParams.delete('code_challenge'))).toBe('invalid_request');
    expect(await changed((u) => u.searchParams.set('code_challenge_method', 'plain'))).toBe(
      'invalid_request',
    );
    expect(await changed((u) => u.searchParams.set('resource', 'https://other.example/mcp'))).toBe(
      'invalid_target',
    );
    // To an address that is not the client's nothing is sent at all.
    expect(await changed((u) => u.searchParams.set('redirect_uri', 'https://evil.example/'))).toBe(
      '400',
    );
    expect(await changed((u) => u.searchParams.set('client_id', 'nobody'))).toBe('400');
    // Nor does the server fetch what is in its own network.
    const inside = `https://127.0.0.1:${new URL(place.url).port}/client.json`;
    expect(await changed((u) => u.searchParams.set('client_id', inside))).toBe('400');
  });

  it('a client that asks for no scope gets the one that there is', async () => {
    const client = new OAuthClient({ clientId: NATIVE });
    const transport = await challenged(place, client);
    const url = new URL(client.start);
    url.searchParams.delete('scope');
    const back = await signIn(new Browser(), url, 'anna@example.com');
    await transport.finishAuth(new URL(back.url).searchParams);
    expect((await contextAs(place, client)).seen.status).toBe(200);
  });

  it('refusing consent gives no code', async () => {
    const client = new OAuthClient({ clientId: NATIVE });
    await challenged(place, client);
    const browser = new Browser();
    let page = await browser.open(client.start.href, CALLBACK);
    page = await browser.submit(page, CALLBACK, { login: 'anna@example.com', password: PASSWORD });
    expect(page.html).toContain('A program on your machine');
    const back = await browser.submit(page, CALLBACK, { decision: 'refuse' });
    expect(new URL(back.url).searchParams.get('error')).toBe('access_denied');
  });

  it('clients do not register themselves, unless the setting says so', async () => {
    const register = (at: Place) =>
      fetch(`${at.url}/oauth/register`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ redirect_uris: [CALLBACK], application_type: 'native' }),
      });
    expect((await register(place)).status).toBe(404);
    const metadata = (await (
      await fetch(`${place.url}/.well-known/oauth-authorization-server`)
    ).json()) as Any;
    expect(metadata['registration_endpoint']).toBeUndefined();
    expect(metadata).toMatchObject({
      issuer: place.url,
      code_challenge_methods_supported: ['S256'],
      client_id_metadata_document_supported: true,
      authorization_response_iss_parameter_supported: true,
    });
    const open = await listen({ PRECEDENT_OIDC_REGISTRATION: 'on' });
    try {
      const made = await register(open);
      expect(made.status).toBe(201);
      expect(await made.json()).toMatchObject({ token_endpoint_auth_method: 'none' });
    } finally {
      await done(open);
    }
  });

  it('a new password ends what was signed in; links work once and for one account', async () => {
    const bert = await personWithAccount(place, 'Bert', 'bert');
    const client = new OAuthClient({ clientId: NATIVE });
    const transport = await challenged(place, client);
    const back = await signIn(new Browser(), client.start, 'bert');
    await transport.finishAuth(new URL(back.url).searchParams);
    const { body } = await post(place, 'accounts/invitations', { principal: bert, login: 'bert' });
    const browser = new Browser();
    const page = await browser.open(body['url'] as string, CALLBACK);
    const short = await browser.submit(page, CALLBACK, { password: 'short', again: 'short' });
    expect([short.status, short.html]).toEqual([400, expect.stringContaining('fewer than 12')]);
    const differs = await browser.submit(page, CALLBACK, {
      password: PASSWORD,
      again: `${PASSWORD}!`,
    });
    expect(differs.html).toContain('differ');
    await browser.submit(page, CALLBACK, { password: `${PASSWORD} 2`, again: `${PASSWORD} 2` });
    expect((await browser.open(body['url'] as string, CALLBACK)).status).toBe(404);
    const refreshed = await fetch(`${place.url}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'refresh_token',
        refresh_token: client.refreshToken,
        client_id: NATIVE,
      }),
    });
    expect(((await refreshed.json()) as Any)['error']).toBe('invalid_grant');
    const taken = await post(place, 'accounts/invitations', {
      principal: bert,
      login: 'ANNA@example.com',
    });
    expect([taken.status, taken.body['error']]).toEqual([409, 'login_taken']);
  });

  it('only an owner of the organisation makes links; a deactivated person is out at once', async () => {
    const carl = await personWithAccount(place, 'Carl', 'carl');
    const client = new OAuthClient({ clientId: NATIVE });
    const transport = await challenged(place, client);
    const back = await signIn(new Browser(), client.start, 'carl');
    await transport.finishAuth(new URL(back.url).searchParams);
    const token = client.accessToken;
    const own = await post(
      place,
      'accounts/invitations',
      { principal: 'owner', login: 'x' },
      token,
    );
    expect(own.status).toBe(403);
    expect(
      (await place.server.call('GET', '/v1/workspace/settings', undefined, token)).status,
    ).toBe(200);
    const gone = await post(place, `principals/${carl}/deactivation`, { reason: 'left' });
    expect(gone.status).toBeLessThan(300);
    const after = await place.server.call<Any>('GET', '/v1/workspace/settings', undefined, token);
    expect([after.status, after.body['error']]).toEqual([401, 'unknown_person']);
  });

  it('ten wrong passwords lock the name for a while, whoever tries and from wherever', async () => {
    await personWithAccount(place, 'Dora', 'dora');
    const client = new OAuthClient({ clientId: NATIVE });
    await challenged(place, client);
    const browser = new Browser();
    const page = await browser.open(client.start.href, CALLBACK);
    const attempt = (password: string) =>
      browser.submit(page, CALLBACK, { login: 'dora', password });
    const statuses: number[] = [];
    for (let i = 0; i < 10; i++) statuses.push((await attempt(`wrong password ${i}`)).status);
    expect(statuses).toEqual(Array(10).fill(401));
    const locked = await attempt(PASSWORD);
    expect(locked.status).toBe(429);
    expect(Number(locked.headers.get('retry-after'))).toBeGreaterThan(0);
  });
});

describe('several workspaces, client documents and restarts', () => {
  const dir = mkdtempSync(join(tmpdir(), 'precedent-oauth-'));
  const settings = { PRECEDENT_EVENTSTORE: 'sqlite:', PRECEDENT_DATA: dir };
  let place: Place;

  beforeAll(async () => {
    place = await listen(settings);
  });
  afterAll(async () => {
    await done(place);
    rmSync(dir, { recursive: true, force: true });
  });

  it('keys and accounts are files of their owner alone; passwords and links are not in them, nor in the ledger', async () => {
    const principal = await personWithAccount(place, 'Edda', 'edda@example.com');
    const { body } = await post(place, 'accounts/invitations', {
      principal,
      login: 'edda@example.com',
    });
    const token = String(body['url']).split('/').at(-1)!;
    expect(statSync(join(dir, 'sign-in.keys.json')).mode & 0o777).toBe(0o600);
    expect(statSync(join(dir, 'sign-in.sqlite')).mode & 0o077).toBe(0);
    for (const file of [
      'sign-in.sqlite',
      'sign-in.sqlite-wal',
      'ledger.sqlite',
      'ledger.sqlite-wal',
      'read.sqlite',
    ]) {
      const bytes = readFileSync(join(dir, file));
      expect([file, bytes.includes(PASSWORD), bytes.includes(token)]).toEqual([file, false, false]);
      if (file.startsWith('ledger')) expect(bytes.includes('edda@example.com')).toBe(false);
    }
  });

  it('a client with a metadata document needs no registration; its document is untrusted', async () => {
    const metadataUrl = 'https://client.example/oauth/metadata.json';
    const original = globalThis.fetch;
    globalThis.fetch = async (input, init) =>
      input === metadataUrl
        ? Response.json({
            client_id: metadataUrl,
            client_name: '<script>alert(1)</script>\u202e client',
            redirect_uris: [CALLBACK],
            application_type: 'native',
          })
        : original(input, init);
    try {
      const client = new OAuthClient({ metadataUrl });
      const transport = await challenged(place, client);
      expect(client.start.searchParams.get('client_id')).toBe(metadataUrl);
      const browser = new Browser();
      let page = await browser.open(client.start.href, CALLBACK);
      page = await browser.submit(page, CALLBACK, {
        login: 'edda@example.com',
        password: PASSWORD,
      });
      expect(page.html).toContain('client.example');
      expect(page.html).toContain('&#60;script&#62;');
      expect(page.html).not.toContain('<script');
      expect(page.html).not.toContain('\u202e');
      const back = await browser.submit(page, CALLBACK, { decision: 'allow' });
      await transport.finishAuth(new URL(back.url).searchParams);
      expect((await contextAs(place, client)).tools).toContain('resolve_decision_state');
    } finally {
      globalThis.fetch = original;
    }
  });

  it('whoever belongs to two workspaces chooses one, and the token is for it alone', async () => {
    const principal = await personWithAccount(place, 'Fritz', 'fritz');
    const second = await post(place, 'workspaces', { name: 'Second' });
    expect(second.status).toBe(201);
    const workspace = second.body['workspace'] as string;
    const key = second.body['key'] as string;
    expect((await post(place, 'members', { principal, role: 'member' }, key)).status).toBe(201);
    const client = new OAuthClient({ clientId: NATIVE });
    const transport = await challenged(place, client);
    const browser = new Browser();
    const start = client.start.href;
    let page = await browser.open(start, CALLBACK);
    page = await browser.submit(page, CALLBACK, { login: 'fritz', password: PASSWORD });
    expect(page.html).toMatch(/<select id="workspace"[^]*Second/);
    const back = await browser.submit(page, CALLBACK, { decision: 'allow', workspace });
    await transport.finishAuth(new URL(back.url).searchParams);
    const token = client.accessToken;
    expect(decodeJwt(token)['precedent_workspace']).toBe(workspace);
    const seen = await place.server.call<Any>('GET', '/v1/workspace/settings', undefined, token);
    expect([seen.status, JSON.stringify(seen.body)]).toEqual([
      200,
      expect.stringContaining('Second'),
    ]);
  });

  it('after a restart on another port tokens and accounts still hold', async () => {
    const client = new OAuthClient({ clientId: NATIVE });
    const transport = await challenged(place, client);
    const back = await signIn(new Browser(), client.start, 'edda@example.com');
    await transport.finishAuth(new URL(back.url).searchParams);
    const kid = decodeProtectedHeader(client.accessToken).kid;
    await place.server.close();
    place = await listen(settings);
    const again = new OAuthClient({ clientId: NATIVE });
    const second = await challenged(place, again);
    const page = await signIn(new Browser(), again.start, 'edda@example.com');
    await second.finishAuth(new URL(page.url).searchParams);
    expect(decodeProtectedHeader(again.accessToken).kid).toBe(kid);
    expect((await contextAs(place, again)).seen.status).toBe(200);
  });

  it('B39: a workspace claim that names none is never taken for one that is not there', async () => {
    const keys = JSON.parse(readFileSync(join(dir, 'sign-in.keys.json'), 'utf8')) as {
      keys: JWK[];
    };
    const [jwk] = keys.keys;
    const client = new OAuthClient({ clientId: NATIVE });
    const transport = await challenged(place, client);
    const back = await signIn(new Browser(), client.start, 'edda@example.com');
    await transport.finishAuth(new URL(back.url).searchParams);
    const genuine = decodeJwt(client.accessToken);
    const forge = async (more: object) => {
      const token = await new SignJWT({ ...genuine, ...more })
        .setProtectedHeader({ alg: 'ES256', kid: jwk!.kid!, typ: 'at+jwt' })
        .sign(await importJWK(jwk!, 'ES256'));
      return place.server.call<Any>('GET', '/v1/workspace/settings', undefined, token);
    };
    expect((await forge({})).status).toBe(200);
    for (const claim of [null, '', [], {}, 0, ['main', 'other']])
      expect([claim, (await forge({ precedent_workspace: claim })).status]).toEqual([claim, 403]);
    const two = await forge({ precedent_workspace: 'main', scope: 'precedent workspace:other' });
    expect([two.status, two.body['error']]).toEqual([403, 'invalid_workspace']);
    const foreign = await forge({ precedent_workspace: 'not-hers' });
    expect([foreign.status, foreign.body['error']]).toEqual([403, 'not_a_member']);
    const named = await forge({ precedent_workspace: 'main', scope: 'precedent workspace:main' });
    expect(named.status).toBe(200);
    const bare = await forge({ scope: 'openid' });
    expect([bare.status, bare.body['error']]).toEqual([403, 'insufficient_scope']);
    expect(bare.headers['www-authenticate']).toMatch(
      /error="insufficient_scope".*scope="precedent".*resource_metadata="http/,
    );
  });
});
