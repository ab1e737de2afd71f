import { nameKey } from '#kernel/text.js';
import type {
  AuthorityRule,
  Dimension,
  Merge,
  OntologyContent,
  OntologyTopic,
  SourceType,
  StoredOperation,
} from './ontology.events.js';

export const EMPTY: OntologyContent = {
  topics: [],
  dimensions: [],
  source_types: [],
  authority: [],
  merged: [],
};

/** An ontology that is being changed. Its entries are replaced, never changed in place, so that they may be shared between versions. */
export class Draft {
  readonly topics = new Map<string, OntologyTopic>();
  /** Topic id by the folded form of its id, name and aliases. */
  readonly names = new Map<string, string>();
  /** By folded name. */
  readonly dimensions = new Map<string, Dimension>();
  readonly sourceTypes = new Map<string, SourceType>();
  /** By topic and folded source type. */
  readonly authority = new Map<string, AuthorityRule>();
  readonly merged: Merge[];

  constructor(content: OntologyContent) {
    for (const topic of content.topics) this.putTopic(topic);
    for (const dimension of content.dimensions) this.putDimension(dimension);
    for (const type of content.source_types) this.sourceTypes.set(nameKey(type.name), type);
    for (const rule of content.authority) this.authority.set(ruleKey(rule), rule);
    this.merged = [...content.merged];
  }

  content(): OntologyContent {
    return {
      topics: sorted(this.topics.values(), (topic) => topic.id),
      dimensions: sorted(this.dimensions.values(), (dimension) => dimension.name),
      source_types: sorted(this.sourceTypes.values(), (type) => type.name),
      authority: sorted(this.authority.values(), ruleKey),
      merged: [...this.merged],
    };
  }

  putTopic(topic: OntologyTopic): void {
    this.dropTopic(topic.id);
    this.topics.set(topic.id, topic);
    for (const name of namesOf(topic)) this.names.set(nameKey(name), topic.id);
  }

  dropTopic(id: string): void {
    const before = this.topics.get(id);
    for (const name of before ? namesOf(before) : []) this.names.delete(nameKey(name));
    this.topics.delete(id);
  }

  dimension(name: string): Dimension | undefined {
    return this.dimensions.get(nameKey(name));
  }

  putDimension(dimension: Dimension): void {
    this.dimensions.set(nameKey(dimension.name), dimension);
  }

  changeTopic(id: string, change: Partial<OntologyTopic>): void {
    const before = this.topics.get(id);
    if (before) this.putTopic({ ...before, ...change });
  }
}

export function namesOf({ id, name, aliases }: OntologyTopic): string[] {
  return [id, name, ...aliases];
}

export function ruleKey({ topic, source_type }: Pick<AuthorityRule, 'topic' | 'source_type'>) {
  return `${topic}\n${source_type === undefined ? '' : nameKey(source_type)}`;
}

function sorted<T>(items: Iterable<T>, key: (item: T) => string): T[] {
  const keyed = [...items].map((item) => [key(item), item] as const);
  return keyed.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)).map(([, item]) => item);
}

function setParent(draft: Draft, id: string, parent: string | undefined): void {
  const before = draft.topics.get(id);
  if (!before) return;
  const { parent: _former, ...rest } = before;
  draft.putTopic({ ...rest, ...(parent === undefined ? {} : { parent }) });
}

/** Whether a topic is the other one or lies below it. */
export function isBelow(draft: Draft, id: string, above: string): boolean {
  const seen = new Set<string>();
  let at: string | undefined = id;
  while (at !== undefined && !seen.has(at)) {
    if (at === above) return true;
    seen.add(at);
    at = draft.topics.get(at)?.parent;
  }
  return false;
}

/** Does one accepted step. It was checked before it was stored and is not checked again: a stored step keeps its meaning. */
export function apply(draft: Draft, step: StoredOperation): void {
  const todo = STEPS[step.op];
  if (!todo) throw new Error(`unknown ontology operation ${step.op}`);
  todo(draft, step);
}

const STEPS: Readonly<Record<string, (draft: Draft, step: StoredOperation) => void>> = {
  add_topic(draft, { topic = '', name = '', aliases = [], succession, ...rest }) {
    draft.putTopic({
      id: topic,
      name,
      aliases: [...aliases],
      succession: succession ?? 'stated',
      ...(rest.parent === undefined ? {} : { parent: rest.parent }),
      ...(rest.description === undefined ? {} : { description: rest.description }),
    });
  },
  rename_topic(draft, { topic = '', name = '' }) {
    const before = draft.topics.get(topic);
    if (!before) return;
    const former = [...before.aliases, before.name];
    draft.changeTopic(topic, {
      name,
      aliases: former.filter((alias) => nameKey(alias) !== nameKey(name)),
    });
  },
  add_alias(draft, { topic = '', alias = '' }) {
    draft.changeTopic(topic, { aliases: [...(draft.topics.get(topic)?.aliases ?? []), alias] });
  },
  remove_alias(draft, { topic = '', alias = '' }) {
    const { aliases = [] } = draft.topics.get(topic) ?? {};
    draft.changeTopic(topic, { aliases: aliases.filter((a) => nameKey(a) !== nameKey(alias)) });
  },
  set_parent(draft, { topic = '', parent }) {
    setParent(draft, topic, parent);
  },
  set_succession(draft, { topic = '', succession }) {
    draft.changeTopic(topic, { succession: succession ?? 'stated' });
  },
  describe_topic(draft, { topic = '', description = '' }) {
    draft.changeTopic(topic, { description });
  },
  remove_topic(draft, { topic = '' }) {
    draft.dropTopic(topic);
  },
  merge_topics(draft, { topic = '', into = '' }) {
    mergeTopics(draft, { topic, into });
  },
  add_dimension(draft, { dimension = '', values, open, description }) {
    draft.putDimension({
      name: dimension,
      values: [...(values ?? [])],
      open: open ?? true,
      ...(description === undefined ? {} : { description }),
    });
  },
  remove_dimension(draft, { dimension = '' }) {
    draft.dimensions.delete(nameKey(dimension));
  },
  add_value(draft, { dimension = '', value = '', parent }) {
    changeValues(draft, dimension, (values) => [...values, valueOf(value, parent)]);
  },
  set_value_parent(draft, { dimension = '', value = '', parent }) {
    changeValues(draft, dimension, (values) =>
      values.map((v) => (v.value === value ? valueOf(value, parent) : v)),
    );
  },
  remove_value(draft, { dimension = '', value = '' }) {
    changeValues(draft, dimension, (values) => values.filter((v) => v.value !== value));
  },
  set_dimension_open(draft, { dimension = '', open }) {
    const before = draft.dimension(dimension);
    if (before) draft.putDimension({ ...before, open: open ?? true });
  },
  add_source_type(draft, { source_type: name = '', description }) {
    const type = { name, ...(description === undefined ? {} : { description }) };
    draft.sourceTypes.set(nameKey(name), type);
  },
  remove_source_type(draft, { source_type: name = '' }) {
    draft.sourceTypes.delete(nameKey(name));
  },
  set_authority(draft, { topic = '', source_type, role, persons, precedence }) {
    const rule = {
      topic,
      ...(source_type === undefined ? {} : { source_type }),
      ...(role === undefined ? {} : { role }),
      persons: [...(persons ?? [])],
      precedence: precedence ?? 0,
    };
    draft.authority.set(ruleKey(rule), rule);
  },
  remove_authority(draft, { topic = '', source_type }) {
    draft.authority.delete(
      ruleKey({ topic, ...(source_type === undefined ? {} : { source_type }) }),
    );
  },
};

function valueOf(value: string, parent: string | undefined) {
  return { value, ...(parent === undefined ? {} : { parent }) };
}

function changeValues(
  draft: Draft,
  name: string,
  change: (values: Dimension['values']) => Dimension['values'],
): void {
  const before = draft.dimension(name);
  if (before) draft.putDimension({ ...before, values: change(before.values) });
}

/** Names, children and rules of the one go to the other, which keeps its own where both have one. */
export function mergeTopics(draft: Draft, { topic, into }: Merge): void {
  const from = draft.topics.get(topic);
  if (from && isBelow(draft, into, topic)) setParent(draft, into, from.parent);
  const to = draft.topics.get(into);
  draft.dropTopic(topic);
  if (from && to) {
    const taken = new Set(namesOf(to).map(nameKey));
    const names = [from.name, ...from.aliases].filter((name) => !taken.has(nameKey(name)));
    draft.changeTopic(into, { aliases: [...to.aliases, ...names] });
  }
  for (const child of [...draft.topics.values()])
    if (child.parent === topic) setParent(draft, child.id, into);
  for (const [key, rule] of [...draft.authority]) {
    if (rule.topic !== topic) continue;
    draft.authority.delete(key);
    const moved = { ...rule, topic: into };
    if (!draft.authority.has(ruleKey(moved))) draft.authority.set(ruleKey(moved), moved);
  }
  draft.merged.push({ topic, into });
}

export function applied(content: OntologyContent, change: readonly StoredOperation[]) {
  const draft = new Draft(content);
  for (const step of change) apply(draft, step);
  return draft.content();
}
