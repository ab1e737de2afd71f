import { canonicalJson } from '#kernel/json.js';
import { foldName, nameKey } from '#kernel/text.js';
import { Draft, ruleKey } from './ontology-content.js';
import { valueNamed, type Given } from './ontology-operations.js';
import type {
  AuthorityRule,
  DimensionValue,
  OntologyContent,
  OntologyTopic,
  SourceType,
  StoredOperation,
  Succession,
} from './ontology.events.js';

/** What a description or a caller wants an ontology to have. Topics are named, not numbered: order does not matter. */
export interface Wanted {
  topics: {
    name: string;
    aliases?: string[] | undefined;
    parent?: string | undefined;
    succession?: Succession | undefined;
    description?: string | undefined;
  }[];
  dimensions: {
    name: string;
    values?: DimensionValue[] | undefined;
    open?: boolean | undefined;
    description?: string | undefined;
  }[];
  source_types: SourceType[];
  authority: {
    topic: string;
    source_type?: string | undefined;
    role?: AuthorityRule['role'] | undefined;
    persons?: string[] | undefined;
    precedence?: number | undefined;
  }[];
}

/**
 * The steps from an ontology to one that also has what is wanted. What is there already stays, and nothing is removed: so the same
 * draft again gives no step (QO-16). `place` is where the draft stands in the input.
 */
export function stepsTowards(wanted: Wanted, content: OntologyContent, place: string): Given[] {
  const have = new Draft(content);
  const at = (path: string) => (step: StoredOperation) => ({ step, path: `${place}${path}` });
  return [
    ...wanted.topics.flatMap((topic, i) => ofTopic(topic, have).map(at(`topics[${i}]`))),
    ...wanted.topics.flatMap((topic, i) => parentOf(topic, have).map(at(`topics[${i}]`))),
    ...wanted.dimensions.flatMap((d, i) => ofDimension(d, have).map(at(`dimensions[${i}]`))),
    ...wanted.source_types.flatMap((type, i) =>
      have.sourceTypes.has(nameKey(type.name))
        ? []
        : [
            at(`source_types[${i}]`)({
              op: 'add_source_type',
              source_type: type.name,
              ...described(type),
            }),
          ],
    ),
    ...wanted.authority.flatMap((rule, i) => ofRule(rule, have).map(at(`authority[${i}]`))),
  ];
}

function described({ description }: { description?: string | undefined }) {
  return description === undefined ? {} : { description };
}

function ofTopic(topic: Wanted['topics'][number], have: Draft): StoredOperation[] {
  const { name, aliases = [], succession } = topic;
  const known = have.topics.get(have.names.get(nameKey(name)) ?? '');
  if (!known)
    return [
      {
        op: 'add_topic',
        name,
        aliases,
        ...(succession === undefined ? {} : { succession }),
        ...described(topic),
      },
    ];
  return [
    ...aliases
      .filter((alias) => have.names.get(nameKey(alias)) !== known.id)
      .map((alias) => ({ op: 'add_alias', topic: known.id, alias })),
    ...(succession === undefined || succession === known.succession
      ? []
      : [{ op: 'set_succession', topic: known.id, succession }]),
    ...newDescription(topic, known),
  ];
}

function newDescription(
  { description }: Wanted['topics'][number],
  known: OntologyTopic,
): StoredOperation[] {
  return description === undefined || description === known.description
    ? []
    : [{ op: 'describe_topic', topic: known.id, description }];
}

/** After every topic is there, so that a child may be named before its parent. */
function parentOf({ name, parent }: Wanted['topics'][number], have: Draft): StoredOperation[] {
  if (parent === undefined) return [];
  const known = have.topics.get(have.names.get(nameKey(name)) ?? '');
  if (known?.parent !== undefined && known.parent === have.names.get(nameKey(parent))) return [];
  return [{ op: 'set_parent', topic: known?.id ?? name, parent }];
}

function ofDimension(dimension: Wanted['dimensions'][number], have: Draft): StoredOperation[] {
  const { name, values = [], open } = dimension;
  const ordered = parentsFirst(values);
  const known = have.dimension(name);
  if (!known)
    return [
      {
        op: 'add_dimension',
        dimension: name,
        values: ordered,
        ...(open === undefined ? {} : { open }),
        ...described(dimension),
      },
    ];
  return [
    ...(open === undefined || open === known.open
      ? []
      : [{ op: 'set_dimension_open', dimension: known.name, open }]),
    ...ordered
      .filter((v) => valueNamed(known, v.value) === undefined)
      .map((v) => ({ op: 'add_value', dimension: known.name, ...v })),
  ];
}

/** Values in an order in which each stands after the one above it; those in a ring or without a declared parent keep their place at the end. */
function parentsFirst(values: readonly DimensionValue[]): DimensionValue[] {
  const waiting = new Map<string, DimensionValue[]>();
  const named = new Set(values.map((v) => foldName(v.value)));
  const placed: DimensionValue[] = [];
  for (const value of values) {
    const above = value.parent === undefined ? undefined : foldName(value.parent);
    if (above === undefined || !named.has(above)) placed.push(value);
    else waiting.set(above, [...(waiting.get(above) ?? []), value]);
  }
  for (const value of placed) {
    const key = foldName(value.value);
    placed.push(...(waiting.get(key) ?? []));
    waiting.delete(key);
  }
  return [...placed, ...[...waiting.values()].flat()];
}

function ofRule(rule: Wanted['authority'][number], have: Draft): StoredOperation[] {
  const { topic, persons = [], precedence = 0, ...rest } = rule;
  const id = topic === '*' ? '*' : (have.names.get(nameKey(topic)) ?? topic);
  const wanted = present({ ...rest, topic: id, persons, precedence });
  const known = have.authority.get(ruleKey(wanted));
  if (known && canonicalJson(known) === canonicalJson(wanted)) return [];
  return [{ op: 'set_authority', ...wanted, topic }];
}

function present(rule: {
  topic: string;
  source_type?: string | undefined;
  role?: AuthorityRule['role'] | undefined;
  persons: string[];
  precedence: number;
}): AuthorityRule {
  const { source_type, role, ...rest } = rule;
  return {
    ...rest,
    ...(source_type === undefined ? {} : { source_type }),
    ...(role === undefined ? {} : { role }),
  };
}
