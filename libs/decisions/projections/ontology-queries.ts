import type { Reads, Row } from '#projections/read-database.js';
import { Recent } from '#kernel/recent.js';
import { Refusal } from '#kernel/refusal.js';
import { nameKey } from '#kernel/text.js';
import { withinOf, type IsWithin } from '../domain/hierarchy.js';
import { EMPTY } from '../domain/ontology-content.js';
import { valueNamed } from '../domain/ontology-operations.js';
import type { AuthorityRule, OntologyContent, Succession } from '../domain/ontology.events.js';
import type { Known } from '../domain/claim-view.js';
import { ontology } from './ontology.js';

/** What a version of the ontology means for decisions. */
export interface OntologyView {
  /** 0: none was active. */
  version: number;
  isWithin: IsWithin;
  successionOf(topic: string): Succession;
  /** Who may approve for a topic, from the rule that fits best; undefined where none fits. It states, it never approves (QO-15). */
  authorityFor(
    topic: string,
    sourceType?: string,
  ): { roles: string[]; persons: string[] } | undefined;
  isDeclaredDimension(dimension: string): boolean;
  /** Entries of a scope whose dimension is declared and closed, and does not have the value. */
  undeclared(scope: Readonly<Record<string, string>>): string[];
  content: OntologyContent;
}

export const LATEST: Known = { position: Infinity, ms: Infinity };

/** For SQL, which has no infinity. */
export function limitsOf(known: Known): [number, number] {
  return [
    Math.min(known.position, Number.MAX_SAFE_INTEGER),
    Math.min(known.ms, Number.MAX_SAFE_INTEGER),
  ];
}

/** Views by what they are made of, so that one serves every read of the same version. */
const views = new Recent<OntologyView>(200);
const NONE = viewOf(0, EMPTY);

/** The ontology that was active as far as was known. */
export function ontologyAt(reads: Reads, workspace: string, known: Known = LATEST): OntologyView {
  const isPast = known.position < Infinity || known.ms < Infinity;
  if (isPast) return readOntology(reads, workspace, known);
  return reads.memo(ontology, workspace, () => readOntology(reads, workspace, known));
}

function readOntology(reads: Reads, workspace: string, known: Known): OntologyView {
  const row = versionAt(reads, workspace, known);
  if (!row) return NONE;
  const version = row['version'] as number;
  const key = `${version} ${row['sha256'] as string}`;
  let view = views.get(key);
  if (!view) {
    view = viewOf(version, contentOfVersion(reads, workspace, version));
    views.set(key, view);
  }
  return view;
}

/** Version, hash and circumstances, without the content. */
export function versionAt(reads: Reads, workspace: string, known: Known): Row | undefined {
  return reads.get(
    `SELECT version, sha256 FROM ontology_version
      WHERE workspace = ? AND position <= ? AND recorded_ms <= ? ORDER BY version DESC LIMIT 1`,
    workspace,
    ...limitsOf(known),
  );
}

function contentOfVersion(reads: Reads, workspace: string, version: number): OntologyContent {
  const row = reads.get(
    'SELECT content FROM ontology_version WHERE workspace = ? AND version = ?',
    workspace,
    version,
  );
  return JSON.parse(row?.['content'] as string) as OntologyContent;
}

export function viewOf(version: number, content: OntologyContent): OntologyView {
  const topics = new Map(content.topics.map((topic) => [topic.id, topic]));
  const dimensions = new Map(content.dimensions.map((d) => [nameKey(d.name), d]));
  return {
    version,
    content,
    isWithin: withinOf(
      new Map(
        content.dimensions.map((d) => [d.name, new Map(d.values.map((v) => [v.value, v.parent]))]),
      ),
    ),
    successionOf: (topic) => topics.get(topic)?.succession ?? 'stated',
    authorityFor(topic, sourceType) {
      const above = new Map<string, number>();
      for (let at: string | undefined = topic; at !== undefined; at = topics.get(at)?.parent)
        above.set(at, above.size);
      above.set('*', above.size);
      const rule = content.authority
        .filter((r) => above.has(r.topic) && fits(r, sourceType))
        .sort((a, b) => compareRules(a, b, above, sourceType))[0];
      if (!rule) return undefined;
      return { roles: rule.role === undefined ? [] : [rule.role], persons: [...rule.persons] };
    },
    isDeclaredDimension: (dimension) => dimensions.has(nameKey(dimension)),
    undeclared: (scope) =>
      Object.entries(scope).flatMap(([name, value]) => {
        const dimension = dimensions.get(nameKey(name));
        return dimension && !dimension.open && valueNamed(dimension, value) === undefined
          ? [name]
          : [];
      }),
  };
}

/** A closed dimension has only the values that the ontology declares: nothing is recorded with another one, and none is asked about. */
export function assertPossible(
  view: OntologyView,
  scopes: readonly { path: string; scope: Readonly<Record<string, string>> | undefined }[],
  otherwise: string,
): void {
  const issues = scopes.flatMap(({ path, scope = {} }) =>
    view.undeclared(scope).map((dimension) => ({
      path: `${path}.${dimension}`,
      problem: `"${scope[dimension] ?? ''}" is no declared value of ${dimension}, which is closed`,
    })),
  );
  const [first] = issues;
  if (first)
    throw new Refusal('invalid', 'undeclared_scope_value', `${first.path}: ${first.problem}`, {
      path: first.path,
      issues,
      fix: `use a value that get_ontology lists, or ${otherwise}`,
    });
}

/** For the scope of a question. */
export function assertAskable(
  view: OntologyView,
  scope: Readonly<Record<string, string>> | undefined,
): void {
  assertPossible(view, [{ path: 'scope', scope }], 'leave the dimension out');
}

function fits(rule: AuthorityRule, sourceType: string | undefined): boolean {
  if (rule.source_type === undefined || sourceType === undefined) return true;
  return nameKey(rule.source_type) === nameKey(sourceType);
}

/** The higher precedence first; then the nearer topic; then the rule that is about just the sources asked about. */
function compareRules(
  a: AuthorityRule,
  b: AuthorityRule,
  above: ReadonlyMap<string, number>,
  sourceType: string | undefined,
): number {
  const particular = (rule: AuthorityRule): number =>
    (rule.source_type === undefined) === (sourceType === undefined) ? 0 : 1;
  return (
    b.precedence - a.precedence ||
    (above.get(a.topic) ?? 0) - (above.get(b.topic) ?? 0) ||
    particular(a) - particular(b)
  );
}

/** Proposals that build on the active version. */
export function openProposals(reads: Reads, workspace: string, active: number): number {
  const row = reads.get(
    `SELECT count(*) AS n FROM ontology_proposal WHERE workspace = ? AND status = 'open' AND base_version = ?`,
    workspace,
    active,
  );
  return (row?.['n'] ?? 0) as number;
}
