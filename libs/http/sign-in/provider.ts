import Provider, { errors, type Configuration, type KoaContextWithOIDC } from 'oidc-provider';
import type { Accounts } from './accounts.js';
import { WORKSPACE_SCOPE } from './consent.js';
import { SIGNATURE, type SigningKeys } from './keys.js';
import { errorPage } from './pages.js';
import { isPublicHost } from './public-host.js';
import { ProviderStore } from './store.js';

export interface ProviderOptions {
  readonly issuer: string;
  readonly keys: SigningKeys;
  readonly accounts: Accounts;
  readonly clock: () => number;
  /** Addresses of this server for which tokens are made (RFC 8707). The first stands where a client names none. */
  readonly resources: () => readonly string[];
  readonly scope: string;
  readonly workspaceClaim: string;
  /** Whether clients may register themselves (RFC 7591). */
  readonly registration: boolean;
}

/** For clients without a metadata document: programs on the person's own machine, on any port (RFC 8252). */
export const NATIVE_CLIENT = 'precedent-native';

const MINUTE = 60;
const DAY = 86_400;
/** In seconds. An access token is short: what it may do is looked up anew at each request, that it is good at all is not. */
const TTL = {
  AccessToken: 10 * MINUTE,
  AuthorizationCode: MINUTE,
  IdToken: 10 * MINUTE,
  Interaction: 10 * MINUTE,
  RefreshToken: 14 * DAY,
  Session: 12 * 60 * MINUTE,
  Grant: 14 * DAY,
};

/**
 * OAuth 2.1 for people of this server: authorization code with PKCE (S256), public clients, client-ID metadata documents, resource
 * indicators, signed access tokens, refresh tokens that change with each use. Nothing else is on.
 */
export function createProvider(options: ProviderOptions): Provider {
  const { issuer, accounts, keys, clock } = options;
  const provider = new Provider(issuer, {
    adapter: (model: string) => new ProviderStore(model, accounts.db, clock),
    jwks: keys.jwks,
    cookies: {
      keys: [...keys.cookies],
      long: { signed: true, httpOnly: true, sameSite: 'lax' },
      short: { signed: true, httpOnly: true, sameSite: 'lax' },
    },
    clients: [nativeClient()],
    clientDefaults: {
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      id_token_signed_response_alg: SIGNATURE,
    },
    clientAuthMethods: ['none'],
    responseTypes: ['code'],
    scopes: ['openid', 'offline_access', options.scope],
    pkce: { required: () => true },
    routes: ROUTES,
    interactions: { url: (_ctx, { uid }) => `/oauth/interaction/${uid}` },
    ttl: TTL,
    rotateRefreshToken: true,
    issueRefreshToken: async (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    clientBasedCORS: () => false,
    findAccount: (_ctx, subject) =>
      accounts.find(subject) && { accountId: subject, claims: () => ({ sub: subject }) },
    extraTokenClaims: (ctx, token) => workspaceClaims(options, ctx, token),
    renderError: (ctx, out) => {
      const { status, body } = errorPage(out.error, out.error_description);
      ctx.status = status;
      ctx.set(body.headers);
      ctx.body = body.html;
    },
    features: featuresOf(options),
  });
  // Behind a proxy the public address is written into each request, by us: see `routes.ts`.
  provider.proxy = true;
  return provider;
}

const ROUTES = {
  authorization: '/oauth/authorize',
  token: '/oauth/token',
  jwks: '/oauth/jwks',
  registration: '/oauth/register',
  revocation: '/oauth/revoke',
  pushed_authorization_request: '/oauth/par',
  userinfo: '/oauth/userinfo',
  end_session: '/oauth/end',
};

function nativeClient() {
  return {
    client_id: NATIVE_CLIENT,
    client_name: 'A program on your machine',
    application_type: 'native' as const,
    redirect_uris: ['127.0.0.1', 'localhost', '[::1]'].flatMap((host) =>
      ['/callback', '/oauth/callback'].map((path) => `http://${host}${path}`),
    ),
  };
}

function featuresOf({ resources, scope, registration }: ProviderOptions) {
  return {
    devInteractions: { enabled: false },
    dPoP: { enabled: false },
    userinfo: { enabled: false },
    rpInitiatedLogout: { enabled: false },
    revocation: { enabled: true },
    registration: { enabled: registration },
    clientIdMetadataDocument: {
      enabled: true,
      ack: 'draft-02',
      allowFetch: (_ctx: KoaContextWithOIDC, clientId: string) => isPublicHost(clientId),
    },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => resources()[0] ?? '',
      useGrantedResource: () => true,
      getResourceServerInfo: (_ctx: KoaContextWithOIDC, resource: string) => {
        if (!resources().includes(resource)) throw new errors.InvalidTarget();
        return {
          scope,
          audience: resource,
          accessTokenTTL: TTL.AccessToken,
          accessTokenFormat: 'jwt' as const,
          jwt: { sign: { alg: SIGNATURE } },
        };
      },
    },
  } satisfies Configuration['features'];
}

async function workspaceClaims(
  { workspaceClaim }: ProviderOptions,
  ctx: KoaContextWithOIDC,
  token: object,
): Promise<Record<string, unknown> | undefined> {
  const id = 'grantId' in token ? token.grantId : undefined;
  const grant = typeof id === 'string' ? await ctx.oidc.provider.Grant.find(id) : undefined;
  const scopes = Object.values(grant?.resources ?? {}).flatMap((text) => text.split(' '));
  const chosen = scopes.find((s) => s.startsWith(WORKSPACE_SCOPE));
  return chosen === undefined
    ? undefined
    : { [workspaceClaim]: chosen.slice(WORKSPACE_SCOPE.length) };
}
