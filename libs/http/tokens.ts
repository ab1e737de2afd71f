import {
  createRemoteJWKSet,
  decodeJwt,
  errors,
  jwtVerify,
  type JWTPayload,
  type JWTVerifyGetKey,
} from 'jose';
import { Refusal } from '#kernel/refusal.js';

/** A person as an OpenID provider names him. */
export interface Identity {
  readonly issuer: string;
  readonly subject: string;
  /** The workspace that the token is for, where it names one. */
  readonly workspace?: string;
}

export interface TokenRules {
  /** The provider, to the letter of the claim `iss`. */
  readonly issuer: string;
  /** Names under which this server is meant by a token; one must be in `aud`. */
  readonly audiences: readonly string[];
  /** Scope that a token must have; empty for none. */
  readonly scope: string;
  /** Claim that names a workspace. */
  readonly workspaceClaim: string;
}

/** Where the public keys of a provider are. */
export interface ProviderKeys {
  readonly find: JWTVerifyGetKey;
  /** False until keys were had once. */
  readonly loaded: boolean;
}

/** Signatures that only the holder of a private key can make: no `none`, no shared secret. */
const ALGORITHMS = [
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
  'PS256',
  'PS384',
  'PS512',
].concat('RS256', 'RS384', 'RS512');

/** Seconds by which two clocks may differ. */
const TOLERANCE = 30;
const WORKSPACE_SCOPE = 'workspace:';

/** True for what has the form of a signed token; keys of this server never have it. */
export function isToken(bearer: string): boolean {
  return bearer.startsWith('ey') && bearer.split('.').length === 3;
}

/**
 * The person that a token stands for. Refuses `invalid_token` (401: forged, expired, not yet valid, of another provider, for another
 * server), `insufficient_scope` (403) and `invalid_workspace` (403: a workspace claim that names none).
 */
export async function identityOf(
  token: string,
  rules: TokenRules,
  keys: JWTVerifyGetKey,
): Promise<Identity> {
  const payload = await verified(token, rules, keys);
  const scopes = scopesOf(payload);
  if (rules.scope !== '' && !scopes.includes(rules.scope))
    throw new Refusal('forbidden', 'insufficient_scope', 'the token lacks a scope', {
      fix: `ask for a token with the scope ${rules.scope}`,
    });
  const workspace = workspaceOf(payload, scopes, rules.workspaceClaim);
  return {
    issuer: rules.issuer,
    subject: payload.sub ?? '',
    ...(workspace === undefined ? {} : { workspace }),
  };
}

async function verified(
  token: string,
  { issuer, audiences }: TokenRules,
  keys: JWTVerifyGetKey,
): Promise<JWTPayload> {
  try {
    const { payload } = await jwtVerify(token, keys, {
      issuer,
      audience: [...audiences],
      algorithms: ALGORITHMS,
      clockTolerance: TOLERANCE,
      requiredClaims: ['exp', 'sub'],
    });
    if (payload.sub === '') throw invalidToken('the token names nobody');
    return payload;
  } catch (error) {
    if (!(error instanceof errors.JOSEError)) throw error;
    throw invalidToken(problemOfToken(error));
  }
}

/** Words of ours: what the token says is untrusted. */
function problemOfToken(error: errors.JOSEError): string {
  if (error instanceof errors.JWTExpired) return 'the token has expired';
  if (!(error instanceof errors.JWTClaimValidationFailed)) return 'the token does not verify';
  switch (error.claim) {
    case 'aud':
      return 'the token is for another server';
    case 'iss':
      return 'the token is of another provider';
    case 'nbf':
      return 'the token is not valid yet';
    default:
      return 'the token lacks what it must say';
  }
}

export function invalidToken(problem: string): Refusal {
  return new Refusal('unauthenticated', 'invalid_token', problem, {
    fix: 'sign in again; the header WWW-Authenticate says where',
  });
}

function scopesOf({ scope, scp }: JWTPayload): string[] {
  if (typeof scope === 'string') return scope.split(' ');
  if (typeof scp === 'string') return scp.split(' ');
  return Array.isArray(scp) ? scp.filter((s) => typeof s === 'string') : [];
}

/** A claim that is there but names nothing is never taken for one that is not there (B39). */
function workspaceOf(
  payload: JWTPayload,
  scopes: readonly string[],
  claim: string,
): string | undefined {
  const named = scopes
    .filter((s) => s.startsWith(WORKSPACE_SCOPE))
    .map((s): unknown => s.slice(WORKSPACE_SCOPE.length));
  if (Object.hasOwn(payload, claim)) named.push(payload[claim]);
  const [first, ...rest] = named;
  if (named.length === 0) return undefined;
  if (typeof first === 'string' && first !== '' && rest.every((w) => w === first)) return first;
  throw new Refusal('forbidden', 'invalid_workspace', 'the token names no single workspace', {
    fix: `ask for a token that names one workspace, by the scope ${WORKSPACE_SCOPE}<id> or the claim`,
  });
}

/** The provider that a token claims to be of; nothing is checked. */
export function claimedIssuer(token: string): string | undefined {
  try {
    return decodeJwt(token).iss;
  } catch {
    return undefined;
  }
}

export interface KeyTimes {
  /** Between two looks for a key that the provider had not published the last time, in milliseconds. */
  readonly cooldownMs: number;
  /** After which keys are fetched anew in any case. */
  readonly maxAgeMs: number;
}

const KEY_TIMES: KeyTimes = { cooldownMs: 10_000, maxAgeMs: 600_000 };
const PATIENCE_MS = 5_000;

/**
 * Keys of a provider elsewhere, found through its discovery document unless `jwksUrl` names them. A key that is not known is looked
 * for again, at most once in `cooldownMs`, so that a rotated key is found and a flood of forged ones fetches nothing.
 * `find` refuses `identity_provider_unreachable` (503) where the provider does not answer.
 */
export function remoteKeys(
  issuer: string,
  jwksUrl: string | undefined,
  times: KeyTimes = KEY_TIMES,
): ProviderKeys & { load(): Promise<void> } {
  let keys: ReturnType<typeof createRemoteJWKSet> | undefined;
  let finding: Promise<ReturnType<typeof createRemoteJWKSet>> | undefined;
  const open = async () => {
    const url = new URL(jwksUrl ?? (await jwksUrlOf(issuer)));
    keys = createRemoteJWKSet(url, {
      cooldownDuration: times.cooldownMs,
      cacheMaxAge: times.maxAgeMs,
      timeoutDuration: PATIENCE_MS,
    });
    return keys;
  };
  const found = async () => {
    if (keys) return keys;
    finding ??= open().finally(() => (finding = undefined));
    return finding;
  };
  return {
    get loaded() {
      return keys?.jwks() !== undefined;
    },
    async load() {
      const set = await found();
      if (set.jwks() === undefined) await set.reload();
    },
    find: async (header, token) => {
      try {
        return await (
          await found()
        )(header, token);
      } catch (error) {
        if (isOfTheToken(error)) throw error;
        throw new Refusal(
          'unavailable',
          'identity_provider_unreachable',
          'the keys of the identity provider cannot be had',
          { fix: 'try again in a moment; an API key works meanwhile' },
        );
      }
    },
  };
}

/** What the token is to blame for; all else is the provider's not answering as it should. */
function isOfTheToken(error: unknown): boolean {
  return (
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWKSMultipleMatchingKeys ||
    error instanceof errors.JOSENotSupported
  );
}

async function jwksUrlOf(issuer: string): Promise<string> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const response = await fetch(url, {
    signal: AbortSignal.timeout(PATIENCE_MS),
    headers: { accept: 'application/json' },
  });
  if (!response.ok) throw new Error(`${url} answers ${response.status}`);
  const found = (await response.json()) as { issuer?: unknown; jwks_uri?: unknown };
  if (found.issuer !== issuer) throw new Error(`${url} describes another issuer`);
  if (typeof found.jwks_uri !== 'string') throw new Error(`${url} names no keys`);
  return found.jwks_uri;
}
