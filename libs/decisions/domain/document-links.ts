import type { ReadDocument } from './document.js';
import type { DocumentIndex } from './document-resolve.js';
import type { Context, Statement } from './document-statements.js';
import { shown } from './document-text.js';
import type { DocumentLink, Finding, LinkKind } from './document-types.js';

/** The weaker of two claims about the same pair is kept: what only one side calls a full supersession retires nothing. */
const STRENGTH: Record<LinkKind, number> = { amends: 0, partially_supersedes: 1, supersedes: 2 };

export interface LinksRead {
  links: DocumentLink[];
  findings: Finding[];
}

/** Unites what both sides state. Every statement that does not become a two-sided link leaves a finding. */
export function linksOf(documents: readonly ReadDocument[], index: DocumentIndex): LinksRead {
  const links = new Map<string, DocumentLink>();
  const findings: Finding[] = [];
  for (const document of documents) {
    for (const statement of document.statements) {
      const other = settle(document, statement, index, findings);
      if (other !== undefined) unite(links, document.document.path, other, statement);
    }
    findings.push(...document.unclear.map((mentions) => unclear(document.document.path, mentions)));
  }
  const all = [...links.values()].sort(
    (a, b) => order(a.newer, b.newer) || order(a.older, b.older),
  );
  return { links: all, findings: [...findings, ...all.flatMap(oneSided)] };
}

/** Code unit order, the same on every machine. */
export function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The path of the other document, where it is beyond doubt. */
function settle(
  from: ReadDocument,
  { other, context, self }: Statement,
  index: DocumentIndex,
  findings: Finding[],
): string | undefined {
  const { path } = from.document;
  const said = self === 'newer' ? 'a record it replaces or amends' : 'its successor';
  const resolution = index.resolve(other, from);
  if (resolution.kind === 'found') {
    if (resolution.dangling === undefined) return resolution.path;
    const detail = `${path} gives ${shown(resolution.dangling)} as ${said}, which is no record here; by its name ${resolution.path} is meant`;
    findings.push({ kind: 'dangling_link', documents: [path, resolution.path], detail });
    return resolution.path;
  }
  if (resolution.kind === 'several') {
    const detail = `${path} names ${shown(other.label)} as ${said}, which may be any of ${resolution.paths.join(', ')}`;
    findings.push({
      kind: 'ambiguous_link',
      documents: [path, ...resolution.paths],
      detail,
    });
    return undefined;
  }
  if (resolution.record || isReported(context, other.href))
    findings.push({
      kind: 'dangling_link',
      documents: [path],
      detail: `${path} names ${said}: ${resolution.why}`,
    });
  return undefined;
}

/** What is no record's name counts as a broken reference only where nothing but a record is expected. */
function isReported(context: Context, href: string | undefined): boolean {
  return context === 'field' || (context === 'status' && href !== undefined);
}

function unite(
  links: Map<string, DocumentLink>,
  path: string,
  other: string,
  { kind, self }: Statement,
): void {
  const [newer, older] = self === 'newer' ? [path, other] : [other, path];
  const key = JSON.stringify([newer, older]);
  const known = links.get(key);
  if (known === undefined) {
    links.set(key, { kind, newer, older, statedBy: [self] });
    return;
  }
  if (STRENGTH[kind] < STRENGTH[known.kind]) known.kind = kind;
  if (!known.statedBy.includes(self)) known.statedBy = ['newer', 'older'];
}

function oneSided({ kind, newer, older, statedBy }: DocumentLink): Finding[] {
  const [side] = statedBy;
  if (statedBy.length > 1 || side === undefined || newer === older) return [];
  const [stating, silent] = side === 'newer' ? [newer, older] : [older, newer];
  const detail = `only ${stating} says that ${newer} ${kind.replace('_', ' ')} ${older}; ${silent} does not`;
  return [{ kind: 'one_sided_link', documents: [stating, silent], detail }];
}

function unclear(path: string, mentions: readonly { label: string }[]): Finding {
  const names = shown(mentions.map(({ label }) => label).join(', '));
  const detail = `${path} is superseded and names several records (${names}), none of them as its successor`;
  return { kind: 'ambiguous_link', documents: [path], detail };
}
