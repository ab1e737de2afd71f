import type { InteractionResults, Provider } from 'oidc-provider';
import { Refusal } from '#kernel/refusal.js';
import type { Accounts } from './accounts.js';
import type { Consent } from './pages.js';

/** A grant keeps the workspace that the person chose among the scopes of its resources. */
export const WORKSPACE_SCOPE = 'workspace:';

export type Workspaces = (subject: string) => readonly { id: string; name: string }[];
type Details = Awaited<ReturnType<Provider['interactionDetails']>>;
interface Parts {
  accounts: Accounts;
  workspacesOf: Workspaces;
}

/** What a person is asked. `formsTo` is what a policy must let the form lead to. */
export async function consentOf(
  provider: Provider,
  details: Details,
  { accounts, workspacesOf }: Parts,
): Promise<Consent & { formsTo: string }> {
  const subject = details.session?.accountId ?? '';
  const clientId = String(details.params['client_id']);
  const redirect = String(details.params['redirect_uri']);
  const client = await provider.Client.find(clientId);
  const account = accounts.find(subject);
  if (!client || !account) throw over();
  const url = new URL(redirect);
  const { scope } = details.params;
  const asked = (typeof scope === 'string' ? scope : '')
    .split(' ')
    .find((s) => s.startsWith(WORKSPACE_SCOPE));
  return {
    client: client.clientName ?? clientId,
    identity: URL.parse(clientId)?.host ?? clientId,
    redirect: url.host === '' ? url.protocol : url.host,
    login: account.login,
    workspaces: workspacesOf(subject),
    formsTo: /^https?:$/.test(url.protocol) ? url.origin : url.protocol,
    ...(asked === undefined ? {} : { workspace: asked.slice(WORKSPACE_SCOPE.length) }),
  };
}

/** Grants what was asked, with the workspace that was chosen where there are several. */
export async function decideConsent(
  provider: Provider,
  { params, session, grantId, prompt }: Details,
  { workspacesOf }: Parts,
  chosen: string,
): Promise<InteractionResults> {
  const accountId = session?.accountId;
  if (accountId === undefined) throw over();
  const workspaces = workspacesOf(accountId);
  const several = workspaces.length > 1;
  if (several && !workspaces.some(({ id }) => id === chosen)) throw over();
  const grant =
    (grantId === undefined ? undefined : await provider.Grant.find(grantId)) ??
    new provider.Grant({ accountId, clientId: String(params['client_id']) });
  const missing = prompt.details as {
    missingOIDCScope?: string[];
    missingResourceScopes?: Record<string, string[]>;
  };
  if (missing.missingOIDCScope) grant.addOIDCScope(missing.missingOIDCScope.join(' '));
  for (const [resource, scopes] of Object.entries(missing.missingResourceScopes ?? {}))
    grant.addResourceScope(
      resource,
      [...scopes, ...(several ? [`${WORKSPACE_SCOPE}${chosen}`] : [])].join(' '),
    );
  return { consent: { grantId: await grant.save() } };
}

function over(): Refusal {
  return new Refusal('invalid', 'sign_in_over', 'This sign-in cannot go on.');
}
