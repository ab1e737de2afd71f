import { setTimeout as delay } from 'node:timers/promises';
import { callerOfIdentity, workspacesOfIdentity } from '#access/index.js';
import {
  claimedIssuer,
  identityOf,
  invalidToken,
  isToken,
  remoteKeys,
  type Identity,
  type ProviderKeys,
  type TokenRules,
} from '#http/tokens.js';
import type { Caller } from '#kernel/context.js';
import { Refusal } from '#kernel/refusal.js';
import type { ReadModels } from '#projections/read-models.js';
import type { Settings } from './settings.js';

/** Issuer under which accounts of this server are registered as identities: it stays when the server's address changes. */
export const LOCAL_ISSUER = 'local';
export const EMBEDDED_SCOPE = 'precedent';

/** How people sign in: rules for tokens, and where the provider's public keys are. */
export interface People {
  readonly rules: TokenRules;
  readonly keys: ProviderKeys;
  /** What an identity is registered under. */
  readonly registeredIssuer: string;
}

/** The provider that the settings name; undefined where they name none. */
export function foreignPeople(
  settings: Settings,
  addresses: () => readonly string[],
): People | undefined {
  const { OIDC_ISSUER: issuer } = settings;
  if (issuer === undefined) return undefined;
  const keys = remoteKeys(issuer, settings.OIDC_JWKS_URL);
  void loadUntilDone(keys);
  return {
    rules: rulesOf(settings, addresses, () => issuer, settings.OIDC_SCOPE ?? ''),
    keys,
    registeredIssuer: issuer,
  };
}

/** With accounts of this server: it is its own provider. */
export function ownPeople(
  settings: Settings,
  addresses: () => readonly string[],
  issuer: () => string,
  keys: ProviderKeys,
): People {
  return {
    rules: rulesOf(settings, addresses, issuer, settings.OIDC_SCOPE ?? EMBEDDED_SCOPE),
    keys,
    registeredIssuer: LOCAL_ISSUER,
  };
}

function rulesOf(
  settings: Settings,
  addresses: () => readonly string[],
  issuer: () => string,
  scope: string,
): TokenRules {
  return {
    get issuer() {
      return issuer();
    },
    get audiences() {
      return settings.OIDC_AUDIENCE ?? resourcesAt(addresses());
    },
    scope,
    workspaceClaim: settings.OIDC_WORKSPACE_CLAIM,
  };
}

/** This server's MCP endpoint and its whole, as clients name them in tokens. */
export function resourcesAt(addresses: readonly string[]): string[] {
  return addresses.flatMap((address) => [`${address}/mcp`, address, `${address}/`]);
}

const RETRY_MS = 2_000;

/** Readiness waits for the keys; a provider that is down at the start is asked again. */
async function loadUntilDone(keys: { load(): Promise<void> }): Promise<void> {
  for (;;) {
    try {
      return await keys.load();
    } catch {
      await delay(RETRY_MS, undefined, { ref: false });
    }
  }
}

/**
 * Who a bearer stands for: an API key takes the short way, a signed token that of people. A genuine token of somebody who is no member
 * is refused in words of its own: its holder may know.
 */
export function authenticating(
  byKey: (bearer: string) => Promise<Caller | undefined>,
  people: People | undefined,
  models: ReadModels,
): (bearer: string) => Promise<Caller | undefined> {
  return async (bearer) => {
    if (!isToken(bearer)) return byKey(bearer);
    if (!people) return undefined;
    // Tokens of anybody else never make this server look for keys.
    if (claimedIssuer(bearer) !== people.rules.issuer)
      throw invalidToken('the token is of another provider');
    const found = await identityOf(bearer, people.rules, people.keys.find);
    const identity = { ...found, issuer: people.registeredIssuer };
    const { issuer, subject, workspace } = identity;
    const caller = models.now((reads) => callerOfIdentity(reads, issuer, subject, workspace));
    if (caller) return caller;
    throw stranger(identity, models);
  };
}

function stranger({ issuer, subject, workspace }: Identity, models: ReadModels): Refusal {
  const ids = models.now((reads) =>
    workspacesOfIdentity(reads, issuer, subject).map(({ id }) => id),
  );
  if (ids.length === 0)
    return new Refusal('unauthenticated', 'unknown_person', 'the token is of no member', {
      fix: 'ask an owner of the organisation to register you',
    });
  if (workspace !== undefined)
    return new Refusal('forbidden', 'not_a_member', 'you are no member of that workspace', {
      fix: `ask for a token for one of these: ${ids.join(', ')}`,
    });
  return new Refusal('forbidden', 'workspace_needed', 'you belong to several workspaces', {
    fix: `ask for a token with one of these scopes: ${ids.map((id) => `workspace:${id}`).join(', ')}`,
  });
}
