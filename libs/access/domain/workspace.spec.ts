import { describe, expect, it } from '@jest/globals';
import { specification } from '#kernel/testing.js';
import { apiKeyFrom, parseApiKey } from './api-key.js';
import { workspaceDecider } from './workspace.js';
import type { WorkspaceEvent } from './workspace.events.js';

const given = specification(workspaceDecider);
const credential = { short: 'AAAAAAAA', secretSha256: 'f'.repeat(64) };
const create = {
  type: 'Create',
  name: 'Main',
  organisation: { id: 'main', name: 'Main' },
  mode: 'reviewed',
  zone: 'UTC',
  owner: { principal: 'owner', name: 'Owner' },
  credential,
} as const;
const created: WorkspaceEvent[] = [
  {
    type: 'WorkspaceCreated',
    data: { name: 'Main', organisation: create.organisation, mode: 'reviewed', zone: 'UTC' },
  },
  {
    type: 'MemberAdded',
    data: { principal: 'owner', kind: 'person', name: 'Owner', role: 'owner' },
  },
  {
    type: 'CredentialIssued',
    data: { short: 'AAAAAAAA', principal: 'owner', secret_sha256: 'f'.repeat(64) },
  },
];

describe('workspace', () => {
  it('comes with its owner and a key in one append, once', () => {
    given()
      .when(create)
      .then(...created);
    given(...created)
      .when(create)
      .thenRefused('workspace_exists');
  });

  it('issues keys to members only', () => {
    const other = { ...credential, short: 'BBBBBBBB' };
    given(...created)
      .when({ type: 'IssueCredential', principal: 'bob', credential: other })
      .thenRefused('unknown_principal');
    given(...created)
      .when({ type: 'AddMember', principal: 'owner', kind: 'person', name: 'O', role: 'member' })
      .thenRefused('already_a_member');
  });

  it('revokes a key once; again changes nothing', () => {
    const revoked: WorkspaceEvent = {
      type: 'CredentialRevoked',
      data: { short: 'AAAAAAAA', reason: 'lost' },
    };
    const revoke = { type: 'RevokeCredential', short: 'AAAAAAAA', reason: 'lost' } as const;
    given(...created)
      .when(revoke)
      .then(revoked);
    given(...created, revoked)
      .when(revoke)
      .then();
    given(...created)
      .when({ ...revoke, short: 'CCCCCCCC' })
      .thenRefused('unknown_credential');
  });
});

describe('API keys', () => {
  it('have one form, and only the hash of the secret is kept', () => {
    const key = apiKeyFrom(new Uint8Array(96).map((_, i) => (i * 37) % 248));
    const parsed = parseApiKey(key);
    expect(parsed?.short).toHaveLength(8);
    expect(parsed?.secretSha256).toMatch(/^[0-9a-f]{64}$/);
    expect(JSON.stringify(parsed)).not.toContain(key.slice(14));
  });

  it.each([
    '',
    'prec_',
    'prec_short_x',
    'PREC_AAAAAAAA_' + 'a'.repeat(40),
    'prec_AAAAAAAA_' + 'a'.repeat(31),
    'prec_AAAAAAAA_' + 'é'.repeat(40),
  ])('refuses %s', (text) => {
    expect(parseApiKey(text)).toBeUndefined();
  });
});
