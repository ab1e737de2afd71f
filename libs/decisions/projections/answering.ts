import { memberView, workspaceView } from '#access/index.js';
import { invalid } from '#kernel/refusal.js';
import { isoMs, whenMs } from '#kernel/time.js';
import type { Reads } from '#projections/read-database.js';
import type { Answer, ReadAxes, ResolveInput } from '../contract.js';
import { declaredNear } from '../domain/declared-near.js';
import { evidenceOf, type ClaimView, type ConflictView, type Known } from '../domain/claim-view.js';
import { resolve, type State } from '../domain/resolver.js';
import { HISTORY_MAX, topicAsOf } from './claim-queries.js';
import { CONFLICTS_MAX, conflictsFor } from './conflict-queries.js';
import { wholeAppends } from './knowledge.js';
import { ontologyAt, type OntologyView } from './ontology-queries.js';
import { relationsTold, showing } from './relations.js';
import type { Found } from './search-engine.js';
import { namesakes, NOTHING_FOUND, suggestions } from './suggestions.js';
import { topicsNamed, type TopicName } from './topics.js';
import { NamedClaims, Sources, authorityOf, conflictSummary, type NameOf } from './views.js';

const LABELS: Readonly<Record<State, string>> = {
  verified: 'Current',
  contested: 'Contested',
  insufficient_evidence: 'Insufficient evidence',
  unknown: 'Unknown',
};

const INDEXING = 'Not everything recorded is indexed yet; ask again for more.';

/** Decisions beside the answer that it shows; `reason` says how many there are. */
const ALTERNATIVES_MAX = 20;

/** From when, with which knowledge and by which rules a question is looked at. */
export interface Axes {
  asOfMs: number;
  known: Known;
  zone: string;
  ontology: OntologyView;
  /** Who may decide for a topic, in words. */
  authority: (topic: string) => string;
  nameOf: NameOf;
}

/** Reads both time axes in the workspace's zone. `known_at` is a time, or a position: one inside an append stands before it. */
export function axesOf(
  reads: Reads,
  workspace: string,
  input: Pick<ReadAxes, 'as_of' | 'known_at'>,
  nowMs: number,
): Axes {
  const { zone, organisation, settings } = workspaceView(reads, workspace);
  const { as_of, known_at } = input;
  const known = wholeAppends(reads, workspace, knownAt(known_at, zone));
  const ontology = ontologyAt(reads, workspace, known);
  return {
    asOfMs: as_of === undefined ? nowMs : whenMs(as_of, zone),
    known,
    zone,
    ontology,
    authority: (topic) => authorityOf(ontology, topic, organisation.mode),
    nameOf: settings.approverNames ? namesIn(reads, workspace) : () => undefined,
  };
}

/** Looks each principal up once: the decisions of one answer have few approvers. */
function namesIn(reads: Reads, workspace: string): NameOf {
  const names = new Map<string, string | undefined>();
  return (principal) => {
    if (!names.has(principal)) names.set(principal, memberView(reads, workspace, principal)?.name);
    return names.get(principal);
  };
}

function knownAt(given: string | undefined, zone: string): Known {
  if (given === undefined) return { position: Infinity, ms: Infinity };
  return /^\d+$/.test(given)
    ? { position: Number(given), ms: Infinity }
    : { position: Infinity, ms: whenMs(given, zone) };
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

/** QO-2, QO-4, QO-26: the answer to a question from one moment of the read models; `found` is absent where nothing was searched for. */
export function answer(
  reads: Reads,
  workspace: string,
  input: ResolveInput,
  nowMs: number,
  position: number,
  found?: Found,
): Answer {
  const axes = axesOf(reads, workspace, input, nowMs);
  const named = topicsNamed(reads, workspace, input.topic ?? question(input), axes.known);
  const frame = {
    as_of: isoMs(axes.asOfMs),
    ...(input.known_at === undefined ? {} : { known_at: input.known_at }),
    zone: axes.zone,
    ontology_version: axes.ontology.version,
    position: String(position),
    answered_at: isoMs(nowMs),
  };
  const [topic, ...more] = named;
  if (!topic || more.length > 0)
    return { ...unrecognised(reads, workspace, input, named, found, axes), ...frame };
  return { ...resolved(reads, workspace, topic, input.scope, axes), ...frame };
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
  asked: ResolveInput,
  named: readonly TopicName[],
  found: Found | undefined,
  axes: Axes,
): Body {
  const near =
    named.length > 0
      ? namesakes(reads, workspace, named, axes)
      : suggestions(
          reads,
          workspace,
          found ?? NOTHING_FOUND,
          axes,
          declaredNear(axes.ontology.content.topics, `${asked.topic ?? ''} ${asked.question}`),
        );
  const reason =
    named.length > 0
      ? 'Several topics bear this name; ask again with the id of one.'
      : near.candidate_topics.length + near.candidate_excerpts.length > 0
        ? 'No topic bears this name; the nearest ones are suggestions, not an answer.'
        : found
          ? 'No topic bears this name and nothing recorded resembles the question.'
          : 'No topic bears this name.';
  return {
    state: 'unknown',
    label: LABELS.unknown,
    reason: found?.complete !== false ? reason : `${reason} ${INDEXING}`,
    alternatives: [],
    history: [],
    history_truncated: false,
    conflicts: [],
    evidence: [],
    sources: [],
    ...near,
  };
}

function resolved(
  reads: Reads,
  workspace: string,
  topic: TopicName,
  scope: ResolveInput['scope'],
  axes: Axes,
): Body {
  const { asOfMs, known } = axes;
  const show = showing(reads, workspace, axes);
  const sources = new Sources(reads, workspace);
  const at = topicAsOf(reads, workspace, topic.topic, asOfMs, known);
  const resolution = resolve({
    topic: at,
    conflicts: conflictsFor(
      reads,
      workspace,
      topic.topic,
      at.inForce.map((c) => c.decision_id),
      known,
    ),
    scope,
    known,
    isWithin: axes.ontology.isWithin,
    isDeclared: (dimension) => axes.ontology.isDeclaredDimension(dimension),
    verifies: sources.verifies,
  });
  const { state, reason, decision, alternatives, history } = resolution;
  const chosen = decision && show(decision);
  const shown = [
    ...(decision ? [decision] : []),
    ...(decision || state === 'contested' ? alternatives.slice(0, ALTERNATIVES_MAX) : []),
  ];
  const open = resolution.conflicts;
  const claims = new NamedClaims(reads, workspace, at.claims);
  const authority = open.length > 0 ? axes.authority(topic.topic) : '';
  const evidence = shown.flatMap((claim) => evidenceOf(claim, known)).filter(sources.verifies);
  return {
    state,
    label: LABELS[state],
    reason: chosen ? `${reason}${relationsTold(chosen)}` : reason,
    ...(chosen ? { decision: chosen } : {}),
    alternatives: alternatives.slice(0, ALTERNATIVES_MAX).map(show),
    history: history.slice(0, HISTORY_MAX).map(show),
    history_truncated: history.length > HISTORY_MAX,
    conflicts: conflictsShown(open, shown).map((c) => conflictSummary(claims, c, authority)),
    ...(open.length > CONFLICTS_MAX ? { conflicts_total: open.length } : {}),
    evidence,
    sources: sources.refs(evidence),
    candidate_topics: [],
    candidate_excerpts: [],
    topic: { topic: topic.topic, name: topic.name },
  };
}

/** In the order in which they opened. Where they are too many, those of the decisions that are shown, then the latest. */
function conflictsShown(
  open: readonly ConflictView[],
  shown: readonly ClaimView[],
): readonly ConflictView[] {
  if (open.length <= CONFLICTS_MAX) return open;
  const ids = new Set(shown.map((claim) => claim.decision_id));
  const isOfShown = (c: ConflictView): boolean => c.claims.some((id) => ids.has(id));
  const ranked = [...open.filter((c) => !isOfShown(c)), ...open.filter(isOfShown)];
  const most = new Set(ranked.slice(-CONFLICTS_MAX));
  return open.filter((c) => most.has(c));
}
