import { foldName, nameKey } from '#kernel/text.js';
import { apply, ruleKey, type Draft } from './ontology-content.js';
import { ONTOLOGY_LIMITS, Refusals, type Place, type Recorded } from './ontology-step.js';
import { TopicSteps } from './ontology-topics.js';
import type { Dimension, StoredOperation } from './ontology.events.js';

type Field = Exclude<keyof StoredOperation, 'op'>;

/** Which fields an operation must have, and which it may have. */
const FIELDS: Readonly<Record<string, readonly [readonly Field[], readonly Field[]]>> = {
  add_topic: [['name'], ['topic', 'aliases', 'parent', 'succession', 'description']],
  rename_topic: [['topic', 'name'], []],
  add_alias: [['topic', 'alias'], []],
  remove_alias: [['topic', 'alias'], []],
  set_parent: [['topic'], ['parent']],
  set_succession: [['topic', 'succession'], []],
  describe_topic: [['topic', 'description'], []],
  remove_topic: [['topic'], []],
  merge_topics: [['topic', 'into'], []],
  add_dimension: [['dimension'], ['values', 'open', 'description']],
  remove_dimension: [['dimension'], []],
  add_value: [['dimension', 'value'], ['parent']],
  set_value_parent: [['dimension', 'value'], ['parent']],
  remove_value: [['dimension', 'value'], []],
  set_dimension_open: [['dimension', 'open'], []],
  add_source_type: [['source_type'], ['description']],
  remove_source_type: [['source_type'], []],
  set_authority: [['topic'], ['source_type', 'role', 'persons', 'precedence']],
  remove_authority: [['topic'], ['source_type']],
};

/** Every operation by its name. */
export const OPERATIONS = Object.keys(FIELDS);

/** A step with the place in the input that a refusal points at, such as `change[2]`. */
export interface Given {
  step: StoredOperation;
  path: string;
}

/**
 * Checks each step against the ontology as the steps before it leave it, and does it. Returns the steps as they are stored: topics by
 * id, dimensions and values as they are declared, and a topic that records opened is declared first.
 */
export function accept(
  draft: Draft,
  change: readonly Given[],
  recorded: Recorded,
): StoredOperation[] {
  const accepted: StoredOperation[] = [];
  const put = (step: StoredOperation): void => {
    accepted.push(step);
    apply(draft, step);
  };
  for (const { step, path } of change) acceptStep({ draft, step, path, recorded, put });
  return accepted;
}

function acceptStep(place: Place): void {
  refuseFields(place);
  const { op, topic, dimension } = place.step;
  if (op === 'set_authority' || op === 'remove_authority') authority(place);
  else if (op === 'add_topic' || topic !== undefined) new TopicSteps(place).accept();
  else if (op === 'add_dimension') addDimension(place);
  else if (dimension !== undefined) changeDimension(place);
  else sourceType(place);
}

/** A field that an operation does not know would be silently without effect: refused instead. */
function refuseFields({ step: { op, ...given }, path }: Place): void {
  const refusals = new Refusals(path);
  const [needed, possible] = FIELDS[op] ?? [[], []];
  for (const field of needed)
    if (given[field] === undefined)
      throw refusals.wrong(field, `${op} needs it`, `give ${needed.join(' and ')}`);
  for (const field of Object.keys(given) as Field[])
    if (given[field] !== undefined && !needed.includes(field) && !possible.includes(field))
      throw refusals.wrong(field, `has no meaning for ${op}`, 'leave it out');
}

function authority(place: Place): void {
  const { draft, step, path } = place;
  const refusals = new Refusals(path);
  const topic = step.topic === '*' ? '*' : new TopicSteps(place).topic('topic');
  const named = {
    topic,
    ...(step.source_type === undefined ? {} : { source_type: sourceTypeNamed(place) }),
  };
  if (step.op === 'remove_authority') {
    if (!draft.authority.has(ruleKey(named)))
      throw refusals.wrong('topic', 'has no such rule', 'get_ontology lists the rules');
    place.put({ ...step, ...named });
    return;
  }
  const persons = [...new Set(step.persons)];
  if (step.role === undefined && persons.length === 0)
    throw refusals.wrong(
      'role',
      'neither a role nor persons are named',
      'give a role, persons or both',
    );
  place.put({ ...step, ...named, persons });
}

/** The declared spelling of the type of source that a step names. */
function sourceTypeNamed({ draft, step: { source_type: name = '' }, path }: Place): string {
  const found = draft.sourceTypes.get(nameKey(name));
  if (found) return found.name;
  throw new Refusals(path).unknown(
    'source_type',
    'unknown_source_type',
    `"${name}" is no declared type of source`,
    'add it by add_source_type first',
  );
}

function sourceType(place: Place): void {
  const { draft, step, path } = place;
  const refusals = new Refusals(path);
  if (step.op === 'add_source_type') {
    const found = draft.sourceTypes.get(nameKey(step.source_type ?? ''));
    if (found) throw refusals.duplicate('source_type', found.name);
    place.put(step);
    return;
  }
  const name = sourceTypeNamed(place);
  const user = [...draft.authority.values()].find((rule) => rule.source_type === name);
  if (user)
    throw refusals.inUse(
      'source_type',
      `the rule of ${user.topic} names it`,
      'remove that rule first',
    );
  place.put({ ...step, source_type: name });
}

function addDimension(place: Place): void {
  const { draft, step, path } = place;
  const { dimension = '', values = [], ...rest } = step;
  const found = draft.dimension(dimension);
  if (found) throw new Refusals(path).duplicate('dimension', found.name);
  place.put({ ...rest, dimension });
  values.forEach(({ value, parent }, i) => {
    const above = parent === undefined ? {} : { parent };
    changeDimension({
      ...place,
      step: { op: 'add_value', dimension, value, ...above },
      path: `${path}.values[${i}]`,
    });
  });
}

function changeDimension(place: Place): void {
  const { draft, step, path } = place;
  const { op, dimension: name = '', value: given = '', parent: above, ...rest } = step;
  const dimension = draft.dimension(name);
  if (!dimension)
    throw new Refusals(path).unknown(
      'dimension',
      'unknown_dimension',
      `"${name}" is no declared dimension`,
      'add it by add_dimension first',
    );
  const named = { op, ...rest, dimension: dimension.name };
  if (op === 'remove_dimension' || op === 'set_dimension_open') {
    place.put(named);
    return;
  }
  const value = op === 'add_value' ? newValue(place, dimension) : declared(place, dimension, given);
  if (op === 'remove_value') refuseBelow(place, dimension, value);
  const parent = above === undefined ? undefined : declared(place, dimension, above, 'parent');
  if (parent !== undefined) refuseRing(place, dimension, value, parent);
  place.put({ ...named, value, ...(parent === undefined ? {} : { parent }) });
  if (parent !== undefined) refuseDepth(place, dimension.name);
}

function newValue({ step: { value = '' }, path }: Place, dimension: Dimension): string {
  const found = valueNamed(dimension, value);
  if (found !== undefined) throw new Refusals(path).duplicate('value', found);
  return value;
}

function declared(place: Place, dimension: Dimension, name: string, field = 'value'): string {
  const found = valueNamed(dimension, name);
  if (found !== undefined) return found;
  throw new Refusals(place.path).unknown(
    field,
    'unknown_value',
    `"${name}" is no declared value of ${dimension.name}`,
    'add it by add_value first; a value that others lie below comes before them',
  );
}

function refuseBelow(place: Place, dimension: Dimension, value: string): void {
  const child = dimension.values.find((v) => v.parent === value);
  if (child)
    throw new Refusals(place.path).inUse(
      'value',
      `${child.value} lies below it`,
      `set the parent of ${child.value} first`,
    );
}

function refuseRing(place: Place, dimension: Dimension, value: string, parent: string): void {
  const above = new Map(dimension.values.map((v) => [v.value, v.parent]));
  for (let at: string | undefined = parent; at !== undefined; at = above.get(at))
    if (at === value) throw new Refusals(place.path).ring('parent', value, parent);
}

function refuseDepth({ draft, path }: Place, name: string): void {
  const { values = [] } = draft.dimension(name) ?? {};
  const above = new Map(values.map((v) => [v.value, v.parent]));
  for (const { value } of values) {
    let depth = 0;
    for (let at: string | undefined = value; at !== undefined; at = above.get(at)) depth += 1;
    if (depth > ONTOLOGY_LIMITS.depth)
      throw new Refusals(path).tooDeep('parent', 'values', ONTOLOGY_LIMITS.depth);
  }
}

/** The declared spelling of a value, whatever case or form it is asked in (B33). */
export function valueNamed(dimension: Dimension, value: string): string | undefined {
  const key = foldName(value);
  return dimension.values.find((v) => foldName(v.value) === key)?.value;
}

/** Every name that a change uses for a topic: what must be looked up among the topics that records opened. */
export function namesIn(change: readonly StoredOperation[]): string[] {
  return change.flatMap(({ topic, name, alias, aliases, parent, into }) =>
    [topic, name, alias, ...(aliases ?? []), parent, into].filter((n) => n !== undefined),
  );
}
