import { sourceId, sourceView, type SourceView } from '#sources/index.js';
import type { AuthorityMode } from '#kernel/context.js';
import { isHidden } from '#kernel/sealing.js';
import { isoMs } from '#kernel/time.js';
import type { Reads } from '#projections/read-database.js';
import type { ConflictSummary, DecisionView, SourceRef } from '../contract.js';
import {
  seen,
  validity,
  type ClaimView,
  type ConflictView,
  type Known,
} from '../domain/claim-view.js';
import { neededFor, type ConflictKind } from '../domain/topic-conflict.js';
import type { Evidence } from '../domain/topic.events.js';
import { claimById } from './claim-queries.js';
import type { OntologyView } from './ontology-queries.js';

/** Display name of an approver; undefined where names are not shown or the principal has none. */
export type NameOf = (principal: string) => string | undefined;

/** As far as is known now. Claims that are kept in memory are shown again and again. */
const shown = new WeakMap<ClaimView, DecisionView>();

/** An approved claim as answers show it, ended or not as far as was known. Nobody may change it. */
export function decisionView(claim: ClaimView, known: Known, nameOf: NameOf): DecisionView {
  if (known.position < Infinity || known.ms < Infinity) return viewOf(claim, known, nameOf);
  const before = shown.get(claim);
  if (before?.approved_by.every(({ principal, name }) => nameOf(principal) === name)) return before;
  const view = viewOf(claim, known, nameOf);
  shown.set(claim, view);
  return view;
}

function viewOf(claim: ClaimView, known: Known, nameOf: NameOf): DecisionView {
  const { approval } = claim;
  if (!approval) throw new Error(`${claim.decision_id} is not approved`);
  const approver = ({ by: principal, at }: { by: string; at: string }) => {
    const name = nameOf(principal);
    return { principal, ...(name === undefined ? {} : { name }), at };
  };
  return {
    id: claim.decision_id,
    revision: approval.revision,
    topic: claim.topic,
    scope: claim.scope,
    statement: claim.statement,
    ...(claim.value === undefined ? {} : { value: claim.value }),
    ...datesOf(claim),
    approved_by: [
      approver(approval),
      ...claim.confirmations.filter((c) => seen(c, known)).map((c) => approver(c)),
    ],
    approved_at: approval.at,
    ...endOf(claim, known),
    ...(claim.erased ? { erased: claim.erased } : {}),
  };
}

function datesOf({ decided_at, effective_from, effective_to }: ClaimView) {
  return {
    ...(decided_at === undefined ? {} : { decided_at }),
    ...(effective_from === undefined ? {} : { effective_from }),
    ...(effective_to === undefined ? {} : { effective_to }),
  };
}

type EndView = Pick<DecisionView, 'state' | 'superseded_by' | 'ended_at' | 'end_reason'>;

function endOf(claim: ClaimView, known: Known): EndView {
  const end = decisiveEnd(claim, known);
  if (!end) return { state: 'approved' };
  const until = validity(claim, known)?.endMs ?? end.fromMs;
  return {
    state: end.kind === 'revoked' ? 'revoked' : 'superseded',
    ...(end.successor === undefined ? {} : { superseded_by: end.successor }),
    ended_at: isoMs(until),
    ...(end.reason === undefined ? {} : { end_reason: end.reason }),
  };
}

/** Of several ends the one that comes first in valid time. */
export function decisiveEnd(claim: ClaimView, known: Known): ClaimView['ends'][number] | undefined {
  return claim.ends.filter((e) => seen(e, known)).sort((a, b) => a.fromMs - b.fromMs)[0];
}

/** The captured sources of one workspace, each looked up once. */
export class Sources {
  private readonly found = new Map<string, SourceView | undefined>();

  constructor(
    private readonly reads: Reads,
    private readonly workspace: string,
  ) {}

  /** Whether the excerpt still stands: its source is captured and is what its id was derived from. */
  readonly verifies = ({ source_id }: Pick<Evidence, 'source_id'>): boolean => {
    const view = this.view(source_id);
    if (!view) return false;
    return (
      view.document === undefined ||
      // What cannot be read any more was verified when it was captured.
      isHidden(view.document) ||
      sourceId(this.workspace, view.document, view.sha256) === source_id
    );
  };

  /** Those of the evidence, each once. */
  refs(evidence: readonly Pick<Evidence, 'source_id'>[]): SourceRef[] {
    return [...new Set(evidence.map((e) => e.source_id))].flatMap((id) => {
      const view = this.view(id);
      if (!view) return [];
      const { sha256: _sha256, subject: _subject, ...shown } = view;
      return [shown];
    });
  }

  private view(id: string): SourceView | undefined {
    if (!this.found.has(id)) this.found.set(id, sourceView(this.reads, this.workspace, id));
    return this.found.get(id);
  }
}

/** The claims of one workspace that an answer names, each looked up once; not at all what was `read` for it. */
export class NamedClaims {
  private readonly found: Map<string, ClaimView | undefined>;

  constructor(
    private readonly reads: Reads,
    private readonly workspace: string,
    read: readonly ClaimView[],
  ) {
    this.found = new Map(read.map((claim) => [claim.decision_id, claim]));
  }

  view(topic: string, id: string): ClaimView | undefined {
    if (!this.found.has(id)) this.found.set(id, claimById(this.reads, this.workspace, topic, id));
    return this.found.get(id);
  }
}

/** Claims of a conflict that an answer names one by one: as many rivals as a topic has may be in each of its conflicts. */
const CLAIMS_MAX = 5;

/** The last claim is the one that brought the conflict about: it is always shown. */
export function conflictSummary(
  claims: NamedClaims,
  { conflict_id, topic, kind, claims: all }: ConflictView,
  authority: string,
): ConflictSummary {
  const named = all.length > CLAIMS_MAX ? [...all.slice(0, CLAIMS_MAX - 1), ...all.slice(-1)] : all;
  const more = all.length - named.length;
  const views = named.map((id) => claims.view(topic, id));
  return {
    id: conflict_id,
    claims: named,
    ...(more > 0 ? { claims_total: all.length } : {}),
    would_be_resolved_by: needed({ kind }, views, authority, more),
  };
}

/** QO-14: what would settle it, in the words of its kind and of who may decide now. `more`: claims of it beside these. */
export function needed(
  conflict: Pick<ConflictView, 'kind'>,
  claims: readonly (ClaimView | undefined)[],
  authority: string,
  more = 0,
): string[] {
  return neededFor(
    conflict.kind as ConflictKind,
    claims
      .filter((c) => c !== undefined)
      .map((c) => ({ id: c.decision_id, dated: c.effective_from !== undefined })),
    authority,
    more,
  );
}

/** Who may decide for a topic, in words: by the ontology's rule, else by the organisation's mode (QO-15). */
export function authorityOf(ontology: OntologyView, topic: string, mode: AuthorityMode): string {
  const rule = ontology.authorityFor(topic);
  const named = [
    ...(rule?.persons ?? []),
    ...(rule?.roles ?? []).map((role) => `${/^[aeiou]/.test(role) ? 'an' : 'a'} ${role}`),
  ];
  if (named.length > 0) return named.join(' or ');
  return mode === 'peer' ? 'a member' : 'an admin or owner';
}
