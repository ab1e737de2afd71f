import {
  askedAgain,
  keptAnswer,
  knownPosition,
  type AskedAgain,
  type KeptAnswer,
} from '#decisions/index.js';
import type { RecordedEvent } from '#event-store/event-store.js';
import type { Actor } from '#kernel/context.js';
import { longOutput } from './long-output.js';
import { knownAt, onRecord, times, type OnRecord } from './on-record.js';
import type { RecordOptions } from './record-options.js';
import { inline, outputFor, type OutputOptions, type Paint } from './output.js';
import { field, scopeText, when } from './words.js';

export interface AnswersOptions extends OutputOptions, RecordOptions {
  from?: string;
  to?: string;
  by?: string;
  kind?: Actor['kind'];
  changed?: boolean;
  ndjson?: boolean;
}

/** One answer as it was given, and what became of it. */
interface Told {
  position: string;
  given_at: string;
  to: Actor;
  asked?: KeptAnswer['asked'];
  answer: Omit<KeptAnswer, 'answer' | 'asked' | 'hidden'> & { statement?: string };
  call_id?: string;
  outcome: 'same' | 'different' | 'cannot_be_asked_again';
  /** What is different. */
  differs: string[];
  /** Why it cannot be asked again. */
  why?: string;
  now?: AskedAgain['now'];
  /** The same for the valid time that the answer was about. */
  then?: AskedAgain['then'];
}

export async function answers(options: AnswersOptions): Promise<void> {
  const output = outputFor(options);
  times({}, { '--from': options.from, '--to': options.to });
  await onRecord(options, async (record) => {
    const { workspace, position } = record;
    const { paint } = output;
    const long = await longOutput(output, options.ndjson ?? false, {
      schema: 'precedent.answers/1',
      list: 'answers',
      head: {
        workspace,
        ...(options.from === undefined ? {} : { from: options.from }),
        ...(options.to === undefined ? {} : { to: options.to }),
        position: String(position),
      },
      headLines: () => [],
    });
    const counts = { same: 0, different: 0, cannot_be_asked_again: 0 };
    for await (const told of givenIn(record, options)) {
      counts[told.outcome] += 1;
      if (options.changed === true && told.outcome === 'same') continue;
      await long.item(told, () => toldLines(told, paint));
    }
    await long.end({ counts }, () => [
      `${counts.same} would be the same now, ${counts.different} different, ${counts.cannot_be_asked_again} cannot be asked again`,
    ]);
  });
}

async function* givenIn(record: OnRecord, options: AnswersOptions): AsyncGenerator<Told> {
  const { source, reads, workspace, zone, position } = record;
  const from = knownAt(options.from ?? '0', zone);
  const to = knownAt(options.to ?? String(position), zone);
  const nowMs = Date.now();
  const { signal } = new AbortController();
  // Nothing of the period comes before the last decision that was known when it began.
  const before = { position: from.position - 1, ms: from.ms - 1 };
  const after = knownPosition(reads, workspace, before);
  // As readers see it: recorded time never decreases along the log.
  let ms = -Infinity;
  for await (const events of source.store.follow(after, { signal, live: false }))
    for (const event of events) {
      ms = Math.max(ms, Date.parse(event.recordedAt));
      if (event.position > Math.min(to.position, position) || ms >= to.ms) return;
      const begun = from.ms === Infinity ? event.position >= from.position : ms >= from.ms;
      if (!begun || event.workspace !== workspace || !wanted(event.actor, options)) continue;
      const kept = keptAnswer(reads, event);
      if (kept) yield toldOf(record, event, kept, nowMs);
    }
}

function wanted({ principal, kind }: Actor, { by, kind: only }: AnswersOptions): boolean {
  return (by === undefined || by === principal) && (only === undefined || only === kind);
}

function toldOf(
  { reads, workspace, position }: OnRecord,
  event: RecordedEvent,
  { answer, asked, hidden, ...summary }: KeptAnswer,
  nowMs: number,
): Told {
  const told = {
    position: String(event.position),
    given_at: event.recordedAt,
    to: event.actor,
    ...(asked === undefined ? {} : { asked }),
    answer: {
      ...summary,
      ...(answer?.decision ? { statement: answer.decision.statement } : {}),
    },
    ...(answer?.call_id === undefined ? {} : { call_id: answer.call_id }),
  };
  if (asked === undefined || answer === undefined)
    return {
      ...told,
      outcome: 'cannot_be_asked_again',
      differs: [],
      why: WHY[hidden ?? 'unkept'],
    };
  const { now, then } = askedAgain(reads, workspace, { asked, answer }, nowMs, position);
  const outcome = now.differs.length === 0 ? 'same' : 'different';
  return { ...told, outcome, differs: now.differs, now, then };
}

const WHY = {
  erased: 'a text in it was erased',
  sealed: 'its texts are sealed and their keys are not here',
  unkept: 'only the hash of the question was kept',
} as const;

function toldLines(told: Told, paint: Paint): string[] {
  const { to, answer, asked } = told;
  const scope = asked?.scope;
  return [
    `${when(told.given_at)}  ${paint.dim(`position ${told.position}`)}  to ${inline(to.principal)}, ${inline(to.kind)}`,
    ...(asked === undefined ? [] : [field(paint, 'asked', inline(asked.question))]),
    ...(scope === undefined ? [] : [field(paint, 'scope', scopeText(scope))]),
    field(paint, 'answered', answerText(answer)),
    field(paint, 'now', outcomeText(told, paint)),
    '',
  ];
}

function answerText({ state, statement }: Told['answer']): string {
  return inline(statement === undefined ? state : `${state}: ${statement}`);
}

function outcomeText({ outcome, differs, why, now, then }: Told, paint: Paint): string {
  if (outcome === 'same') return 'the same';
  if (now === undefined) return paint.yellow(`cannot be asked again: ${why ?? ''}`);
  const sameThen = then?.differs.length === 0;
  const past = sameThen
    ? 'for its own time it would be the same'
    : 'also for its own time, as is known now';
  const what = `${differs.join(', ')} (${now.state}${now.decision === undefined ? '' : ` ${inline(now.decision)}`})`;
  return `${paint.red('different')}: ${what}; ${past}`;
}
