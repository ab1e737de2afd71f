import { decisionId, documentKey } from './claim.js';
import { withLinks, type DocumentClaim, type PlannedClaim } from './ingestion-plan.js';
import type { FindingData } from './ingestion.events.js';
import { idInLine } from './topic-merge.js';
import type { Decision, Topic } from './topic-state.js';

/** How a planned claim stands to what its topic holds at present. */
export interface Standing {
  /** What is to be proposed: under the ids that the topic knows. */
  planned: PlannedClaim;
  /** What is recorded of it already. */
  held: Decision | undefined;
  /** Where the document and the topic say different things and nothing comes of it by itself. */
  findings: FindingData[];
}

/** Where a claim is to be proposed. */
export interface Place {
  home: string;
  topic: Topic;
  /** Of the record that brings it: what it brought before it was cut short is no other's. Absent where nothing is proposed. */
  origin?: string;
  /** Ids that claims of this plan got which came before it, by those that were planned. This one adds its own. */
  renamed: Map<string, string>;
}

/**
 * A document that says something else than before replaces what it said before (QO-23): its new claim supersedes the head that the same
 * document gave. That holds too where it comes back to words that it had given up: they are decided once more.
 */
export function standing(planned: PlannedClaim, place: Place): Standing {
  const { topic, renamed } = place;
  const known = asKnown(planned, place);
  const decision_id = presentId(known, place);
  if (decision_id !== planned.claim.decision_id)
    renamed.set(planned.claim.decision_id, decision_id);
  const held = topic.decisions.get(decision_id);
  const claim = { ...known.claim, decision_id };
  const own = held === undefined || held.status === 'candidate' ? headsOf(topic, claim) : [];
  const supersedes = [...new Set([...claim.supersedes, ...own])];
  const present = { ...known, claim };
  return {
    planned:
      own.length === 0
        ? present
        : { ...present, claim: withLinks(present, supersedes, claim.relations) },
    held,
    findings: findingsOf(present, held, place),
  };
}

/** The claim under the ids that the topic knows, where topics were merged since it was planned or handed in before. */
function asKnown(planned: PlannedClaim, { home, topic, renamed }: Place): PlannedClaim {
  if (topic.absorbed.size === 0 && renamed.size === 0) return planned;
  const { claim } = planned;
  const known = (id: string): string => renamed.get(id) ?? idInLine(topic, home, id);
  const relations = claim.relations.map((r) => ({ ...r, decision_id: known(r.decision_id) }));
  const linked = withLinks(planned, claim.supersedes.map(known), relations);
  return { ...planned, claim: { ...linked, decision_id: known(claim.decision_id) } };
}

/** Heads that the same document gave. */
function headsOf(topic: Topic, { document }: PlannedClaim['claim']): string[] {
  if (document === undefined) return [];
  const key = documentKey(document);
  return [...topic.heads].filter((id) => topic.decisions.get(id)?.documentKey === key);
}

/** The id of the last time that the document said this, or of the next where it said something else since then. */
function presentId(planned: PlannedClaim, { home, topic, origin }: Place): string {
  const { claim } = planned;
  let id = claim.decision_id;
  if (claim.document === undefined || !topic.decisions.has(id)) return id;
  const said = new Set([hashOf(id)]);
  for (let occurrence = 2; ; occurrence += 1) {
    const next = idInLine(topic, home, decisionId(planned.topic.id, claim, occurrence));
    if (!topic.decisions.has(next)) {
      const last = topic.decisions.get(id);
      const isOver = last && last.origin !== origin && hasGivenWay(last, topic, said);
      return isOver ? next : id;
    }
    id = next;
    said.add(hashOf(id));
  }
}

/** The same words of the same document have it in every topic. */
function hashOf(id: string): string {
  return id.slice(id.lastIndexOf('.'));
}

/**
 * The document itself has something else in its place than what it `said` then. What a reviewer said no to while it waited is not
 * proposed again, or it would come back with every import.
 */
function hasGivenWay(last: Decision, topic: Topic, said: ReadonlySet<string>): boolean {
  const isOther = (d: Decision | undefined): boolean =>
    d !== undefined && d.documentKey === last.documentKey && !said.has(hashOf(d.id));
  const heads = [...topic.heads].filter((id) => isOther(topic.decisions.get(id)));
  switch (last.status) {
    case 'superseded':
    case 'revoked':
      return heads.length > 0;
    case 'confirming':
      return heads.some((id) => id !== last.of);
    case 'retracted':
      return (
        last.replacedBy !== undefined &&
        (heads.length > 0 ||
          [...topic.decisions.values()].some((d) => d.status === 'candidate' && isOther(d)))
      );
    case 'candidate':
    case 'approved':
    case 'rejected':
      return false;
  }
}

function findingsOf(
  planned: PlannedClaim,
  held: Decision | undefined,
  { topic, origin }: Place,
): FindingData[] {
  const { document, path } = planned;
  if (!document || path === undefined) return [];
  const finding = (kind: string, detail: string): FindingData => ({
    kind,
    documents: [path],
    detail: `${path} ${detail}`,
  });
  const reads = readsOf(document);
  if (document.isDecided === false)
    return headsOf(topic, planned.claim).map((id) =>
      finding(
        'status_contradicts_decision',
        `${reads}, but ${id}, which it gave, is approved; it holds until somebody revokes or supersedes it`,
      ),
    );
  if (document.isDecided === undefined || !held || held.origin === origin) return [];
  if (isDecidedBefore(held))
    return [
      finding('decided_before', `${reads}, but ${held.id} is ${held.status}; ${AGAIN_AS_DOCUMENT}`),
    ];
  return held.status === 'superseded' && !document.isReplaced
    ? [
        finding(
          'status_contradicts_decision',
          `${reads}, but ${held.id}, which it gave, was superseded by ${held.by}; it was not brought back`,
        ),
      ]
    : [];
}

const AGAIN_AS_DOCUMENT =
  'nothing was proposed again; with another date or other words it is a new decision';

function readsOf({ reads }: DocumentClaim): string {
  const line = reads.replace(/\s+/gu, ' ').trim();
  return line === '' ? 'states no status' : `reads "${line}"`;
}

/** Somebody said no to it, and these are the same words. */
function isDecidedBefore(held: Decision): boolean {
  if (held.status === 'retracted') return held.replacedBy === undefined;
  return held.status === 'revoked' || held.status === 'rejected';
}

/** Why a claim that is recorded already is not recorded again. */
export function reasonOfKnown(held: Decision): string {
  return isDecidedBefore(held)
    ? `decided_before: ${held.id} says the same and is ${held.status}; to propose it again, state a decided_at or effective_from of its own, or other words`
    : `duplicate of ${held.id}, which is ${held.status}`;
}

/** A head, or a claim that waits, of the same document in another topic: whatever is decided here does not reach it (QO-22). */
export function findingElsewhere(
  planned: PlannedClaim,
  home: string,
  other: { home: string; topic: Topic },
): FindingData[] {
  const { path, claim } = planned;
  if (path === undefined || claim.document === undefined || other.home === home) return [];
  const key = documentKey(claim.document);
  const isOpen = [...other.topic.decisions.values()].some(
    (d) => d.documentKey === key && (d.status === 'approved' || d.status === 'candidate'),
  );
  if (!isOpen) return [];
  const detail = `${path} belongs to the topic ${home}, and ${other.home} holds a decision of it too; each is decided by itself until ${other.home} is merged into ${home}`;
  return [{ kind: 'topic_merge_needed', documents: [path], detail }];
}
