import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type Provider from 'oidc-provider';
import { Refusal } from '#kernel/refusal.js';
import { part } from '../fastify.js';
import { attemptLimit } from '../rate-limit.js';
import type { Accounts } from './accounts.js';
import { consentOf, decideConsent, type Workspaces } from './consent.js';
import { consentForm, errorLine, html, loginForm, passwordForm, sendPage } from './pages.js';

export interface SignInParts {
  readonly accounts: Accounts;
  /** Made at its first use: it is large, and most processes never need it. */
  readonly provider: () => Promise<Provider>;
  readonly scope: string;
  /** Address of this server, without a slash at its end. */
  readonly base: () => string;
  /** Where the person of an account may act. */
  readonly workspacesOf: Workspaces;
}

const ENDPOINTS = ['authorize', 'authorize/*', 'token', 'jwks', 'register', 'revoke', 'par'];
const WELL_KNOWN = ['oauth-authorization-server', 'openid-configuration'];
/** Requests of one address to all of this in a minute: each may make the server fetch a client's document, or hash a password. */
const PER_MINUTE = 600;
const FORM_LIMIT = 16_384;
const MINUTES_MS = 60_000;
/**
 * Attempts to sign in, right ones too: under one name from anywhere, and under all from one address, which may be a proxy's. Counted
 * before the password is looked at: afterwards many at once would pass.
 */
const TRIES = { account: { max: 10, minutes: 15 }, address: { max: 300, minutes: 5 } };

/** Serves the provider's own endpoints, the pages on which people sign in and agree, and the one on which they set a password. */
export async function serveSignIn(fastify: FastifyInstance, parts: SignInParts): Promise<void> {
  const visits = attemptLimit(fastify, {
    max: PER_MINUTE,
    windowMs: MINUTES_MS,
    key: ({ ip }) => ip,
  });
  const notTooMany = async (request: FastifyRequest): Promise<void> => {
    const wait = await visits(request);
    if (wait > 0)
      throw new Refusal('rate_limited', 'rate_limited', 'too many requests', {
        fix: `wait ${wait} s`,
      });
  };
  await fastify.register(
    part('provider', async (scope) => {
      scope.addHook('onRequest', notTooMany);
      scope.removeAllContentTypeParsers();
      // The provider reads its own bodies.
      scope.addContentTypeParser('*', (_request, _body, done) => done(null));
      const hand = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
        const [raw, response] = taken(request, reply);
        if (request.method === 'GET') raw.url = scoped(raw.url ?? '', parts.scope);
        await asPublic(raw, parts.base(), async () =>
          (await parts.provider()).callback()(raw, response),
        );
      };
      for (const path of ENDPOINTS) scope.all(`/oauth/${path}`, hand);
      for (const name of WELL_KNOWN) scope.get(`/.well-known/${name}`, hand);
    }),
  );
  await fastify.register(
    part('sign-in pages', async (scope) => {
      scope.addHook('onRequest', notTooMany);
      scope.removeAllContentTypeParsers();
      scope.addContentTypeParser(
        'application/x-www-form-urlencoded',
        { parseAs: 'string', bodyLimit: FORM_LIMIT },
        (_request, body: string, done) => done(null, new URLSearchParams(body)),
      );
      interactionPages(scope, parts);
      invitationPages(scope, parts);
    }),
  );
}

/** A client that asks for no scope asks for the one that there is (RFC 6749, 3.3). */
function scoped(url: string, scope: string): string {
  const [path, query] = url.split('?');
  return path === '/oauth/authorize' && query && !/(?:^|&)(?:scope|request_uri)=/.test(query)
    ? `${url}&scope=${encodeURIComponent(scope)}`
    : url;
}

/** What a proxy says of the outside is not believed: the public address is known here. */
async function asPublic<T>(raw: IncomingMessage, base: string, work: () => Promise<T>): Promise<T> {
  const { host, protocol } = new URL(base);
  delete raw.headers['x-forwarded-host'];
  raw.headers.host = host;
  raw.headers['x-forwarded-proto'] = protocol.slice(0, -1);
  return work();
}

/** The raw exchange, with the headers that hooks have set; pages bring a policy of their own. */
function taken(request: FastifyRequest, reply: FastifyReply): [IncomingMessage, ServerResponse] {
  for (const [name, value] of Object.entries(reply.getHeaders()))
    if (value !== undefined && name !== 'content-security-policy') reply.raw.setHeader(name, value);
  reply.hijack();
  return [request.raw, reply.raw];
}

interface Interaction {
  Params: { uid: string };
}

function interactionPages(fastify: FastifyInstance, parts: SignInParts): void {
  const perAddress = attemptLimit(fastify, {
    max: TRIES.address.max,
    windowMs: TRIES.address.minutes * MINUTES_MS,
    key: ({ ip }) => ip,
  });
  const perAccount = attemptLimit(fastify, {
    max: TRIES.account.max,
    windowMs: TRIES.account.minutes * MINUTES_MS,
    key: (request) => fieldOf(request, 'login').normalize('NFKC').trim().toLowerCase(),
  });
  const tooMany = async (request: FastifyRequest): Promise<number> =>
    Math.max(await perAddress(request), await perAccount(request));

  fastify.get<Interaction>('/oauth/interaction/:uid', async (request, reply) => {
    const [raw, response] = taken(request, reply);
    await inInteraction(parts, raw, response, async (provider) => {
      const details = await provider.interactionDetails(raw, response);
      const action = `/oauth/interaction/${details.uid}`;
      if (details.prompt.name === 'login')
        return sendPage(response, 200, 'Sign in', loginForm(`${action}/login`));
      const consent = await consentOf(provider, details, parts);
      sendPage(response, 200, 'Allow access?', consentForm(`${action}/consent`, consent), [
        consent.formsTo,
      ]);
    });
  });

  fastify.post<Interaction>('/oauth/interaction/:uid/login', async (request, reply) => {
    const wait = await tooMany(request);
    const [login, password] = [fieldOf(request, 'login'), fieldOf(request, 'password')];
    const [raw, response] = taken(request, reply);
    await inInteraction(parts, raw, response, async (provider) => {
      const { uid } = await provider.interactionDetails(raw, response);
      const again = (status: number, error: string): void =>
        sendPage(
          response,
          status,
          'Sign in',
          loginForm(`/oauth/interaction/${uid}/login`, error, login),
        );
      if (wait > 0) {
        response.setHeader('retry-after', String(wait));
        return again(429, `Too many attempts. Try again in ${Math.ceil(wait / 60)} minutes.`);
      }
      const account = await parts.accounts.verify(login, password);
      if (!account) return again(401, 'Name and password do not belong together.');
      await provider.interactionFinished(raw, response, { login: { accountId: account.subject } });
    });
  });

  fastify.post<Interaction>('/oauth/interaction/:uid/consent', async (request, reply) => {
    const allowed = fieldOf(request, 'decision') === 'allow';
    const workspace = fieldOf(request, 'workspace');
    const [raw, response] = taken(request, reply);
    await inInteraction(parts, raw, response, async (provider) => {
      const details = await provider.interactionDetails(raw, response);
      const result = allowed
        ? await decideConsent(provider, details, parts, workspace)
        : { error: 'access_denied', error_description: 'the person refused' };
      await provider.interactionFinished(raw, response, result, { mergeWithLastSubmission: true });
    });
  });
}

/** Each step needs the cookie that this very sign-in began with: a form on another page has none (SameSite), nor does a stolen link. */
async function inInteraction(
  parts: SignInParts,
  raw: IncomingMessage,
  response: ServerResponse,
  work: (provider: Provider) => Promise<void>,
): Promise<void> {
  try {
    await asPublic(raw, parts.base(), async () => work(await parts.provider()));
  } catch (error) {
    if (!isOver(error)) throw error;
    const text = error instanceof Refusal ? error.message : 'This sign-in is over.';
    sendPage(
      response,
      400,
      'Please begin again',
      html`${errorLine(text)}
        <p>Go back to the program that sent you here.</p>`,
    );
  }
}

/** The provider's own class is not asked for: it would load all of it. */
function isOver(error: unknown): boolean {
  return error instanceof Refusal || (error instanceof Error && error.name === 'SessionNotFound');
}

interface Invitation {
  Params: { token: string };
}

function invitationPages(fastify: FastifyInstance, { accounts }: SignInParts): void {
  const url = '/oauth/invitation/:token';
  const over = (response: ServerResponse): void =>
    sendPage(
      response,
      404,
      'This link is over',
      html`<p>Ask an admin of your workspace for a new one.</p>`,
    );

  fastify.get<Invitation>(url, async (request, reply) => {
    const { token } = request.params;
    const [, response] = taken(request, reply);
    const account = accounts.invited(token);
    if (!account) return over(response);
    sendPage(
      response,
      200,
      'Choose a password',
      passwordForm(`/oauth/invitation/${token}`, account.login),
    );
  });

  fastify.post<Invitation>(url, async (request, reply) => {
    const { token } = request.params;
    const [password, same] = [fieldOf(request, 'password'), fieldOf(request, 'again')];
    const [, response] = taken(request, reply);
    const account = accounts.invited(token);
    if (!account) return over(response);
    const again = (error: string): void =>
      sendPage(
        response,
        400,
        'Choose a password',
        passwordForm(`/oauth/invitation/${token}`, account.login, error),
      );
    if (password !== same) return again('The two passwords differ.');
    try {
      await accounts.setPassword(token, password);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (error.kind === 'not_found') return over(response);
      return again(`The password ${error.issues[0]?.problem ?? 'cannot be used'}.`);
    }
    sendPage(response, 200, 'The password is set', html`<p>You can sign in now.</p>`);
  });
}

function fieldOf({ body }: FastifyRequest, name: string): string {
  return body instanceof URLSearchParams ? (body.get(name) ?? '') : '';
}
