import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type {
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client';
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWTPayload } from 'jose';
import Provider from 'oidc-provider';

interface Page {
  url: string;
  status: number;
  headers: Headers;
  html: string;
}

/** As much of a browser as signing in takes: cookies, redirects and forms. Ends at an address that is not http on this machine's server. */
export class Browser {
  readonly #cookies = new Map<string, Map<string, string>>();

  /** Follows redirects; the page it ends at, or the address it would leave for. `stopAt`: where the client waits. */
  async open(url: string, stopAt: string, form?: Record<string, string>): Promise<Page> {
    const origin = new URL(url).origin;
    const response = await fetch(url, {
      redirect: 'manual',
      method: form ? 'POST' : 'GET',
      headers: {
        cookie: this.#cookieHeader(url),
        ...(form ? { 'content-type': 'application/x-www-form-urlencoded', origin } : {}),
      },
      ...(form ? { body: new URLSearchParams(form).toString() } : {}),
    });
    this.#keep(url, response.headers.getSetCookie());
    const location = response.headers.get('location');
    if (response.status >= 300 && response.status < 400 && location !== null) {
      const next = new URL(location, url).href;
      if (next.startsWith(stopAt))
        return { url: next, status: response.status, headers: response.headers, html: '' };
      return this.open(next, stopAt);
    }
    return { url, status: response.status, headers: response.headers, html: await response.text() };
  }

  /** Sends the form of a page, with the fields that it has and those that are typed. */
  submit(page: Page, stopAt: string, typed: Record<string, string>): Promise<Page> {
    const action = /<form[^>]*action="([^"]*)"/.exec(page.html)?.[1];
    if (action === undefined) throw new Error(`no form at ${page.url}: ${page.html}`);
    const hidden = [...page.html.matchAll(/<input[^>]*type="hidden"[^>]*>/g)].map(([input]) => [
      /name="([^"]*)"/.exec(input)?.[1] ?? '',
      /value="([^"]*)"/.exec(input)?.[1] ?? '',
    ]);
    const target = new URL(action.replaceAll('&amp;', '&'), page.url).href;
    return this.open(target, stopAt, { ...Object.fromEntries(hidden), ...typed });
  }

  get cookies(): string[] {
    return [...this.#cookies.values()].flatMap((jar) => [...jar.keys()]);
  }

  #cookieHeader(url: string): string {
    const jar = this.#cookies.get(new URL(url).host);
    return [...(jar ?? [])].map(([name, value]) => `${name}=${value}`).join('; ');
  }

  #keep(url: string, set: readonly string[]): void {
    const { host } = new URL(url);
    const jar = this.#cookies.get(host) ?? new Map<string, string>();
    this.#cookies.set(host, jar);
    for (const each of set) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(each) ?? [];
      if (value === '' || /expires=Thu, 01 Jan 1970/i.test(each)) jar.delete(name);
      else jar.set(name, value);
    }
  }
}

export const CALLBACK = 'http://127.0.0.1:43210/callback';

/** What an MCP client on a person's machine keeps. */
export class OAuthClient implements OAuthClientProvider {
  /** Where it would have opened a browser. */
  sentTo: URL | undefined;
  readonly redirectUrl = CALLBACK;
  readonly clientMetadata;
  readonly clientMetadataUrl?: string;
  #client: StoredOAuthClientInformation | undefined;
  #tokens: StoredOAuthTokens | undefined;
  #verifier = '';
  #discovered: OAuthDiscoveryState | undefined;

  constructor(as: { clientId?: string; metadataUrl?: string; scope?: string }) {
    this.clientMetadata = {
      client_name: 'precedent-tests',
      redirect_uris: [CALLBACK],
      ...(as.scope === undefined ? {} : { scope: as.scope }),
    };
    if (as.metadataUrl !== undefined) this.clientMetadataUrl = as.metadataUrl;
    if (as.clientId !== undefined) this.#client = { client_id: as.clientId };
  }

  get accessToken(): string {
    return this.#tokens?.access_token ?? '';
  }
  get refreshToken(): string {
    return this.#tokens?.refresh_token ?? '';
  }
  /** The address to sign in at. */
  get start(): URL {
    if (!this.sentTo) throw new Error('the client was not sent to sign in');
    return this.sentTo;
  }

  clientInformation(): StoredOAuthClientInformation | undefined {
    return this.#client;
  }
  saveClientInformation(client: StoredOAuthClientInformation): void {
    this.#client = client;
  }
  tokens(): StoredOAuthTokens | undefined {
    return this.#tokens;
  }
  saveTokens(tokens: StoredOAuthTokens): void {
    this.#tokens = tokens;
  }
  redirectToAuthorization(url: URL): void {
    this.sentTo = url;
  }
  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }
  codeVerifier(): string {
    return this.#verifier;
  }
  saveDiscoveryState(found: OAuthDiscoveryState): void {
    this.#discovered = found;
  }
  discoveryState(): OAuthDiscoveryState | undefined {
    return this.#discovered;
  }
}

/** A provider that is not ours, with its keys in the hand of the test. People sign in under any name. */
export class ForeignProvider {
  private constructor(
    readonly issuer: string,
    private readonly server: Server,
    private readonly key: CryptoKey,
    private readonly kid: string,
  ) {}

  static async start(): Promise<ForeignProvider> {
    const { privateKey } = await generateKeyPair('RS256', { extractable: true });
    const kid = 'foreign-1';
    const jwk = { ...(await exportJWK(privateKey)), kid, use: 'sig', alg: 'RS256' };
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const provider = new Provider(issuer, {
      jwks: { keys: [jwk] },
      cookies: { keys: ['for the test'] },
      clients: [
        {
          client_id: 'a-client',
          token_endpoint_auth_method: 'none',
          redirect_uris: [CALLBACK],
          application_type: 'native',
          grant_types: ['authorization_code', 'refresh_token'],
          response_types: ['code'],
        },
      ],
      findAccount: (_ctx, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
      features: {
        devInteractions: { enabled: true },
        resourceIndicators: {
          enabled: true,
          getResourceServerInfo: (_ctx, resource) => ({
            scope: 'anything',
            audience: resource,
            accessTokenFormat: 'jwt',
            accessTokenTTL: 300,
            jwt: { sign: { alg: 'RS256' } },
          }),
          useGrantedResource: () => true,
        },
      },
    });
    const handle = provider.callback();
    server.on('request', (request, response) => void handle(request, response));
    return new ForeignProvider(issuer, server, privateKey, kid);
  }

  /** A token of this provider, genuine but for what is said otherwise. */
  token(claims: JWTPayload, header: { alg?: string; kid?: string } = {}): Promise<string> {
    const now = Math.floor(Date.now() / 1_000);
    return new SignJWT({ iss: this.issuer, iat: now, exp: now + 300, ...claims })
      .setProtectedHeader({ alg: 'RS256', kid: this.kid, typ: 'at+jwt', ...header })
      .sign(this.key);
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
