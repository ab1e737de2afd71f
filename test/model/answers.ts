export type Scope = Record<string, string>;
export type Span = { start: number; end: number };
export type Dates = { from?: number | undefined; to?: number | undefined };
export type Said = Dates & { topic: string; value: number; scope: Scope };
export type Approval = Dates & { supersedes?: string[] | undefined; before?: string | undefined };
/** `holds` once approved. `next`: what superseded it. */
export type Claim = Said & { id: string; by: string; supersedes: string[] } & {
  state: string;
  holds?: Span;
  next?: string;
};

const NEVER = { start: Infinity, end: Infinity };
const covers = (a: Scope, b: Scope) => Object.keys(a).every((key) => a[key] === b[key]);
export const equal = (a: Scope, b: Scope) => covers(a, b) && covers(b, a);
const nested = (a: Scope, b: Scope) => covers(a, b) !== covers(b, a);
const apart = (a: Scope, b: Scope) => Object.keys(a).some((key) => key in b && a[key] !== b[key]);
export const overlap = (a: Span, b: Span) => a.start < b.end && b.start < a.end;
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
  const history = all.filter((c) => c.holds && c.holds.end <= asOf);
  const waits = all.some((c) => c.state === 'candidate');
  const onlyLater = all.length === 0 || all.some((c) => c.holds);
  const told = inForce.length + history.length > 0 || waits || !onlyLater;
  const none = told ? 'insufficient_evidence' : 'unknown';
  const state = best.length > 1 ? 'contested' : best.length === 1 ? 'verified' : none;
  const others = best.length > 1 ? best : best.length === 0 ? inForce : [];
  return {
    state,
    decision: state === 'verified' ? best[0]?.id : undefined,
    alternatives: others.map((c) => c.id).sort(),
    history: history.map((c) => c.id).sort(),
  };
}

/** Pairs of heads that cannot both hold: an open conflict must name each. */
export function clashes(heads: readonly Claim[]): [string, string][] {
  const pairs = heads.flatMap((a, i) => heads.slice(i + 1).map((b): [Claim, Claim] => [a, b]));
  return pairs.filter(([a, b]) => a.value !== b.value && clash(a, b)).map(([a, b]) => [a.id, b.id]);
}
