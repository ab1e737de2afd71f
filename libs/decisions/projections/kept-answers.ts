import type { Reads } from '#projections/read-database.js';
import type { RecordedEvent } from '#event-store/event-store.js';
import { canonicalJson, type Json } from '#kernel/json.js';
import { ERASED, isHidden } from '#kernel/sealing.js';
import type { Answer, ResolveInput } from '../contract.js';
import { answerCodec, type Attested } from '../domain/answer.events.js';
import { answer } from './answering.js';

export type Asked = Omit<ResolveInput, 'request_id' | 'at_least'>;

/** An answer that was kept: to be given again, or to be rated. */
export interface KeptAnswer {
  state: string;
  topic?: string;
  decision?: string;
  as_of?: string;
  /** Absent where its texts were erased or are sealed. */
  answer?: Answer;
  /** Absent with the texts, and where the answer was kept before questions were. */
  asked?: Asked;
  /** Why it has no texts. */
  hidden?: 'erased' | 'sealed';
}

/** What an event keeps of an answer; undefined for every other event. */
export function keptAnswer(
  reads: Reads,
  { type, version, payload }: Pick<RecordedEvent, 'type' | 'version' | 'payload'>,
): KeptAnswer | undefined {
  if (type !== 'AnswerGiven') return undefined;
  // Read like a column of a read model, so that it is opened with the keys that are at hand.
  const opened = reads.get('SELECT ? AS text', payload)?.['text'] as string;
  const known = answerCodec.decode(type, version, JSON.parse(opened) as Json);
  if (known?.type !== 'AnswerGiven') return undefined;
  const { answer, asked, attested } = known.data;
  return isHidden(answer)
    ? hiddenBehind(answer === ERASED ? 'erased' : 'sealed', attested)
    : shown(answer as Answer, asked as Asked | undefined);
}

/** What an answer's receipt says of it stays readable. */
function hiddenBehind(hidden: 'erased' | 'sealed', attested: Attested | undefined): KeptAnswer {
  if (!attested) return { state: 'unknown', hidden };
  const { state, topic, decision, as_of } = attested;
  return {
    state,
    ...(topic === undefined ? {} : { topic }),
    ...(decision ? { decision: decision.id } : {}),
    as_of,
    hidden,
  };
}

function shown(answer: Answer, asked: Asked | undefined): KeptAnswer {
  const { state, topic, decision, as_of } = answer;
  return {
    state,
    ...(topic ? { topic: topic.topic } : {}),
    ...(decision ? { decision: decision.id } : {}),
    as_of,
    answer,
    ...(asked === undefined ? {} : { asked }),
  };
}

/** What the resolver says to the same question now, and what of it is another than was given. */
export interface AskedAgain {
  /** The question as it was asked; without a valid time it is about this moment. */
  now: { state: Answer['state']; decision?: string; differs: string[] };
  /** The same for the valid time of the answer that was given, with what is known now. */
  then: { state: Answer['state']; decision?: string; differs: string[] };
}

/** Asks again from one moment of the read models. Suggestions are no answer and are not compared. */
export function askedAgain(
  reads: Reads,
  workspace: string,
  given: { asked: Asked; answer: Answer },
  nowMs: number,
  position: number,
): AskedAgain {
  const ask = (asked: Asked): AskedAgain['now'] => {
    const again = answer(reads, workspace, asked, nowMs, position);
    return {
      state: again.state,
      ...(again.decision ? { decision: again.decision.id } : {}),
      differs: differences(given.answer, again),
    };
  };
  return { now: ask(given.asked), then: ask({ ...given.asked, as_of: given.answer.as_of }) };
}

const COMPARED: readonly (readonly [what: string, of: (answer: Answer) => unknown])[] = [
  ['state', (a) => a.state],
  ['topic', (a) => a.topic?.topic],
  ['decision', (a) => a.decision?.id],
  ['statement', (a) => a.decision?.statement],
  ['value', (a) => a.decision?.value],
  ['scope', (a) => a.decision?.scope],
  [
    'validity',
    ({ decision: d }) => d && [d.effective_from, d.effective_to, d.ended_at].map(orNull),
  ],
  ['alternatives', (a) => a.alternatives.map((d) => d.id)],
  ['conflicts', (a) => a.conflicts.map((c) => c.id)],
  ['evidence', (a) => a.evidence.map((e) => [e.source_id, e.excerpt])],
];

const orNull = (text: string | undefined): string | null => text ?? null;

function differences(given: Answer, again: Answer): string[] {
  const text = (value: unknown): string => (value === undefined ? '' : canonicalJson(value));
  return COMPARED.filter(([, of]) => text(of(given)) !== text(of(again))).map(([what]) => what);
}
