import { Refusal } from '#kernel/refusal.js';
import { isoMs } from '#kernel/time.js';
import { canonicalJson } from '#kernel/json.js';
import { compareScopes, overlap } from './claim.js';
import { openedBy, type Comparing } from './topic-conflict.js';
import { dataOf, heldFrom, type HeldData } from './topic-held.js';
import {
  evolve,
  isApproved,
  type Approved,
  type Decision,
  type Succession,
  type Topic,
} from './topic-state.js';
import type { TopicEvent } from './topic.events.js';

export type MergeCommand =
  | { type: 'Merge'; topic: string; into: string; ontologyVersion: number }
  | ({
      type: 'Absorb';
      /** Id and name of the topic that absorbs, for one that no record has opened. */
      topic: string;
      name: string;
      /** The other one, closed. */
      merged: string;
      from: Topic;
      succession: Succession;
    } & Comparing);

type Absorbed = Extract<TopicEvent, { type: 'TopicAbsorbed' }>;

/** Canonical bytes of one part; an event may have 900,000. */
const PART_BYTES = 300_000;

export function decideMerge(command: MergeCommand, topic: Topic): TopicEvent[] {
  return command.type === 'Merge' ? merge(command, topic) : absorb(command, topic);
}

/** Closes a topic for good. What comes later is refused with the name of the one that it was merged into. */
function merge(
  { topic: id, into, ontologyVersion }: Extract<MergeCommand, { type: 'Merge' }>,
  topic: Topic,
): TopicEvent[] {
  if (topic.status === 'merged') return [];
  return [{ type: 'TopicMerged', data: { topic: id, into, ontology_version: ontologyVersion } }];
}

/** Every command on a merged topic but the merge itself, which may come twice. */
export function refuseMerged(topic: Topic): void {
  if (topic.status !== 'merged') return;
  throw new Refusal('conflict', 'topic_merged', `the topic was merged into ${topic.mergedInto}`, {
    path: 'topic',
    issues: [{ path: 'topic', problem: `its decisions stand in ${topic.mergedInto} now` }],
    fix: `name ${topic.mergedInto}`,
  });
}

type Absorb = Extract<MergeCommand, { type: 'Absorb' }>;

/**
 * Takes the next part of a merged topic's decisions, and with the last one all of them: heads of both lines that disagree open a
 * conflict, heads that say the same become one line, and where the later effective date decides, it does so between both.
 */
function absorb(command: Absorb, topic: Topic): TopicEvent[] {
  const { merged, from } = command;
  if (topic.absorbed.has(merged)) return [];
  const opening: TopicEvent[] =
    topic.status === 'absent'
      ? [{ type: 'TopicOpened', data: { topic: command.topic, name: command.name } }]
      : [];
  const taken = topic.absorbing.get(merged)?.length ?? 0;
  const decisions = nextPart([...from.decisions.values()].slice(taken));
  const more = taken + decisions.length < from.decisions.size;
  const rest = more ? NOTHING : restOf(from);
  return [
    ...opening,
    { type: 'TopicAbsorbed', data: { topic: merged, decisions, ...rest, more } },
    ...(more ? [] : joined(command, topic)),
  ];
}

function nextPart(waiting: readonly Decision[]): HeldData[] {
  const part: HeldData[] = [];
  let bytes = 0;
  for (const decision of waiting) {
    const data = dataOf(decision);
    bytes += Buffer.byteLength(canonicalJson(data));
    if (part.length > 0 && bytes > PART_BYTES) break;
    part.push(data);
  }
  return part;
}

type Rest = Omit<Absorbed['data'], 'topic' | 'decisions' | 'more'>;

const NOTHING: Rest = {
  lines: [],
  open_conflicts: [],
  closed_conflicts: [],
  aliases: [],
  compatible: [],
};

/** What comes with the last part. */
function restOf(from: Topic): Rest {
  return {
    lines: [...from.absorbed],
    open_conflicts: [...from.openConflicts].map(([conflict_id, claims]) => ({
      conflict_id,
      claims: [...claims],
    })),
    closed_conflicts: [...from.closedConflicts].map(([conflict_id, as]) => ({ conflict_id, as })),
    aliases: [...from.aliases],
    compatible: [...from.compatible],
  };
}

/** What the meeting of both lines brings about, once all is there. */
function joined(command: Absorb, topic: Topic): TopicEvent[] {
  const { from } = command;
  const both = copyOf(topic);
  for (const decision of from.decisions.values()) addDecision(both, decision);
  addRest(both, restOf(from));
  const events: TopicEvent[] = [];
  const put = (event: TopicEvent): void => {
    events.push(event);
    evolveTopic(both, event);
  };
  for (const id of from.heads)
    for (const other of topic.heads) meeting(both, id, other, command).forEach(put);
  for (const id of from.heads) openedBetween(both, id, from.heads, command).forEach(put);
  return events;
}

function meeting(both: Topic, id: string, other: string, command: Absorb): TopicEvent[] {
  const [a, b] = [both.decisions.get(id), both.decisions.get(other)];
  return a?.status === 'approved' && b?.status === 'approved' ? replace(a, b, command) : [];
}

/** One of two heads gives way where they say the same, or where the later effective date decides; else none does. */
function replace(a: Approved, b: Approved, { succession, isWithin }: Absorb): TopicEvent[] {
  if (compareScopes(a.scope, b.scope, isWithin) !== 'equal' || !overlap(a, b)) return [];
  const [earlier, later] = a.startMs <= b.startMs ? [a, b] : [b, a];
  const gives = (one: Approved, by: Approved, atMs: number): TopicEvent[] => [
    {
      type: 'DecisionSuperseded',
      data: {
        decision_id: one.id,
        by: by.id,
        ends_at: isoMs(atMs),
        reason:
          a.meaning === b.meaning
            ? `${by.id} says the same; their topics were merged`
            : `${by.id} applies from a later date; their topics were merged`,
      },
    },
  ];
  if (a.meaning === b.meaning)
    // Nothing of the time for which it is decided is lost: the one within the other gives way, else the earlier one where the later begins.
    return later.endMs <= earlier.endMs
      ? gives(later, earlier, later.startMs)
      : gives(earlier, later, later.startMs);
  return succession === 'by_effective_date' && earlier.startMs < later.startMs
    ? gives(earlier, later, later.startMs)
    : [];
}

/** The conflict of an arriving head with heads that were here; those among the arriving ones are older conflicts, and are open already. */
function openedBetween(
  both: Topic,
  id: string,
  arriving: ReadonlySet<string>,
  comparing: Comparing,
): TopicEvent[] {
  if (!both.heads.has(id)) return [];
  const here: Topic = {
    ...both,
    heads: new Set([...both.heads].filter((head) => head === id || !arriving.has(head))),
    ended: [],
  };
  return openedBy(here, [], id, comparing);
}

function copyOf(topic: Topic): Topic {
  return {
    ...topic,
    decisions: new Map(topic.decisions),
    heads: new Set(topic.heads),
    ended: [...topic.ended],
    openConflicts: new Map(topic.openConflicts),
    closedConflicts: new Map(topic.closedConflicts),
    compatible: new Set(topic.compatible),
    aliases: new Set(topic.aliases),
  };
}

/** As `evolve`, for every event of a topic. */
export function evolveTopic(topic: Topic, event: TopicEvent): Topic {
  switch (event.type) {
    case 'TopicMerged':
      topic.status = 'merged';
      topic.mergedInto = event.data.into;
      return topic;
    case 'TopicAbsorbed':
      takeIn(topic, event);
      return topic;
    default:
      return evolve(topic, event);
  }
}

function takeIn(topic: Topic, { data }: Absorbed): void {
  const waiting = [...(topic.absorbing.get(data.topic) ?? []), ...data.decisions.map(heldFrom)];
  if (data.more) {
    topic.absorbing.set(data.topic, waiting);
    return;
  }
  topic.absorbing.delete(data.topic);
  for (const line of [data.topic, ...data.lines]) topic.absorbed.add(line);
  for (const decision of waiting) addDecision(topic, decision);
  addRest(topic, data);
}

function addRest(topic: Topic, rest: Rest): void {
  for (const { conflict_id, claims } of rest.open_conflicts)
    topic.openConflicts.set(conflict_id, claims);
  for (const { conflict_id, as } of rest.closed_conflicts)
    topic.closedConflicts.set(conflict_id, as);
  for (const alias of rest.aliases) topic.aliases.add(alias);
  for (const pair of rest.compatible) topic.compatible.add(pair);
}

function addDecision(topic: Topic, decision: Decision): void {
  topic.decisions.set(decision.id, decision);
  if (decision.status === 'approved') topic.heads.add(decision.id);
  else if (isApproved(decision) && decision.startMs < decision.endMs) {
    const { id, endMs } = decision;
    topic.ended.splice(topic.ended.findLastIndex((e) => e.endMs <= endMs) + 1, 0, { id, endMs });
  }
}

/** Id under which a claim stands already in one of the lines of the topic `home`: ids of the same claim differ in the topic alone. */
export function idInLine({ absorbed, decisions }: Topic, home: string, id: string): string {
  if (absorbed.size === 0 || decisions.has(id)) return id;
  const said = id.slice(id.lastIndexOf('.'));
  return (
    [home, ...absorbed].map((line) => `${line}${said}`).find((twin) => decisions.has(twin)) ?? id
  );
}
