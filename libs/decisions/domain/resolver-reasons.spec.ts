import { describe, expect, it } from '@jest/globals';
import { FOREVER } from '#kernel/time.js';
import { ALL_KNOWN, type ClaimView } from './claim-view.js';
import { resolve, topicAt } from './resolver.js';
import type { Scope } from './topic.events.js';

const fact = (position: number) => ({ position, ms: position, at: `at ${position}`, by: 'ann' });

function claim(id: string, position: number, more: Partial<ClaimView> = {}): ClaimView {
  return {
    decision_id: id,
    topic: 'terms',
    statement: id,
    scope: {},
    evidence: [{ source_id: 's', excerpt: id, start: 0, end: 1, verbatim: true }],
    relations: [],
    content_hash: '',
    reasons: [],
    proposed: fact(position),
    ends: [],
    confirmations: [],
    ...more,
  };
}

function approved(id: string, position: number, from: string, more: Partial<ClaimView> = {}) {
  const startMs = Date.parse(from);
  const approval = { ...fact(position), revision: 1, reason: 'so', startMs, endMs: FOREVER };
  return claim(id, position, { approval, effective_from: from, ...more });
}

const ended = (kind: 'revoked' | 'superseded', from: string, more: object = {}) => ({
  ...fact(5),
  kind,
  fromMs: Date.parse(from),
  ...more,
});

function ask(claims: ClaimView[], scope?: Scope, isDeclared?: (dimension: string) => boolean) {
  const topic = topicAt(claims, Date.parse('2026-06-01'), ALL_KNOWN);
  const more = isDeclared ? { isDeclared } : {};
  return resolve({ topic, conflicts: [], scope, known: ALL_KNOWN, ...more });
}

const REVOKED = approved('OLD', 1, '2025-01-01', {
  ends: [ended('revoked', '2026-01-01', { reason: 'wrong' })],
});

describe('QO-26: why nothing is in force', () => {
  it('QO-27: after a revocation it names what begins next, and from when', () => {
    const later = approved('NEW', 6, '2027-01-01');
    const latest = approved('LAST', 7, '2028-01-01');
    expect(ask([REVOKED, latest, later])).toMatchObject({
      state: 'insufficient_evidence',
      reason:
        'The last decision, OLD, was revoked by ann: wrong; nothing holds at the time asked, and NEW applies from 2027-01-01.',
    });
    expect(ask([REVOKED]).reason).toBe(
      'The last decision, OLD, was revoked by ann: wrong; nothing holds at the time asked.',
    );
  });

  it('QO-3: it says where what begins next is for another scope', () => {
    const later = approved('NEW', 6, '2027-01-01', { scope: { region: 'EU' } });
    expect(ask([REVOKED, later]).reason).toContain('for another scope than the one asked');
    expect(ask([REVOKED, later], { region: 'eu' }).reason).toMatch(
      /NEW applies from 2027-01-01\.$/,
    );
  });

  it('what ends as it begins is not named', () => {
    const never = approved('NEVER', 6, '2027-01-01', { ends: [ended('revoked', '2027-01-01')] });
    expect(ask([REVOKED, never]).reason).not.toContain('NEVER');
  });

  it('a superseded last decision does not say that nothing has replaced it', () => {
    const last = approved('OLD', 1, '2025-01-01', {
      ends: [ended('superseded', '2026-01-01', { successor: 'NEW' })],
    });
    const { reason } = ask([last]);
    expect(reason).toBe(
      'The last decision, OLD, was superseded by NEW; nothing holds at the time asked.',
    );
  });

  it('QO-27: of several ends the one that comes first is told', () => {
    const last = approved('OLD', 1, '2025-01-01', {
      ends: [
        ended('revoked', '2026-01-01', { reason: 'wrong' }),
        ended('superseded', '2026-03-01', { successor: 'NEW' }),
      ],
    });
    expect(ask([last]).reason).toContain('was revoked by ann: wrong');
  });

  it('candidates beside what is approved for later are not all there is', () => {
    const waiting = claim('WAITS', 8);
    expect(ask([waiting, approved('NEW', 6, '2027-01-01')])).toMatchObject({
      state: 'insufficient_evidence',
      reason: 'Nothing is approved for the time asked; 1 candidate awaits review.',
    });
    expect(ask([waiting]).reason).toBe('Nothing is approved; 1 candidate awaits review.');
  });
});

describe('QO-3: a dimension that nothing knows', () => {
  const general = approved('ALL', 1, '2025-01-01');
  const europe = approved('EU', 2, '2025-01-01', { scope: { Region: 'EU' } });
  const none = () => false;

  it('is named in the reason, and refuses nothing', () => {
    const answer = ask([general, europe], { foo: 'bar', region: 'us' }, none);
    expect([answer.state, answer.decision?.decision_id]).toEqual(['verified', 'ALL']);
    expect(answer.reason).toMatch(
      /^One approved decision holds, .*\. The dimension "foo" did not count: /,
    );
    expect(ask([general], { foo: 'x', bar: 'y' }, none).reason).toContain(
      'dimensions "foo", "bar"',
    );
  });

  it('is none that a decision in force names or the ontology declares, in whatever spelling', () => {
    for (const dimension of ['region', 'REGION', 'Region '])
      expect(ask([general, europe], { [dimension]: 'us' }, none).reason).not.toContain('count:');
    expect(ask([general], { foo: 'bar' }, () => true).reason).not.toContain('count:');
    expect(ask([general], undefined, none).reason).not.toContain('count:');
  });
});
