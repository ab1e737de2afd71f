import { workspaceView } from '#access/index.js';
import { invalid } from '#kernel/refusal.js';
import { isoMs, whenMs } from '#kernel/time.js';
import type { Reads } from '#projections/read-database.js';
import { sourceView, type SourceView } from '#sources/index.js';
import type {
  Answer,
  CandidateExcerpt,
  DecisionView,
  ReadAxes,
  ResolveInput,
} from '../contract.js';
import {
  resolve,
  validity,
  type ClaimView,
  type Known,
  type Resolution,
  type State,
} from '../domain/resolver.js';
import { HISTORY_MAX, claimById, claimsForQuestion, conflictsOfTopic } from './claim-queries.js';
import { topicsLike, topicsNamed, type Match, type TopicName } from './topics.js';

const LABELS: Readonly<Record<State, string>> = {
  verified: 'Current',
  contested: 'Contested',
  insufficient_evidence: 'Insufficient evidence',
  unknown: 'Unknown',
};

export interface Axes {
  asOfMs: number;
  known: Known;
  zone: string;
}

/** Reads both time axes in the workspace's zone. `known_at` is a position or a time. */
export function axesOf(
  reads: Reads,
  workspace: string,
  input: Pick<ReadAxes, 'as_of' | 'known_at'>,
  nowMs: number,
): Axes {
  const { zone } = workspaceView(reads, workspace);
  const { as_of, known_at } = input;
  const known = { position: Infinity, ms: Infinity };
  if (known_at !== undefined) {
    if (/^\d+$/.test(known_at)) known.position = Number(known_at);
    else known.ms = whenMs(known_at, zone);
  }
  return { asOfMs: as_of === undefined ? nowMs : whenMs(as_of, zone), known, zone };
}

/** The topic that a caller names; refused when several bear the name or none does. */
export function oneTopic(found: readonly TopicName[], name: string): TopicName {
  const [only, ...more] = found;
  if (only && more.length === 0) return only;
  throw invalid(
    'topic',
    only
      ? `several topics bear the name "${name}": ${found.map((t) => t.topic).join(', ')}`
      : `no topic bears the name "${name}"`,
    only ? 'give one of these ids' : 'ask resolve_decision_state without a topic for suggestions',
  );
}

/** QO-2, QO-4, QO-26: the answer to a question from one moment of the read models. */
export function answer(
  reads: Reads,
  workspace: string,
  input: ResolveInput,
  nowMs: number,
  position: number,
): Answer {
  const axes = axesOf(reads, workspace, input, nowMs);
  const named = topicsNamed(reads, workspace, input.topic ?? question(input), axes.known);
  const frame = {
    as_of: isoMs(axes.asOfMs),
    ...(input.known_at === undefined ? {} : { known_at: input.known_at }),
    zone: axes.zone,
    ontology_version: 0,
    position: String(position),
    answered_at: isoMs(nowMs),
  };
  const [topic, ...more] = named;
  if (!topic || more.length > 0)
    return { ...unrecognised(reads, workspace, input, named), ...frame };
  const resolution = resolve({
    claims: claimsForQuestion(reads, workspace, topic.topic, axes.asOfMs, axes.known),
    conflicts: conflictsOfTopic(reads, workspace, topic.topic),
    scope: input.scope,
    asOfMs: axes.asOfMs,
    known: axes.known,
  });
  return { ...resolved(reads, workspace, topic, resolution, axes.known), ...frame };
}

/** A question mark or quotation marks around a name do not make it another name. */
function question(input: ResolveInput): string {
  return input.question.replace(/^[\s"'“‘«]+|[\s"'”’»?!.]+$/gu, '');
}

type Body = Omit<
  Answer,
  'as_of' | 'known_at' | 'zone' | 'ontology_version' | 'position' | 'answered_at'
>;

function unrecognised(
  reads: Reads,
  workspace: string,
  input: ResolveInput,
  named: readonly TopicName[],
): Body {
  const like: Match[] =
    named.length > 0
      ? [...named]
      : topicsLike(reads, workspace, `${input.topic ?? ''} ${input.question}`);
  const reason =
    named.length > 0
      ? 'Several topics bear this name; ask again with the id of one.'
      : like.length > 0
        ? 'No topic bears this name; the nearest ones are suggestions, not an answer.'
        : 'No topic bears this name and nothing recorded resembles the question.';
  return {
    state: 'unknown',
    label: LABELS.unknown,
    reason,
    alternatives: [],
    history: [],
    history_truncated: false,
    conflicts: [],
    evidence: [],
    sources: [],
    candidate_topics: like.map(({ topic, name }) => ({ topic, name })),
    candidate_excerpts: like.flatMap((match) => excerptOf(reads, workspace, match)),
  };
}

function excerptOf(reads: Reads, workspace: string, match: Match): CandidateExcerpt[] {
  if (match.decision === undefined) return [];
  const claim = claimById(reads, workspace, match.topic, match.decision);
  const [first] = claim?.evidence ?? [];
  if (!claim || !first) return [];
  const { source_id, excerpt } = first;
  return [{ topic: match.topic, statement: claim.statement, source_id, excerpt }];
}

function resolved(
  reads: Reads,
  workspace: string,
  topic: TopicName,
  resolution: Resolution,
  known: Known,
): Body {
  const shown = [
    ...(resolution.decision ? [resolution.decision] : []),
    ...(resolution.state === 'contested' ? resolution.alternatives : []),
  ];
  const evidence = shown.flatMap((claim) => [
    ...claim.evidence,
    ...claim.confirmations.flatMap((c) => c.evidence),
  ]);
  return {
    state: resolution.state,
    label: LABELS[resolution.state],
    reason: resolution.reason,
    ...(resolution.decision ? { decision: decisionView(resolution.decision, known) } : {}),
    alternatives: resolution.alternatives.map((claim) => decisionView(claim, known)),
    history: resolution.history.slice(0, HISTORY_MAX).map((claim) => decisionView(claim, known)),
    history_truncated: resolution.history.length > HISTORY_MAX,
    conflicts: resolution.conflicts.map((c) => ({
      id: c.conflict_id,
      claims: c.claims,
      would_be_resolved_by: c.would_be_resolved_by,
    })),
    evidence,
    sources: sourcesOf(reads, workspace, evidence),
    candidate_topics: [],
    candidate_excerpts: [],
    topic: { topic: topic.topic, name: topic.name },
  };
}

function sourcesOf(
  reads: Reads,
  workspace: string,
  evidence: readonly { source_id: string }[],
): Omit<SourceView, 'sha256'>[] {
  return [...new Set(evidence.map((e) => e.source_id))].flatMap((id) => {
    const view = sourceView(reads, workspace, id);
    if (!view) return [];
    const { sha256: _sha256, ...shown } = view;
    return [shown];
  });
}

/** An approved claim as answers show it, ended or not as far as was known. */
export function decisionView(claim: ClaimView, known: Known): DecisionView {
  const { approval } = claim;
  if (!approval) throw new Error(`${claim.decision_id} is not approved`);
  return {
    id: claim.decision_id,
    revision: approval.revision,
    topic: claim.topic,
    scope: claim.scope,
    statement: claim.statement,
    ...(claim.value === undefined ? {} : { value: claim.value }),
    ...datesOf(claim),
    approved_by: [
      { principal: approval.by, at: approval.at },
      ...claim.confirmations
        .filter((c) => c.position <= known.position && c.ms <= known.ms)
        .map((c) => ({ principal: c.by, at: c.at })),
    ],
    approved_at: approval.at,
    ...endOf(claim, known),
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
  const end = claim.ends
    .filter((e) => e.position <= known.position && e.ms <= known.ms)
    .sort((a, b) => a.fromMs - b.fromMs)[0];
  if (!end) return { state: 'approved' };
  const until = validity(claim, known)?.endMs ?? end.fromMs;
  return {
    state: end.kind === 'revoked' ? 'revoked' : 'superseded',
    ...(end.successor === undefined ? {} : { superseded_by: end.successor }),
    ended_at: isoMs(until),
    ...(end.reason === undefined ? {} : { end_reason: end.reason }),
  };
}
