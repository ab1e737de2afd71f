import { expect } from '@jest/globals';
import { rmSync } from 'node:fs';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { TestApplication, type Reply } from './application.js';
import { Browser, CALLBACK, type OAuthClient } from './oauth.js';

export const PASSWORD = 'correct horse battery';
export const NATIVE = 'precedent-native';

export interface Place {
  server: TestApplication;
  url: string;
}
export type Any = Record<string, unknown>;

export async function listen(settings: Record<string, string> = {}): Promise<Place> {
  const server = await TestApplication.start({ PRECEDENT_PORT: '0', ...settings });
  await server.application.app.listen(0, '127.0.0.1');
  return { server, url: server.application.base() };
}

export async function done(place: Place | undefined): Promise<void> {
  await place?.server.close();
  if (place) rmSync(place.server.dir, { recursive: true, force: true });
}

export function post(place: Place, path: string, body: object, key?: string): Promise<Reply<Any>> {
  return place.server.call<Any>('POST', `/v1/${path}`, body, key);
}

/** A person with an account of the server, as an owner and the person go through it. */
export async function personWithAccount(
  place: Place,
  name: string,
  login: string,
): Promise<string> {
  const { body: made } = await post(place, 'principals', { name, kind: 'person' });
  const principal = made['principal'] as string;
  const joined = await post(place, 'members', { principal, role: 'member' });
  expect(joined.status).toBe(201);
  const invited = await post(place, 'accounts/invitations', { principal, login });
  expect([invited.status, invited.body['login']]).toEqual([201, login.toLowerCase()]);
  const browser = new Browser();
  const page = await browser.open(invited.body['url'] as string, CALLBACK);
  expect(page.html).toContain('New password');
  const set = await browser.submit(page, CALLBACK, { password: PASSWORD, again: PASSWORD });
  expect(set.html).toContain('You can sign in now');
  return principal;
}

/** Asks for a tool until the server sends the client to sign in. */
export async function challenged(
  place: Place,
  as: OAuthClient,
): Promise<StreamableHTTPClientTransport> {
  const transport = new StreamableHTTPClientTransport(new URL(`${place.url}/mcp`), {
    authProvider: as,
  });
  await expect(new Client({ name: 't', version: '1' }).connect(transport)).rejects.toThrow(
    /Unauthorized/,
  );
  return transport;
}

export async function contextAs(
  place: Place,
  as: OAuthClient,
): Promise<{ tools: string[]; seen: Reply<Any> }> {
  const client = new Client({ name: 'oauth-tests', version: '1' });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${place.url}/mcp`), { authProvider: as }),
  );
  const { tools } = await client.listTools();
  await client.close();
  const token = as.accessToken;
  const seen = await place.server.call<Any>('GET', '/v1/workspace/settings', undefined, token);
  return { tools: tools.map((t) => t.name), seen };
}

export async function signIn(
  browser: Browser,
  start: URL,
  login: string,
  password = PASSWORD,
  more: Record<string, string> = {},
) {
  let page = await browser.open(start.href, CALLBACK);
  if (page.html.includes('Sign in</h1>'))
    page = await browser.submit(page, CALLBACK, { login, password });
  if (page.html.includes('Allow access?'))
    page = await browser.submit(page, CALLBACK, { decision: 'allow', ...more });
  return page;
}
