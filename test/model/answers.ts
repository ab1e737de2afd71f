export type Scope = Record<string, string>;
export type Span = { start: number; end: number };
export type Dates = { from?: number | undefined; to?: number | undefined };
export type Said = Dates & { topic: string; value: number; scope: Scope };
export type Approval = Dates & { supersedes?: string[] | undefined; before?: string | undefined };
/** `holds` once approved, at `since`. `next`: what superseded it. `never`: its own approval left it no time. */
export type Claim = Said & { id: string; by: string; supersedes: string[] } & {
  state: string;
  holds?: Span;
  since?: number;
  next?: string;
  never?: boolean | undefined;
};

type Rule = [broken: boolean, refusal: string];
export const first = (...rules: Rule[]) => rules.find(([broken]) => broken)?.[1];

const NEVER = { start: Infinity, end: Infinity };
const covers = (a: Scope, b: Scope) => Object.keys(a).every((key) => a[key] === b[key]);
export const equal = (a: Scope, b: Scope) => covers(a, b) && covers(b, a);
const nested = (a: Scope, b: Scope) => covers(a, b) !== covers(b, a);
const apart = (a: Scope, b: Scope) => Object.keys(a).some((key) => key in b && a[key] !== b[key]);
export const overlap = (a: Span, b: Span) => Math.max(a.start, b.start) < Math.min(a.end, b.end);
const heads = (a: Claim, b: Claim) => a.state === 'approved' && b.state === 'approved';
const clash = (a: Claim, b: Claim) =>
  !nested(a.scope, b.scope) && !apart(a.scope, b.scope) && overlap(a.holds!, b.holds!);

/** Another record of the same words: no new claim. */
export const repeats = (a: Said, b: Said) =>
  a.topic === b.topic &&
  a.value === b.value &&
  equal(a.scope, b.scope) &&
  a.from === b.from &&
  a.to === b.to;

/** What an answer about one topic must say; ids in any order. */
export function resolve(all: readonly Claim[], asked: Scope, asOf: number) {
  const inForce = all.filter((c) => (c.holds ?? NEVER).start <= asOf && asOf < c.holds!.end);
  const meeting = inForce.filter((c) => covers(c.scope, asked));
  const best = meeting.filter(
    (c) => !meeting.some((o) => covers(c.scope, o.scope) && nested(c.scope, o.scope)),
  );
  const history = all.filter((c) => c.holds && c.holds.end <= asOf && !c.never);
  const waits = all.some((c) => c.state === 'candidate');
  const onlyLater = all.length === 0 || all.some((c) => c.holds);
  const told = inForce.length + history.length > 0 || waits || !onlyLater;
  const none = told ? 'insufficient_evidence' : 'unknown';
  const values = new Set(best.map((c) => c.value)).size;
  const state = values > 1 ? 'contested' : values === 1 ? 'verified' : none;
  const first = values === 1 ? best.reduce((a, b) => (a.since! <= b.since! ? a : b)) : undefined;
  const others = best.length > 0 ? best.filter((c) => c !== first) : inForce;
  return {
    state,
    decision: first?.id,
    alternatives: others.map((c) => c.id).sort(),
    history: history.map((c) => c.id).sort(),
  };
}

/** Pairs that cannot both hold, heads at any time and ended ones from now on: an open conflict must name each. */
export function clashes(all: readonly Claim[], now: number): [string, string][] {
  const held = all.filter((c) => c.holds);
  const pairs = held.flatMap((a, i) => held.slice(i + 1).map((b): [Claim, Claim] => [a, b]));
  const counts = (a: Claim, b: Claim) => heads(a, b) || Math.min(a.holds!.end, b.holds!.end) > now;
  return pairs
    .filter(([a, b]) => a.value !== b.value && clash(a, b) && counts(a, b))
    .map(([a, b]) => [a.id, b.id]);
}

/** Beside heads that say the same: which one says it for all that time, which follows, which end where it begins. */
export function among(twins: readonly Claim[], holds: Span) {
  const follow = (h: Claim) => holds.start < h.holds!.start && h.holds!.start < holds.end;
  const later = twins
    .filter((h) => follow(h) && holds.end <= h.holds!.end)
    .sort((a, b) => a.holds!.start - b.holds!.start)[0];
  const span = { start: holds.start, end: later?.holds!.start ?? holds.end };
  const whole = twins.find((h) => h.holds!.start <= span.start && span.end <= h.holds!.end);
  const taken = whole ? [] : twins.filter((h) => overlap(h.holds!, span)).map((h) => h.id);
  return { whole, later, taken };
}
