import { unreachable, type Decider } from '#kernel/decider.js';
import { Refusal } from '#kernel/refusal.js';
import { ERASED, isHidden } from '#kernel/sealing.js';
import type { AnswerEvent, Attested, Rating } from './answer.events.js';

export type GivenAnswer =
  | { status: 'absent' }
  | {
      status: 'given';
      question: string;
      answer: unknown;
      /** Absent where the answer was kept before receipts were. */
      attested: Attested | undefined;
      /** Ids of the keys that seal it. */
      keys: readonly string[];
      /** By principal; `atMs`: when it was recorded. */
      ratings: Map<string, Rating & { atMs: number }>;
    };

export type AnswerCommand =
  | {
      type: 'Give';
      requestId: string | undefined;
      /** SHA-256 of the canonical form of `asked`. */
      question: string;
      asked: unknown;
      answer: unknown;
      attested: Attested;
      keys: readonly string[];
    }
  | { type: 'Rate'; callId: string; by: string; rating: Rating };

/** The stored answer, if this key was used for this question; refused if it was used for another (O-13, O-14). */
export function storedAnswer(given: GivenAnswer, question: string): unknown {
  if (given.status === 'absent') return undefined;
  if (given.question === question) return readable(given.answer);
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

/** An answer that was sealed with a key that was destroyed, or that is not there, is given again to nobody. */
function readable(answer: unknown): unknown {
  if (!isHidden(answer)) return answer;
  const erased = answer === ERASED;
  throw new Refusal(
    erased ? 'conflict' : 'unavailable',
    erased ? 'answer_erased' : 'answer_sealed',
    erased ? 'the answer to this request_id was erased' : 'the key of this answer is not here',
    {
      path: 'request_id',
      issues: [{ path: 'request_id', problem: 'its answer told of something that was erased' }],
      fix: 'ask again with a new request_id',
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

/** The id under which a kept answer may be rated or asked for; undefined where it was kept for its request_id only. */
export function callOf(given: GivenAnswer): string | undefined {
  if (given.status === 'absent') return undefined;
  return given.attested?.execution_id ?? (given.answer as { call_id?: string }).call_id;
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
          attested: event.data.attested,
          keys: event.data.keys ?? [],
          ratings: new Map(),
        };
      case 'AnswerRated': {
        if (given.status === 'absent') return given;
        const { rated_by, keys: _keys, ...rating } = event.data;
        given.ratings.set(rated_by, { ...rating, atMs: recordedAt });
        return given;
      }
      default:
        return unreachable(event);
    }
  },
};

function give(
  { requestId, question, asked, answer, attested, keys }: Extract<AnswerCommand, { type: 'Give' }>,
  given: GivenAnswer,
): AnswerEvent[] {
  if (storedAnswer(given, question) !== undefined) return [];
  const key = requestId === undefined ? {} : { request_id: requestId };
  const data = { ...key, question_sha256: question, asked, answer, attested, keys: [...keys] };
  return [{ type: 'AnswerGiven', data }];
}

/** O-37. The same rating by the same principal again adds nothing; another one is added and counts from then on. */
function rate(
  { callId: id, by, rating }: Extract<AnswerCommand, { type: 'Rate' }>,
  given: GivenAnswer,
): AnswerEvent[] {
  if (given.status === 'absent' || callOf(given) !== id) throw unknownCall(id);
  const before = given.ratings.get(by);
  if (before && before.rating === rating.rating && before.comment === rating.comment) return [];
  return [{ type: 'AnswerRated', data: { rated_by: by, ...rating, keys: [...given.keys] } }];
}
