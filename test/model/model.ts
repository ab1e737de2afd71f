import { among, equal, first, repeats, resolve } from './answers.js';
import type { Approval, Claim, Said, Scope } from './answers.js';

/** The ledger on paper: every claim, and a copy of all of them after each command. Only `owner` governs. */
export class Model {
  now = Date.parse('2030-01-01');
  claims: Claim[] = [];
  past: { position: number; claims: Claim[] }[] = [];

  get = (id?: string) => this.claims.find((c) => c.id === id);
  heads = (topic: string) => this.claims.filter((c) => c.topic === topic && c.state === 'approved');
  find = (said: Said) => this.claims.find((c) => repeats(c, said));
  remember = (position: number) =>
    void this.past.push({ position, claims: structuredClone(this.claims) });
  /** Does `id` replace `old`, directly or through others, as far as either is stated? */
  replaces = (id: string, old: string): boolean =>
    id === old || this.get(id)!.supersedes.some((older) => this.replaces(older, old));

  /** Superseded or revoked, but from later than `from` on: it can still be ended sooner. */
  ending = (claim: Claim | undefined, from: number) =>
    ['superseded', 'revoked'].includes(claim?.state ?? '') &&
    claim!.holds!.end > Math.max(claim!.holds!.start, from, this.now);

  /** What ended `claim`, what ended that, and so on; `claim` included. */
  after = (claim?: Claim): string[] =>
    claim ? [claim.id, ...this.after(this.get(claim.next))] : [];

  /** `id`: what the ledger calls it if it is new. */
  ingest(id: string, said: Said, supersedes: string[], approved: boolean, by: string): string {
    const known = this.find(said);
    if (said.to !== undefined && said.to <= (said.from ?? -Infinity)) return 'invalid_arguments';
    if (supersedes.some((t) => this.get(t)?.topic !== said.topic)) return 'unknown_target';
    if (known && supersedes.some((t) => this.replaces(t, known.id))) return 'supersession_cycle';
    if (known && known.state !== 'candidate') return `skipped ${known.state}`;
    const claim = known ?? { ...said, id, by, supersedes, state: 'candidate' };
    if (!known) this.claims.push(claim);
    const given = supersedes.length > 0 ? { supersedes } : {};
    const answer = approved ? this.approve(claim.id, given, by) : 'awaiting_review';
    if (claim.state !== 'candidate') return 'stored';
    return known ? 'skipped candidate' : `queued ${answer}`;
  }

  approve(id: string, given: Approval, by: string): string {
    const claim = this.get(id);
    const unfit = first([by !== 'owner', 'requires_governor'], [!claim, 'unknown_decision']);
    if (unfit || claim?.state !== 'candidate') return unfit ?? 'already_decided';
    const start = given.from ?? claim.from ?? this.now;
    const holds = { start, end: given.to ?? claim.to ?? Infinity };
    if (holds.end <= start) return 'invalid_arguments';
    const [targets, next] = [given.supersedes ?? claim.supersedes, this.get(given.before)];
    const refusals = targets.map((target) => {
      const old = this.get(target);
      const sooner = this.ending(old, start);
      const moved = old?.state === 'superseded' && old.next !== given.before && !sooner;
      return first(
        [target === id, 'supersession_cycle'],
        [old?.topic !== claim.topic, 'unknown_target'],
        [moved, 'head_moved'],
        [!['approved', 'superseded'].includes(old?.state ?? '') && !sooner, 'not_approved'],
      );
    });
    const known = next?.topic === claim.topic && next.holds && next.state !== 'revoked';
    if (given.before === id) refusals.push('supersession_cycle');
    else if (given.before !== undefined && !known) refusals.push('unknown_target');
    if (targets.some((t) => this.after(next).includes(t))) refusals.push('supersession_cycle');
    const refusal = refusals.find(Boolean);
    if (refusal) return refusal;
    const same = (h: Claim) => h.value === claim.value && equal(h.scope, claim.scope);
    const twins = this.heads(claim.topic).filter((h) => same(h) && !targets.includes(h.id));
    const { whole, later, taken } = among(next ? [] : twins, holds);
    const ended = [...targets, ...taken];
    if (whole) claim.state = 'confirming';
    else Object.assign(claim, { state: 'approved', holds, since: this.now, supersedes: ended });
    for (const target of ended) this.end(this.get(target)!, 'superseded', start, whole?.id ?? id);
    const then = whole ? undefined : (next ?? later);
    if (then) this.end(claim, 'superseded', then.holds!.start, then.id);
    claim.never = claim.holds && claim.holds.end <= start;
    return claim.state;
  }

  /** reject, retract or revoke */
  close(action: string, id: string, by: string, from = this.now): string {
    const claim = this.get(id);
    const own = action === 'retract' && claim?.by === by;
    const open = action === 'revoke' ? 'approved' : 'candidate';
    const refusal = first(
      [by !== 'owner' && !own, 'requires_governor'],
      [!claim, 'unknown_decision'],
      [claim?.state === 'candidate' && open === 'approved', 'not_approved'],
      [
        claim?.state !== open && !(open === 'approved' && this.ending(claim, from)),
        'already_decided',
      ],
    );
    return refusal ?? this.end(claim!, `${action.replace(/e$/, '')}ed`, from);
  }

  private end(claim: Claim, state: string, at: number, next?: string): string {
    const span = claim.holds;
    const holds = span && { ...span, end: Math.max(span.start, Math.min(span.end, at)) };
    const revoked = claim.state === 'revoked';
    Object.assign(claim, { holds, next: revoked ? undefined : next });
    if (!revoked) claim.state = state;
    return state;
  }

  resolve(topic: string, asked: Scope, asOf: number, knownAt = Infinity) {
    const then = this.past.findLast((p) => p.position <= knownAt)?.claims ?? [];
    const claims = then.filter((c) => c.topic === topic);
    return resolve(claims, asked, asOf);
  }
}
