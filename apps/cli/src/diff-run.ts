import { accessChange, accessStreamsOf } from '#access/index.js';
import {
  axesOf,
  oneTopic,
  ontologyChanges,
  seen,
  standing,
  topicChanges,
  topicsNamed,
  wholeAppends,
  type Between,
} from '#decisions/index.js';
import type { RecordedEvent } from '#event-store/event-store.js';
import { whenMs } from '#kernel/time.js';
import { subjectChange, subjectStreamsOf } from '#sources/index.js';
import { changeLines, countLines, standingLines, type Change } from './diff-text.js';
import { unusable } from './failure.js';
import { longOutput } from './long-output.js';
import { knownAt, onRecord, times, type OnRecord } from './on-record.js';
import type { RecordOptions } from './record-options.js';
import { outputFor, type Output, type OutputOptions } from './output.js';
import { when } from './words.js';

export interface DiffOptions extends OutputOptions, RecordOptions {
  topic?: string;
  valid?: boolean;
  known?: string;
  ndjson?: boolean;
}

export async function diff(a: string, b: string | undefined, options: DiffOptions): Promise<void> {
  const output = outputFor(options);
  const { valid = false, known } = options;
  if (valid) times({ A: a, B: b }, { '--known': known });
  else times({}, { A: a, B: b });
  if (!valid && known !== undefined)
    throw unusable('unused_option', '--known says nothing without --valid', {
      path: '--known',
      fix: 'give --valid as well, or the moments as A and B',
    });
  await onRecord(options, (record) =>
    valid ? inForce(record, a, b, options, output) : recorded(record, a, b, options, output),
  );
}

async function recorded(
  record: OnRecord,
  a: string,
  b: string | undefined,
  options: DiffOptions,
  output: Output,
): Promise<void> {
  const { reads, workspace, zone, position } = record;
  const between = {
    from: wholeAppends(reads, workspace, knownAt(a, zone)),
    to: wholeAppends(reads, workspace, knownAt(b ?? String(position), zone)),
  };
  assertOrder(a, b, between);
  const topic = topicOf(record, options.topic, between.to);
  const { paint } = output;
  const to = b ?? `position ${position}`;
  const long = await longOutput(output, options.ndjson ?? false, {
    schema: 'precedent.diff/1',
    list: 'changes',
    head: { workspace, axis: 'recorded', from: a, to: b ?? String(position), zone },
    headLines: () => [paint.bold(`Recorded after ${when(a)} and up to ${when(to)}`), ''],
  });
  const counts = new Map<string, number>();
  for await (const change of changes(record, between, topic)) {
    const kind = change.area === 'ontology' ? 'ontology_version' : change.kind;
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
    await long.item(change, () => changeLines(change, paint));
  }
  const byKind = Object.fromEntries([...counts].sort(([x], [y]) => (x < y ? -1 : 1)));
  await long.end({ counts: byKind }, () => countLines(byKind, paint));
}

/** A topic has no members or keys: with one, only its decisions are compared. */
function changes(
  record: OnRecord,
  between: Between,
  topic: string | undefined,
): AsyncGenerator<Change> {
  const { reads, workspace } = record;
  const ofTopics = tagged('decisions', topicChanges(reads, workspace, between, topic));
  if (topic !== undefined) return merged<Change>([ofTopics]);
  const events = (stream: string) => eventsOf(record, stream, between);
  return merged<Change>([
    ofTopics,
    tagged('ontology', ontologyChanges(reads, workspace, between)),
    ...accessStreamsOf(reads, workspace).map((at) => told('access', accessChange, events(at))),
    ...subjectStreamsOf(reads, workspace).map((at) => told('subjects', subjectChange, events(at))),
  ]);
}

function* tagged<A extends string, T>(area: A, items: Iterable<T>): Generator<{ area: A } & T> {
  for (const item of items) yield { area, ...item };
}

/** What the events of one stream changed, in the words of their context. */
async function* told<A extends string, T>(
  area: A,
  changeOf: (event: RecordedEvent) => T | undefined,
  events: AsyncIterable<RecordedEvent>,
): AsyncGenerator<{ area: A } & T> {
  for await (const event of events) {
    const change = changeOf(event);
    if (change) yield { area, ...change };
  }
}

/** Of one stream, those that were recorded between two moments. */
async function* eventsOf(
  { source, shown }: OnRecord,
  stream: string,
  { from, to }: Between,
): AsyncGenerator<RecordedEvent> {
  for await (const events of source.store.readStream(stream))
    for (const event of events) {
      const at = { position: event.position, ms: Date.parse(event.recordedAt) };
      if (seen(at, from)) continue;
      if (!seen(at, to)) return;
      yield { ...event, payload: shown(event.payload) };
    }
}

/** Items of several sequences in the order of the log, each of which has that order. */
async function* merged<T extends { position: string }>(
  sequences: readonly (Iterator<T> | AsyncIterator<T>)[],
): AsyncGenerator<T> {
  const heads = await Promise.all(sequences.map(async (sequence) => sequence.next()));
  for (;;) {
    const next = heads
      .map((head, i) => ({ i, at: head.done ? Infinity : Number(head.value.position) }))
      .reduce((first, other) => (other.at < first.at ? other : first));
    const head = heads[next.i];
    const sequence = sequences[next.i];
    if (!head || head.done || !sequence) return;
    yield head.value;
    heads[next.i] = await sequence.next();
  }
}

async function inForce(
  record: OnRecord,
  a: string,
  b: string | undefined,
  options: DiffOptions,
  output: Output,
): Promise<void> {
  const { reads, workspace, zone, position } = record;
  const now = Date.now();
  const input = {
    ...(b === undefined ? {} : { as_of: b }),
    ...(options.known === undefined ? {} : { known_at: options.known }),
  };
  const axes = axesOf(reads, workspace, input, now);
  const topic = topicOf(record, options.topic, axes.known);
  const { paint } = output;
  const long = await longOutput(output, options.ndjson ?? false, {
    schema: 'precedent.diff/1',
    list: 'decisions',
    head: {
      workspace,
      axis: 'valid',
      from: a,
      ...(b === undefined ? {} : { to: b }),
      ...(options.known === undefined ? {} : { known_at: options.known }),
      zone,
      position: String(position),
    },
    headLines: () => [
      paint.bold(`In force at ${when(a)} and at ${b === undefined ? 'this moment' : when(b)}`),
      paint.dim('  - only at the first moment, + only at the second'),
      '',
    ],
  });
  const counts = { from: 0, to: 0, both: 0 };
  for (const each of standing(reads, workspace, whenMs(a, zone), axes, topic)) {
    counts[each.in_force] += 1;
    await long.item(each, () => standingLines(each, paint));
  }
  await long.end({ counts }, () => [
    '',
    `  ${counts.from} only at the first moment, ${counts.to} only at the second, ${counts.both} at both`,
  ]);
}

function topicOf(
  { reads, workspace }: OnRecord,
  name: string | undefined,
  known: Between['to'],
): string | undefined {
  if (name === undefined) return undefined;
  return oneTopic(topicsNamed(reads, workspace, name, known), name).topic;
}

function assertOrder(a: string, b: string | undefined, { from, to }: Between): void {
  // An instant and a position are not compared: between them may be nothing, and that is said.
  const isLater = from.ms > to.ms || from.position > to.position;
  if (!isLater || (from.ms === Infinity) !== (to.ms === Infinity)) return;
  throw unusable('wrong_order', `${a} is later than ${b ?? 'the end of the log'}`, {
    path: 'A',
    fix: 'give the earlier moment first',
  });
}
