import { describe, expect, it } from '@jest/globals';
import { ERASED } from '#kernel/sealing.js';
import {
  admin,
  credential,
  given,
  issued,
  keysOf,
  NOW,
  peopled,
  request,
} from '../../../test/support/workspace-story.js';
import { MAX_KEYS, type NewCredential } from './workspace-credentials.js';
import type { WorkspaceCommand } from './workspace.js';
import type { WorkspaceEvent } from './workspace.events.js';

describe('keys', () => {
  const issue = (more: Partial<NewCredential> = {}, principal = 'mia'): WorkspaceCommand => ({
    type: 'IssueCredential',
    by: admin,
    principal,
    credential: { ...credential, short: 'BBBBBBBB', ...more },
    now: NOW,
  });
  const reroll = (now: number, more: object = {}): WorkspaceCommand => ({
    type: 'RerollCredential',
    by: admin,
    short: 'BBBBBBBB',
    secret: 'sha256:new',
    now,
    overlap: 60_000,
    ...more,
  });

  it('are issued to members only, with limits and expiry', () => {
    given(...peopled)
      .when(issue({}, 'bob'))
      .thenRefused('unknown_principal');
    const expiresAt = '2026-03-02T00:00:00.000Z';
    given(...peopled)
      .when(issue({ toolsets: ['decisions'], expiresAt, label: 'ci' }))
      .then(
        issued('BBBBBBBB', 'mia', {
          toolsets: ['decisions'],
          expires_at: expiresAt,
          label: 'ci',
        }),
      );
    given(...peopled)
      .when(issue({ expiresAt: '2026-03-01T12:00:00.000Z' }))
      .thenRefused('invalid_arguments');
  });

  it('X-9: one request is one key', () => {
    given(...peopled, issued('BBBBBBBB', 'mia', { request }))
      .when(issue({ request }))
      .then();
    given(...peopled, issued('BBBBBBBB', 'mia', { request }))
      .when(issue({ request: { id: 'r1', sha256: 'other' } }))
      .thenRefused('request_id_conflict');
    // What was asked for is erased with him to whom it belongs; that it was done is not.
    const erased = { request: { id: request.id, sha256: ERASED }, label: ERASED };
    given(...peopled, issued('BBBBBBBB', 'mia', erased))
      .when(issue({ request }))
      .then();
    given(...peopled, issued('BBBBBBBB', 'mia'))
      .when(issue())
      .thenRefused('credential_exists');
  });

  it('a member has a bounded number of valid ones; ended ones do not count', () => {
    const many = Array.from({ length: MAX_KEYS }, (_, i) => issued(`K${i}`, 'mia'));
    given(...peopled, ...many)
      .when(issue())
      .thenRefused('too_many_keys');
    given(...peopled, ...many, { type: 'CredentialRevoked', data: { short: 'K0', reason: 'x' } })
      .when(issue())
      .thenMatches((events) => expect(events).toHaveLength(1));
    const expired = issued('K0', 'mia', { expires_at: '2026-03-01T11:59:59.000Z' });
    given(...peopled, ...many.slice(1), expired)
      .when(issue())
      .thenMatches((events) => expect(events).toHaveLength(1));
  });

  it('reroll gives a new secret under the same name, the former one until the overlap ends', () => {
    given(...peopled, issued('BBBBBBBB', 'mia'))
      .when(reroll(NOW))
      .then({
        type: 'CredentialRerolled',
        data: {
          short: 'BBBBBBBB',
          secret: 'sha256:new',
          former_until: '2026-03-01T12:01:00.000Z',
          expires_at: null,
        },
      });
  });

  it('reroll keeps or moves the expiry, and wakes nothing that has ended', () => {
    const key = issued('BBBBBBBB', 'mia', { expires_at: '2026-03-01T13:00:00.000Z' });
    given(...peopled, key)
      .when(reroll(NOW))
      .thenMatches((events) =>
        expect(events).toMatchObject([{ data: { expires_at: '2026-03-01T13:00:00.000Z' } }]),
      );
    given(...peopled, key)
      .when(reroll(NOW, { expiresAt: '2026-04-01T00:00:00.000Z' }))
      .thenMatches((events) =>
        expect(events).toMatchObject([{ data: { expires_at: '2026-04-01T00:00:00.000Z' } }]),
      );
    given(...peopled, key)
      .when(reroll(Date.parse('2026-03-01T13:00:00.000Z')))
      .thenRefused('credential_ended');
    given(...peopled, key, { type: 'CredentialRevoked', data: { short: 'BBBBBBBB', reason: 'x' } })
      .when(reroll(NOW))
      .thenRefused('credential_ended');
    given(...peopled)
      .when(reroll(NOW))
      .thenRefused('unknown_credential');
  });

  it('X-9: a repeated reroll changes nothing, also after another one', () => {
    const first: WorkspaceEvent = {
      type: 'CredentialRerolled',
      data: { short: 'BBBBBBBB', secret: 'one', former_until: '', expires_at: null, request },
    };
    const second: WorkspaceEvent = {
      type: 'CredentialRerolled',
      data: { short: 'BBBBBBBB', secret: 'two', former_until: '', expires_at: null },
    };
    given(...peopled, issued('BBBBBBBB', 'mia'), first, second)
      .when(reroll(NOW, { request }))
      .then();
  });

  it('are revoked once; again changes nothing', () => {
    const revoke = {
      type: 'RevokeCredential',
      by: admin,
      short: 'BBBBBBBB',
      reason: 'lost',
    } as const;
    const revoked: WorkspaceEvent = {
      type: 'CredentialRevoked',
      data: { short: 'BBBBBBBB', reason: 'lost', keys: keysOf('mia') },
    };
    given(...peopled, issued('BBBBBBBB', 'mia'))
      .when(revoke)
      .then(revoked);
    given(...peopled, issued('BBBBBBBB', 'mia'), revoked)
      .when(revoke)
      .then();
    given(...peopled)
      .when(revoke)
      .thenRefused('unknown_credential');
  });
});
