import { randomUUID } from 'node:crypto';
import { dirname, join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import type { Provider } from 'oidc-provider';
import { isLinked, organisationCodec, workspacesOfIdentity } from '#access/index.js';
import { Accounts, type Invitation } from '#http/sign-in/accounts.js';
import { signingKeys } from '#http/sign-in/keys.js';
import { serveSignIn } from '#http/sign-in/routes.js';
import { reaction, type Reaction } from '#projections/reaction.js';
import type { Ledger } from './ledger.js';
import { LOCAL_ISSUER, ownPeople, resourcesAt, type People } from './people.js';
import type { Settings } from './settings.js';

/** Sign-in with accounts of this server: it is an OAuth provider of its own. */
export interface OwnSignIn {
  readonly people: People;
  readonly accounts: Accounts;
  serve(fastify: FastifyInstance): Promise<void>;
  close(): void;
}

/** Undefined where the settings name another provider, or none. */
export async function ownSignIn(
  settings: Settings,
  ledger: Ledger,
  at: { base: () => string; all: () => readonly string[] },
): Promise<OwnSignIn | undefined> {
  if (settings.OIDC === 'off' || settings.OIDC_ISSUER !== undefined) return undefined;
  const dir = dirname(ledger.readFile);
  const keys = await signingKeys(settings.OIDC_KEYS ?? join(dir, 'sign-in.keys.json'));
  const people = ownPeople(settings, at.all, at.base, keys);
  const accounts = new Accounts(join(dir, 'sign-in.sqlite'), ledger.clock);
  let provider: Promise<Provider> | undefined;
  const open = async (): Promise<Provider> => {
    // Loaded when the first person comes: most processes serve keys only.
    const { createProvider } = await import('#http/sign-in/provider.js');
    return createProvider({
      issuer: at.base(),
      keys,
      accounts,
      clock: ledger.clock,
      resources: () => resourcesAt(at.all()),
      scope: people.rules.scope,
      workspaceClaim: settings.OIDC_WORKSPACE_CLAIM,
      registration: settings.OIDC_REGISTRATION === 'on',
    });
  };
  return {
    people,
    accounts,
    serve: (fastify) =>
      serveSignIn(fastify, {
        accounts,
        scope: people.rules.scope,
        provider: () => (provider ??= open()),
        base: at.base,
        workspacesOf: (subject) =>
          ledger.models.now((reads) => workspacesOfIdentity(reads, LOCAL_ISSUER, subject)),
      }),
    close: () => {
      accounts.close();
    },
  };
}

/**
 * An account goes with the last identity that it was: its login is personal data. Looked up and removed in one step, so that an
 * invitation that links anew meanwhile comes before or after both.
 */
export function accountReaction({ accounts }: OwnSignIn, { models }: Ledger): Reaction {
  return reaction(
    'accounts',
    organisationCodec,
    'IdentityUnlinked',
    async ({ issuer, subject }, { position }) => {
      if (issuer !== LOCAL_ISSUER) return;
      await models.read((reads) => {
        if (!isLinked(reads, issuer, subject)) accounts.remove(subject);
      }, position);
    },
  );
}

export const ACCOUNTS = Symbol('Accounts');

/** `desk` is undefined on a server without accounts. */
export interface Accounting {
  readonly desk: AccountDesk | undefined;
}

/** What the controller for accounts needs. */
export interface AccountDesk {
  /** The subject to link to a principal that has these; a new one where none is of an account here. */
  subjectAmong(identities: readonly { issuer: string; subject: string }[]): string;
  assertFree(subject: string, login: string, owner: string): void;
  invite(subject: string, login: string, owner: string): Invitation & { url: string };
}

export function deskOf(signIn: OwnSignIn | undefined, base: () => string): AccountDesk | undefined {
  if (!signIn) return undefined;
  const { accounts } = signIn;
  return {
    subjectAmong: (identities) =>
      identities.find(({ issuer }) => issuer === LOCAL_ISSUER)?.subject ?? randomUUID(),
    assertFree: (...args) => void accounts.assertFree(...args),
    invite(...args) {
      const invitation = accounts.invite(...args);
      return { ...invitation, url: `${base()}/oauth/invitation/${invitation.token}` };
    },
  };
}
