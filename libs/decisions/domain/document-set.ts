import { openDocument, placeholdersOf, readDocument, type ReadDocument } from './document.js';
import { forksOf, linesOf, ringsOf } from './document-lines.js';
import { linksOf, order } from './document-links.js';
import { DocumentIndex } from './document-resolve.js';
import type {
  DecisionDocument,
  DocumentFile,
  DocumentLink,
  DocumentSet,
  Finding,
} from './document-types.js';

export type {
  DecisionDocument,
  DecisionLine,
  DocumentFile,
  DocumentLink,
  DocumentSet,
  DocumentStatus,
  Finding,
  FindingKind,
  LinkKind,
  Span,
} from './document-types.js';

/**
 * Reads a folder of decision records: each file is a decision or skipped for a reason, links are what either side states, and what
 * does not fit together becomes a finding (QO-23). Pure; the order of `files` does not matter; no input makes it throw.
 */
export function readDocumentSet(files: readonly DocumentFile[]): DocumentSet {
  const { unique, repeated } = withoutRepeats(files);
  const opened = unique.map(openDocument);
  const placeholders = new Set(
    opened.flatMap((one) =>
      'skipped' in one && one.template !== undefined ? placeholdersOf(one.template) : [],
    ),
  );
  const read: ReadDocument[] = [];
  const skipped = [...repeated];
  for (const one of opened) {
    if ('skipped' in one) skipped.push({ path: one.path, reason: one.skipped });
    else read.push(readDocument(one, placeholders));
  }
  const reasons = new Map(skipped.map(({ path, reason }) => [path.toLowerCase(), reason]));
  const { links, findings } = linksOf(read, new DocumentIndex(read, reasons));
  const decisions = read.map(({ document }) => document);
  return {
    decisions,
    skipped: skipped.sort((a, b) => order(a.path, b.path)),
    links,
    findings: sorted([
      ...read.flatMap((one) => one.findings),
      ...findings,
      ...forksOf(links),
      ...ringsOf(links),
      ...contradictions(decisions, links, findings),
      ...sharedIdentifiers(read),
    ]),
    lines: linesOf(decisions, links),
  };
}

interface Unique {
  unique: DocumentFile[];
  repeated: { path: string; reason: string }[];
}

function withoutRepeats(files: readonly DocumentFile[]): Unique {
  const all = [...files].sort((a, b) => order(a.path, b.path) || order(a.text, b.text));
  const result: Unique = { unique: [], repeated: [] };
  for (const file of all) {
    const before = result.unique.at(-1);
    if (before?.path !== file.path) result.unique.push(file);
    else if (before.text !== file.text)
      result.repeated.push({
        path: file.path,
        reason: 'duplicate_path: given twice with different text',
      });
  }
  return result;
}

function sorted(findings: Finding[]): Finding[] {
  const key = ({ documents, kind, detail }: Finding): string =>
    JSON.stringify([documents, kind, detail]);
  const distinct = new Map(findings.map((finding) => [key(finding), finding]));
  return [...distinct].sort(([a], [b]) => order(a, b)).map(([, finding]) => finding);
}

/** Statuses that the links do not bear out. The links stand all the same. */
function contradictions(
  decisions: readonly DecisionDocument[],
  links: readonly DocumentLink[],
  named: readonly Finding[],
): Finding[] {
  const byPath = new Map(decisions.map((document) => [document.path, document]));
  const brokenIn = new Set(
    named.filter(({ kind }) => kind !== 'one_sided_link').map(({ documents }) => documents[0]),
  );
  const over = new Map<string, DocumentLink[]>();
  for (const link of links) over.set(link.older, [...(over.get(link.older) ?? []), link]);
  return decisions.flatMap((document) => {
    const mine = over.get(document.path) ?? [];
    const full = mine.filter(({ kind }) => kind === 'supersedes');
    if (document.status === 'accepted') return full.flatMap((link) => stillAccepted(link, byPath));
    if (NEVER_IN_FORCE.has(document.status)) return supersededYet(document, full);
    if (document.status !== 'superseded') return [];
    if (full.length > 0) return full.flatMap((link) => notYetDecided(link, byPath));
    return brokenIn.has(document.path) && mine.length === 0
      ? []
      : [withoutSuccessor(document, mine)];
  });
}

const NEVER_IN_FORCE = new Set(['proposed', 'draft', 'rejected']);

/** Its status says that it never came into force, and it names its successor nonetheless. */
function supersededYet(
  { path, status }: DecisionDocument,
  links: readonly DocumentLink[],
): Finding[] {
  const newer = links.filter(({ statedBy }) => statedBy.includes('older')).map((l) => l.newer);
  if (newer.length === 0) return [];
  const detail = `${path} reads ${status}, and says that it is superseded by ${newer.join(', ')}`;
  return [{ kind: 'status_contradicts_links', documents: [path, ...newer], detail }];
}

function stillAccepted(
  { newer, older, statedBy }: DocumentLink,
  byPath: ReadonlyMap<string, DecisionDocument>,
): Finding[] {
  const status = byPath.get(newer)?.status ?? '';
  const isOpen = NEVER_IN_FORCE.has(status);
  // A proposal that would replace it is no contradiction, unless the older one says that it did.
  if (isOpen && !statedBy.includes('older')) return [];
  const by = isOpen ? `${newer}, which is ${status}` : newer;
  const detail = `${older} reads accepted, but is superseded by ${by}`;
  return [{ kind: 'status_contradicts_links', documents: [older, newer], detail }];
}

function notYetDecided(
  { newer, older }: DocumentLink,
  byPath: ReadonlyMap<string, DecisionDocument>,
): Finding[] {
  const status = byPath.get(newer)?.status ?? '';
  if (!NEVER_IN_FORCE.has(status)) return [];
  const detail = `${older} reads superseded, but its successor ${newer} is ${status}`;
  return [{ kind: 'status_contradicts_links', documents: [older, newer], detail }];
}

function withoutSuccessor({ path }: DecisionDocument, partial: readonly DocumentLink[]): Finding {
  const others = partial.map(({ newer }) => newer);
  const detail =
    others.length === 0
      ? `${path} reads superseded, but nothing supersedes it`
      : `${path} reads superseded, but ${others.join(', ')} leaves a part of it standing`;
  return { kind: 'status_contradicts_links', documents: [path, ...others], detail };
}

/** Ids that two documents of one directory share; in different directories they are different series. */
function sharedIdentifiers(read: readonly ReadDocument[]): Finding[] {
  const holders = new Map<string, { name: string; paths: Set<string> }>();
  for (const { document, names } of read) {
    const ids = names.ids.map(({ prefix, number }) => `${prefix.toUpperCase()}${number}`);
    const keys = [
      ...ids.map((id) => [names.directory, id]),
      ...(names.anchor === undefined ? [] : [['#', names.anchor]]),
    ];
    for (const [space, name] of keys as [string, string][]) {
      const key = JSON.stringify([space, name]);
      const holder = holders.get(key) ?? { name, paths: new Set<string>() };
      holder.paths.add(document.path);
      holders.set(key, holder);
    }
  }
  const shared = [...holders.values()].filter(({ paths }) => paths.size > 1);
  return shared.map(({ name, paths }) => {
    const documents = [...paths].sort(order);
    return {
      kind: 'duplicate_identifier',
      documents,
      detail: `${name} names each of ${documents.join(', ')}`,
    };
  });
}
