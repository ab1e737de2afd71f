import type { Decider } from '#kernel/decider.js';
import { Refusal } from '#kernel/refusal.js';
import type { AnswerEvent } from './answer.events.js';

export type GivenAnswer =
  { status: 'absent' } | { status: 'given'; question: string; answer: unknown };

export interface AnswerCommand {
  type: 'Give';
  requestId: string;
  question: string;
  answer: unknown;
}

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

export const answerDecider: Decider<GivenAnswer, AnswerCommand, AnswerEvent> = {
  initial: () => ({ status: 'absent' }),
  decide(command, given) {
    if (storedAnswer(given, command.question) !== undefined) return [];
    const { requestId: request_id, question: question_sha256, answer } = command;
    return [{ type: 'AnswerGiven', data: { request_id, question_sha256, answer } }];
  },
  evolve: (_given, event) => ({
    status: 'given',
    question: event.data.question_sha256,
    answer: event.data.answer,
  }),
};
