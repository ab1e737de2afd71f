import { canonicalJson } from '#kernel/json.js';
import { ruleKey } from './ontology-content.js';
import type { OntologyContent } from './ontology.events.js';

/** One difference between two ontologies, in words that need no context. */
export interface Difference {
  kind: 'added' | 'removed' | 'changed' | 'merged';
  what: 'topic' | 'dimension' | 'value' | 'source_type' | 'authority';
  /** Topic id, `<dimension>`, `<dimension>=<value>`, source type, or `<topic>/<source type>`. */
  id: string;
  /** Of `changed`: which property. */
  field?: string;
  before?: string;
  after?: string;
}

type Entry = Readonly<Record<string, unknown>>;

/** What changed between two ontologies, topics first, in the order of ids. */
export function differences(before: OntologyContent, after: OntologyContent): Difference[] {
  const merges = after.merged.slice(before.merged.length);
  const merged = new Set(merges.map((merge) => merge.topic));
  return [
    ...merges.map(({ topic, into }): Difference => ({
      kind: 'merged',
      what: 'topic',
      id: topic,
      after: into,
    })),
    ...compared('topic', byId(before.topics, topicId), byId(after.topics, topicId)).filter(
      (d) => d.kind !== 'removed' || !merged.has(d.id),
    ),
    ...compared('dimension', byId(before.dimensions, nameOf), byId(after.dimensions, nameOf)),
    ...compared('value', valuesOf(before), valuesOf(after)),
    ...compared('source_type', byId(before.source_types, nameOf), byId(after.source_types, nameOf)),
    ...compared('authority', byId(before.authority, ruleId), byId(after.authority, ruleId)),
  ];
}

const topicId = (topic: OntologyContent['topics'][number]): string => topic.id;
const nameOf = (named: { name: string }): string => named.name;
const ruleId = (rule: OntologyContent['authority'][number]): string =>
  ruleKey(rule).replace('\n', '/').replace(/\/$/, '');

function byId<T extends Entry>(items: readonly T[], id: (item: T) => string): Map<string, Entry> {
  return new Map(items.map((item) => [id(item), item]));
}

function valuesOf({ dimensions }: OntologyContent): Map<string, Entry> {
  return new Map(
    dimensions.flatMap(({ name, values }) => values.map((v) => [`${name}=${v.value}`, v] as const)),
  );
}

/** Properties that are the entry's own name, or listed by themselves. */
const NAMING = new Set(['id', 'values', 'value', 'topic', 'source_type']);

function compared(
  what: Difference['what'],
  before: ReadonlyMap<string, Entry>,
  after: ReadonlyMap<string, Entry>,
): Difference[] {
  const ids = [...new Set([...before.keys(), ...after.keys()])].sort();
  return ids.flatMap((id): Difference[] => {
    const [old, now] = [before.get(id), after.get(id)];
    if (!old) return [{ kind: 'added', what, id, after: summary(now ?? {}) }];
    if (!now) return [{ kind: 'removed', what, id, before: summary(old) }];
    return old === now ? [] : changed(what, id, old, now);
  });
}

function changed(what: Difference['what'], id: string, old: Entry, now: Entry): Difference[] {
  const fields = [...new Set([...Object.keys(old), ...Object.keys(now)])].sort();
  return fields.flatMap((field): Difference[] => {
    if (NAMING.has(field)) return [];
    const [before, after] = [text(old[field]), text(now[field])];
    if (before === after) return [];
    return [
      {
        kind: 'changed',
        what,
        id,
        field,
        ...(before === undefined ? {} : { before }),
        ...(after === undefined ? {} : { after }),
      },
    ];
  });
}

function summary(entry: Entry): string {
  return Object.entries(entry)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .filter(([field]) => !NAMING.has(field))
    .map(([field, value]) => [field, text(value)] as const)
    .filter(([, value]) => value !== undefined && value !== '')
    .map(([field, value]) => `${field}: ${value ?? ''}`)
    .join('; ');
}

function text(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  if (Array.isArray(value)) return value.map((item) => String(item)).join(', ');
  return typeof value === 'string' ? value : canonicalJson(value);
}
