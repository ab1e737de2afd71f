import type { Refusal } from '#kernel/refusal.js';
import { nameKey } from '#kernel/text.js';
import { topicId } from './claim.js';
import { isBelow } from './ontology-content.js';
import { ONTOLOGY_LIMITS, Refusals, type Place } from './ontology-step.js';

/** The steps that concern topics. */
export class TopicSteps extends Refusals {
  constructor(private readonly place: Place) {
    super(place.path);
  }

  accept(): void {
    const { step } = this.place;
    if (step.op === 'add_topic') this.add();
    else this.change(this.topic('topic'));
  }

  /** Id of the topic that a field names; one that only records know is declared hereby. */
  topic(field: 'topic' | 'parent' | 'into'): string {
    const { draft, step } = this.place;
    const name = step[field] ?? '';
    const found = this.bearers(name);
    const id = found.has(name) ? name : [...found.keys()][0];
    if (id === undefined) throw this.unknownTopic(field, name);
    if (found.size > 1 && id !== name)
      throw this.wrong(
        field,
        `several topics bear the name "${name}": ${[...found.keys()].join(', ')}`,
        'give one of these ids',
      );
    this.refuseMerged(field, name, id);
    if (!draft.topics.has(id))
      this.place.put({ op: 'add_topic', topic: id, name: found.get(id) ?? name });
    return id;
  }

  /** Topics that bear a name, declared or opened by records, with the name that records gave. */
  private bearers(name: string): Map<string, string> {
    const { draft, recorded } = this.place;
    const key = nameKey(name);
    const found = new Map((recorded.get(key) ?? []).map((t) => [t.topic, t.name]));
    const declared = draft.names.get(key);
    if (declared !== undefined) found.set(declared, name);
    for (const { topic, into } of draft.merged)
      if (found.has(topic) && found.has(into)) found.delete(topic);
    return found;
  }

  private add(): void {
    const { draft, step, put } = this.place;
    const { topic: given, name = '', aliases = [], parent, ...rest } = step;
    const id = given === undefined ? topicId(name) : this.recordedId(given);
    if (draft.topics.has(id)) throw this.taken('name', name, id);
    this.refuseMerged('name', given ?? name, id);
    this.refuseTaken('name', name, id);
    const own = new Set([id, name].map(nameKey));
    const kept: string[] = [];
    aliases.forEach((alias, i) => {
      this.refuseTaken(`aliases[${i}]`, alias, id);
      if (!own.has(nameKey(alias))) kept.push(alias);
      own.add(nameKey(alias));
    });
    const above = parent === undefined ? undefined : this.topic('parent');
    if (above === id) throw this.ring('parent', id, id);
    const placed = above === undefined ? {} : { parent: above };
    put({ ...rest, topic: id, name, aliases: kept, ...placed });
    this.refuseDepth(id);
  }

  private change(topic: string): void {
    const { step, put } = this.place;
    switch (step.op) {
      case 'rename_topic':
        this.refuseTaken('name', step.name ?? '', topic);
        break;
      case 'add_alias':
        this.refuseTaken('alias', step.alias ?? '', topic);
        this.refuseOwn(step.alias ?? '', topic);
        break;
      case 'remove_alias':
        this.refuseUnlessAlias(step.alias ?? '', topic);
        break;
      case 'remove_topic':
        this.refuseInUse(topic);
        break;
      case 'set_parent':
        this.setParent(topic);
        return;
      case 'merge_topics':
        this.merge(topic);
        return;
      default:
    }
    put({ ...step, topic });
  }

  private setParent(topic: string): void {
    const { draft, step, put } = this.place;
    const { parent: given, ...rest } = step;
    const parent = given === undefined ? undefined : this.topic('parent');
    if (parent !== undefined && isBelow(draft, parent, topic))
      throw this.ring('parent', topic, parent);
    put({ ...rest, topic, ...(parent === undefined ? {} : { parent }) });
    this.refuseDepth(topic);
  }

  private merge(topic: string): void {
    const into = this.topic('into');
    if (into === topic)
      throw this.wrong('into', 'is the topic itself', 'name the topic that stays');
    this.place.put({ ...this.place.step, topic, into });
  }

  /** `topic` of `add_topic`: a topic that records opened and that is declared under another name. */
  private recordedId(given: string): string {
    const found = this.place.recorded.get(nameKey(given)) ?? [];
    const exact = found.filter((t) => t.topic === given);
    const [only, ...more] = exact.length > 0 ? exact : found;
    if (only && more.length === 0) return only.topic;
    throw this.wrong(
      'topic',
      only ? 'several topics bear this name' : 'is no topic that records opened',
      'leave it out to add a new topic, or give the id of one that an answer shows',
    );
  }

  /** B33: names that fold alike are one name, whoever gave it first. */
  private refuseTaken(field: string, name: string, topic: string): void {
    const { draft, recorded } = this.place;
    const holder = draft.names.get(nameKey(name));
    if (holder !== undefined && holder !== topic) throw this.taken(field, name, holder);
    const mine = new Set([topic]);
    for (const merge of draft.merged) if (mine.has(merge.into)) mine.add(merge.topic);
    const other = (recorded.get(nameKey(name)) ?? []).find((t) => !mine.has(t.topic));
    if (other) throw this.taken(field, name, other.topic);
  }

  private refuseOwn(alias: string, topic: string): void {
    if (this.place.draft.names.get(nameKey(alias)) === topic)
      throw this.taken('alias', alias, topic);
  }

  private refuseUnlessAlias(alias: string, topic: string): void {
    const { aliases = [] } = this.place.draft.topics.get(topic) ?? {};
    if (!aliases.some((a) => nameKey(a) === nameKey(alias)))
      throw this.wrong(
        'alias',
        `is no declared alias of ${topic}`,
        'get_ontology lists the aliases; an alias that came with a record stays',
      );
  }

  private refuseMerged(field: string, name: string, id: string): void {
    const merge = this.place.draft.merged.find((m) => m.topic === id);
    if (merge)
      throw this.refusal(
        field,
        'conflict',
        'topic_merged',
        `"${name}" was merged into ${merge.into}`,
        `name ${merge.into}`,
      );
  }

  private refuseInUse(topic: string): void {
    const { draft } = this.place;
    const child = [...draft.topics.values()].find((t) => t.parent === topic);
    if (child)
      throw this.inUse('topic', `${child.id} lies below it`, `set the parent of ${child.id} first`);
    if ([...draft.authority.values()].some((rule) => rule.topic === topic))
      throw this.inUse('topic', 'a rule of authority names it', 'remove that rule first');
  }

  private refuseDepth(topic: string): void {
    const { draft } = this.place;
    for (const { id } of draft.topics.values()) {
      if (!isBelow(draft, id, topic)) continue;
      let depth = 0;
      for (let at = draft.topics.get(id); at; at = draft.topics.get(at.parent ?? '')) depth += 1;
      if (depth > ONTOLOGY_LIMITS.depth)
        throw this.tooDeep('parent', 'topics', ONTOLOGY_LIMITS.depth);
    }
  }

  private unknownTopic(field: string, name: string): Refusal {
    return this.unknown(
      field,
      'unknown_topic',
      `no topic bears the name "${name}"`,
      'add it by add_topic first, or give the id of a topic that get_ontology or an answer shows',
    );
  }
}
