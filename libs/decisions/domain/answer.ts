import { unreachable, type Decider } from '#kernel/decider.js';
import { Refusal } from '#kernel/refusal.js';
import type { AnswerEvent, Rating } from './answer.events.js';

export type GivenAnswer =
  | { status: 'absent' }
  | {
      status: 'given';
      question: string;
      answer: unknown;
      /** By principal; `atMs`: when it was recorded. */
      ratings: Map<string, Rating & { atMs: number }>;
    };

export type AnswerCommand =
  | { type: 'Give'; requestId: string | undefined; question: string; answer: unknown }
  | { type: 'Rate'; callId: string; by: string; rating: Rating };

/** The stored answer, if this key was used for this question; refused if it was used for another (O-13, O-14). */
export function storedAnswer(given: GivenAnswer, question: string): unknown {
  if (given.status === 'absent') return undefined;
  if (given.question === question) return given.answer;
  throw new Refusal(
    'key_reused',
    'request_id_conflict',
    'this request_id was used for another question',
    {
      path: 'request_id',
      issues: [
        { path: 'request_id', problem: `bound to the question with hash ${given.question}` },
      ],
      fix: 'use a new request_id for a new question',
    },
  );
}

const CALL = /^call_([0-9a-f]{32})$/;

/** Name of a captured answer, from the key of its stream. */
export function callId(key: string): string {
  return `call_${key}`;
}

/** Key of the stream of a captured answer; undefined for what is no call id. */
export function keyOfCall(id: string): string | undefined {
  return CALL.exec(id)?.[1];
}

/** The same as for a call of another workspace: the two are never told apart. */
export function unknownCall(id: string): Refusal {
  return new Refusal('not_found', 'unknown_call', `no captured answer ${id}`, {
    path: 'call_id',
    issues: [{ path: 'call_id', problem: 'is no captured answer of this workspace' }],
    fix: 'take the call_id that resolve_decision_state returned; there is none while capture is off',
  });
}

export const answerDecider: Decider<GivenAnswer, AnswerCommand, AnswerEvent> = {
  initial: () => ({ status: 'absent' }),
  decide(command, given) {
    switch (command.type) {
      case 'Give':
        return give(command, given);
      case 'Rate':
        return rate(command, given);
      default:
        return unreachable(command);
    }
  },
  evolve(given, event, recordedAt) {
    switch (event.type) {
      case 'AnswerGiven':
        return {
          status: 'given',
          question: event.data.question_sha256,
          answer: event.data.answer,
          ratings: new Map(),
        };
      case 'AnswerRated': {
        if (given.status === 'absent') return given;
        const { rated_by, ...rating } = event.data;
        given.ratings.set(rated_by, { ...rating, atMs: recordedAt });
        return given;
      }
      default:
        return unreachable(event);
    }
  },
};

function give(
  { requestId, question, answer }: Extract<AnswerCommand, { type: 'Give' }>,
  given: GivenAnswer,
): AnswerEvent[] {
  if (storedAnswer(given, question) !== undefined) return [];
  const key = requestId === undefined ? {} : { request_id: requestId };
  return [{ type: 'AnswerGiven', data: { ...key, question_sha256: question, answer } }];
}

/** O-37. The same rating by the same principal again adds nothing; another one is added and counts from then on. */
function rate(
  { callId: id, by, rating }: Extract<AnswerCommand, { type: 'Rate' }>,
  given: GivenAnswer,
): AnswerEvent[] {
  const captured =
    given.status === 'given' && (given.answer as { call_id?: unknown }).call_id === id;
  if (!captured) throw unknownCall(id);
  const before = given.ratings.get(by);
  if (before && before.rating === rating.rating && before.comment === rating.comment) return [];
  return [{ type: 'AnswerRated', data: { rated_by: by, ...rating } }];
}
