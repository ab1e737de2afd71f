import { documentKey, topicId } from './claim.js';
import { readDocumentSet, type DecisionDocument, type DocumentSet } from './document-set.js';
import {
  byTopic,
  claimOf,
  planRecords,
  withLinks,
  type DocumentClaim,
  type Manifest,
  type Plan,
  type PlannedClaim,
  type Said,
} from './ingestion-plan.js';
import type { Evidence, Relation } from './topic.events.js';

/** The topics that hold claims of a document, by its key. */
export type TopicsOfDocuments = ReadonlyMap<string, readonly string[]>;

/** What an ingestion will propose and approve; the same input always gives the same plan. */
export function planIngestion(
  manifest: Manifest,
  texts: readonly string[],
  authority: { governor: boolean; job: string },
  known: TopicsOfDocuments,
): Plan {
  return manifest.paths
    ? planDocuments(manifest, manifest.paths, texts, authority.governor, known)
    : planRecords(manifest, authority);
}

/** What the documents of a folder are recognised by; none for records. */
export function documentKeys({ collection, paths = [] }: Manifest): string[] {
  return paths.map((path) => documentKey(`${collection}/${path}`));
}

interface Reading {
  set: DocumentSet;
  byPath: Map<string, DecisionDocument>;
  topicOf: Map<string, { id: string; name: string; aliases: string[] }>;
  ring: Set<string>;
  approved: Map<string, boolean>;
  governor: boolean;
  known: TopicsOfDocuments;
}

function planDocuments(
  manifest: Manifest,
  paths: readonly string[],
  texts: readonly string[],
  governor: boolean,
  known: TopicsOfDocuments,
): Plan {
  const set = readDocumentSet(paths.map((path, i) => ({ path, text: texts[i] ?? '' })));
  const personal = new Set(paths.filter((_, i) => manifest.sources[i]?.subject !== undefined));
  const reading: Reading = {
    set,
    byPath: new Map(set.decisions.map((d) => [d.path, d])),
    topicOf: topicsOfLines(set, manifest.collection, personal, known),
    ring: new Set(set.findings.filter((f) => f.kind === 'ring').flatMap((f) => f.documents)),
    approved: new Map(),
    governor,
    known,
  };
  const indexOf = new Map(paths.map((path, i) => [path, i]));
  const ids = new Map<string, string>();
  const claims = set.decisions.map((document): PlannedClaim => {
    const index = indexOf.get(document.path) ?? -1;
    const planned = planDocument(document, index, manifest, reading);
    ids.set(document.path, planned.claim.decision_id);
    return planned;
  });
  const linked = claims.map((planned) => link(planned, reading, ids));
  return {
    topics: byTopic(linked),
    skipped: set.skipped.map((s) => ({ index: indexOf.get(s.path) ?? -1, ...s })),
    findings: set.findings.map((f) => ({ ...f })),
  };
}

/**
 * A line of decisions is one topic: its id comes from the path of its first document, its name from that document's title. Where its
 * documents are known already, in whatever line, it is the topic that holds them: a link that comes or goes moves none of them. Names of topics
 * are stored in clear, so the title of a document about somebody (`personal`) is none: its path without the ending is.
 */
function topicsOfLines(
  set: DocumentSet,
  collection: string,
  personal: ReadonlySet<string>,
  known: TopicsOfDocuments,
): Reading['topicOf'] {
  const byPath = new Map(set.decisions.map((d) => [d.path, d]));
  return new Map(
    set.lines.flatMap((line) => {
      const first = line.documents[0] ?? '';
      const stem = first.replace(/\.[^./]+$/, '');
      const own = topicId(`${collection}/${stem}`);
      const held = line.documents.flatMap(
        (path) => known.get(documentKey(`${collection}/${path}`)) ?? [],
      );
      const topic = {
        id: held.includes(own) ? own : (held[0] ?? own),
        name: personal.has(first) ? stem : line.name,
        aliases: line.documents.flatMap((path) => {
          const document = byPath.get(path);
          if (!document) return [];
          return personal.has(path)
            ? document.identifiers
            : [document.title, ...document.identifiers];
        }),
      };
      return line.documents.map((path) => [path, topic] as const);
    }),
  );
}

function planDocument(
  document: DecisionDocument,
  index: number,
  manifest: Manifest,
  reading: Reading,
): PlannedClaim {
  const source_id = manifest.sources[index]?.source_id ?? '';
  const topic = reading.topicOf.get(document.path) ?? { id: '', name: '', aliases: [] };
  const { decision, decidedOn } = document;
  const evidence: Evidence[] = decision
    ? [
        {
          source_id,
          excerpt: decision.text,
          start: decision.start,
          end: decision.end,
          verbatim: true,
        },
      ]
    : [];
  const reasons = reasonsOfDocument(document, reading);
  const name = `${manifest.collection}/${document.path}`;
  const said: Said = {
    statement: document.title,
    document: name,
    scope: {},
    ...(decidedOn === undefined ? {} : { decided_at: decidedOn, effective_from: decidedOn }),
    supersedes: [],
    relations: [],
    evidence,
  };
  return {
    index,
    path: document.path,
    topic,
    claim: claimOf(topic.id, said, reasons),
    approve: reasons.length === 0,
    document: {
      reads: document.statusText,
      isDecided: isDecided(reasons),
      isReplaced: reading.set.links.some(
        (l) => l.kind === 'supersedes' && l.older === document.path,
      ),
      elsewhere: (reading.known.get(documentKey(name)) ?? []).filter((id) => id !== topic.id),
    },
  };
}

function isDecided(reasons: readonly string[]): DocumentClaim['isDecided'] {
  if (reasons.every((reason) => reason === 'requires_governor')) return true;
  const saysNo = (reason: string): boolean =>
    (reason.startsWith('status_') && reason !== 'status_unstated') ||
    reason === 'superseded_without_approved_successor';
  return reasons.some(saysNo) ? false : undefined;
}

function reasonsOfDocument(document: DecisionDocument, reading: Reading): string[] {
  if (reading.ring.has(document.path)) return ['supersession_ring'];
  if (document.status !== 'accepted' && document.status !== 'superseded')
    return [`status_${document.status}`];
  if (!document.decision) return ['no_decision_text'];
  if (!isApproved(document, reading)) return ['superseded_without_approved_successor'];
  return reading.governor ? [] : ['requires_governor'];
}

/** Accepted; or superseded by one that is approved itself, so that it enters as history and never as current. */
function isApproved(document: DecisionDocument, reading: Reading): boolean {
  const { approved, set, byPath, ring } = reading;
  const known = approved.get(document.path);
  if (known !== undefined) return known;
  approved.set(document.path, false);
  const eligible = document.decision !== undefined && !ring.has(document.path);
  const result =
    eligible &&
    (document.status === 'accepted' ||
      (document.status === 'superseded' &&
        set.links.some((l) => {
          const newer = l.older === document.path ? byPath.get(l.newer) : undefined;
          return l.kind === 'supersedes' && newer !== undefined && isApproved(newer, reading);
        })));
  approved.set(document.path, result);
  return result;
}

/** Adds the links now that every document has its decision id. Of a fork only the first retires the older one: the rest contest it. */
function link(planned: PlannedClaim, reading: Reading, ids: Map<string, string>): PlannedClaim {
  const { set, byPath, ring } = reading;
  const mine = set.links.filter((l) => l.newer === planned.path && l.newer !== l.older);
  const supersedes = mine
    .filter((l) => l.kind === 'supersedes' && !ring.has(l.newer))
    .filter((l) => !planned.approve || retires(l.older, l.newer, reading, byPath))
    .map((l) => ids.get(l.older) ?? '');
  const relations = mine
    .filter((l) => l.kind !== 'supersedes')
    .map((l) => ({ kind: l.kind, decision_id: ids.get(l.older) ?? '' }) as Relation);
  if (supersedes.length === 0 && relations.length === 0) return planned;
  return { ...planned, claim: withLinks(planned, supersedes, relations) };
}

function retires(
  older: string,
  newer: string,
  reading: Reading,
  byPath: Map<string, DecisionDocument>,
): boolean {
  const document = byPath.get(older);
  if (!document || !isApproved(document, reading)) return false;
  const first = reading.set.links.find((l) => {
    const rival = l.older === older && l.kind === 'supersedes' ? byPath.get(l.newer) : undefined;
    return rival !== undefined && isApproved(rival, reading);
  });
  return first?.newer === newer;
}
