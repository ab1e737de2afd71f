import type { Json } from '#kernel/json.js';
import { contentHash, decisionId } from './claim.js';
import type { FindingData } from './ingestion.events.js';
import type { Evidence, Proposed, Relation, Scope } from './topic.events.js';

/** What an ingestion was handed, without the texts; stored as a blob before the ingestion is acknowledged. */
export interface Manifest {
  collection: string;
  sources: ManifestSource[];
  /** Present for a folder: `sources[i]` is the document at `paths[i]`. */
  paths?: string[];
  records: ManifestRecord[];
  /** Present where no records were given: what reader took them from the text, and what it has to say. */
  extraction?: { by: string; findings: FindingData[] };
  /** What was seen when it was handed in, and belongs into the result. */
  remarks?: FindingData[];
}

export interface ManifestSource {
  source_id: string;
  sha256: string;
  /** Blob of the sealed text; with the ids of its keys. Both absent where nothing is sealed. */
  blob?: string;
  keys?: string[];
  subject?: string;
  bytes: number;
  title: string;
  type: string;
  document: string;
  uri?: string;
  author?: string;
  occurred_at?: string;
}

/** A record as given, its quotes found and its topics looked up. No topic: a reviewer assigns one. */
export interface ManifestRecord {
  topics: { id: string; name: string }[];
  statement: string;
  value?: Json;
  scope: Scope;
  effective_from?: string;
  effective_to?: string;
  decided_at?: string;
  /** Decision ids, or `#n` for record n. */
  supersedes: string[];
  status: 'candidate' | 'approved';
  evidence: Evidence[];
  /** Further reasons why it waits. */
  reasons?: string[];
}

export interface PlannedClaim {
  index: number;
  path?: string;
  topic: { id: string; name: string; aliases: string[] };
  claim: Omit<Proposed, 'proposed_by' | 'origin'>;
  approve: boolean;
  /** Present for a document. */
  document?: DocumentClaim;
}

/** What a folder says of a document, beside its words. */
export interface DocumentClaim {
  /** Its status as written; empty where none is stated. */
  reads: string;
  /** Whether that says that it was decided; undefined where the folder does not settle it. */
  isDecided: boolean | undefined;
  /** Another document of the folder supersedes it. */
  isReplaced: boolean;
  /** The other topics that hold claims of it. */
  elsewhere: readonly string[];
}

export interface Plan {
  /** Claims by topic, each topic's in the order in which they must be recorded. */
  topics: PlannedClaim[][];
  skipped: { index: number; path: string; reason: string }[];
  findings: FindingData[];
}

/** Keys of what was read from the document `index` of a folder, or of the one source. */
export function keysOfRecord({ paths, sources }: Manifest, index: number): string[] {
  return sources[paths ? index : 0]?.keys ?? [];
}

/** Keys of what findings tell of: those of the documents that they name, or all. */
export function keysOfFindings(
  { paths, sources }: Manifest,
  findings: readonly FindingData[],
): string[] {
  const places = findings.flatMap((f) => f.documents.map((name) => paths?.indexOf(name) ?? -1));
  const named = places.includes(-1) ? sources : places.flatMap((i) => sources[i] ?? []);
  return [...new Set(named.flatMap((source) => source.keys ?? []))];
}

/** Topic that holds the candidates of one ingestion, or those taken from one text, which name none; it is no topic that can be asked about. */
export function unassignedTopic(of: string): string {
  return `~${of}`;
}

export function isUnassigned(topic: string): boolean {
  return topic.startsWith('~');
}

export type Said = Omit<
  Proposed,
  'decision_id' | 'content_hash' | 'reasons' | 'proposed_by' | 'origin' | 'keys' | 'document_key'
>;

export function claimOf(
  topic: string,
  said: Said,
  reasons: string[],
): Omit<Proposed, 'proposed_by' | 'origin'> {
  return {
    decision_id: decisionId(topic, said),
    ...said,
    content_hash: contentHash(said),
    reasons,
  };
}

/** The same claim with other links. */
export function withLinks(
  { claim }: PlannedClaim,
  supersedes: string[],
  relations: Relation[],
): PlannedClaim['claim'] {
  const { decision_id, reasons, content_hash: _hash, ...said } = claim;
  const linked = { ...said, supersedes, relations };
  return { decision_id, ...linked, content_hash: contentHash(linked), reasons };
}

/** What an ingestion of records will propose and approve. */
export function planRecords(
  manifest: Manifest,
  { governor, job }: { governor: boolean; job: string },
): Plan {
  // What is taken from the same text again is recognised as the same.
  const of = manifest.extraction ? (manifest.sources[0]?.source_id ?? job) : job;
  const unassigned = { id: unassignedTopic(of), name: 'unassigned' };
  const claims = manifest.records.flatMap((record, index) =>
    (record.topics.length > 0 ? record.topics : [unassigned]).map((topic): PlannedClaim => {
      const reasons = reasonsOf(record, governor, isUnassigned(topic.id));
      const { topics: _topics, status: _status, reasons: _reasons, supersedes, ...said } = record;
      return {
        index,
        topic: { ...topic, aliases: isUnassigned(topic.id) ? [] : [topic.name] },
        claim: claimOf(
          topic.id,
          {
            ...said,
            supersedes: supersedes.map((ref) => idOfReference(manifest, topic.id, ref)),
            relations: [],
          },
          reasons,
        ),
        approve: reasons.length === 0,
      };
    }),
  );
  const findings = [...(manifest.remarks ?? []), ...(manifest.extraction?.findings ?? [])];
  return { topics: byTopic(claims), skipped: [], findings };
}

function reasonsOf(record: ManifestRecord, governor: boolean, unassigned: boolean): string[] {
  const more = record.reasons ?? [];
  if (unassigned) return ['topic_unassigned', ...more];
  if (record.status === 'candidate') return ['awaiting_review', ...more];
  return [
    ...(governor ? [] : ['requires_governor']),
    ...(record.evidence.length > 0 ? [] : ['evidence_unverified']),
  ];
}

function idOfReference(manifest: Manifest, topic: string, reference: string): string {
  const target = /^#(\d+)$/.exec(reference);
  const record = target && manifest.records[Number(target[1])];
  return record ? decisionId(topic, record) : reference;
}

/** Members of a ring among the `#n` references of one ingestion, if there is one (B08). */
export function ringAmongRecords(
  records: readonly { supersedes?: readonly string[] | undefined }[],
): number[] | undefined {
  const state = new Map<number, 'open' | 'done'>();
  const walk = (index: number, trail: number[]): number[] | undefined => {
    if (state.get(index) === 'done') return undefined;
    if (state.get(index) === 'open') return trail.slice(trail.indexOf(index));
    state.set(index, 'open');
    for (const reference of records[index]?.supersedes ?? []) {
      const next = /^#(\d+)$/.exec(reference)?.[1];
      const found = next === undefined ? undefined : walk(Number(next), [...trail, index]);
      if (found) return found;
    }
    state.set(index, 'done');
    return undefined;
  };
  for (const index of records.keys()) {
    const found = walk(index, []);
    if (found) return found;
  }
  return undefined;
}

export function byTopic(claims: readonly PlannedClaim[]): PlannedClaim[][] {
  return [...Map.groupBy(inOrder(claims), (c) => c.topic.id).values()];
}

/** Superseded claims before those that supersede them; otherwise as given. Members of a ring come as they are. */
function inOrder(claims: readonly PlannedClaim[]): PlannedClaim[] {
  const byId = new Map(claims.map((c) => [c.claim.decision_id, c]));
  const ordered = new Set<PlannedClaim>();
  const visiting = new Set<PlannedClaim>();
  const visit = (planned: PlannedClaim): void => {
    if (ordered.has(planned) || visiting.has(planned)) return;
    visiting.add(planned);
    for (const id of planned.claim.supersedes) {
      const target = byId.get(id);
      if (target) visit(target);
    }
    ordered.add(planned);
  };
  claims.forEach(visit);
  return [...ordered];
}
