import { Inject } from '@nestjs/common';
import { QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { Streams } from '#event-store/streams.js';
import { canonicalJson, sha256 } from '#kernel/json.js';
import { Refusal } from '#kernel/refusal.js';
import { ReadModels } from '#projections/read-models.js';
import { RECEIPTS } from '#projections/tokens.js';
import type { Receipts } from '#transparency/receipts-port.js';
import type { LogReceipt } from './contract-receipts.js';
import { callOf, keyOfCall, unknownCall } from './domain/answer.js';
import { GetAnswerReceipt, GetConflictReceipt, GetDecisionReceipt } from './messages.js';
import { approvalOf, resolutionOf, type Attestable } from './projections/attesting.js';
import { answerStream, answerStreams } from './streams.js';

@QueryHandler(GetDecisionReceipt)
export class GetDecisionReceiptHandler implements IQueryHandler<GetDecisionReceipt> {
  constructor(
    private readonly models: ReadModels,
    @Inject(RECEIPTS) private readonly receipts: Receipts,
  ) {}

  async execute({ caller, input }: GetDecisionReceipt): Promise<LogReceipt> {
    const { decision_id: id } = input;
    const found = await this.models.read((reads) => approvalOf(reads, caller.workspace, id));
    if (found === undefined) throw unknownDecision(id);
    if (found === 'not_approved') throw notApproved(id);
    return issued(this.receipts, caller.workspace, found);
  }
}

@QueryHandler(GetConflictReceipt)
export class GetConflictReceiptHandler implements IQueryHandler<GetConflictReceipt> {
  constructor(
    private readonly models: ReadModels,
    @Inject(RECEIPTS) private readonly receipts: Receipts,
  ) {}

  async execute({ caller, input }: GetConflictReceipt): Promise<LogReceipt> {
    const { conflict_id: id } = input;
    const found = await this.models.read((reads) => resolutionOf(reads, caller.workspace, id));
    if (found === undefined) throw unknownConflict(id);
    if (found === 'open') throw stillOpen(id);
    return issued(this.receipts, caller.workspace, found);
  }
}

@QueryHandler(GetAnswerReceipt)
export class GetAnswerReceiptHandler implements IQueryHandler<GetAnswerReceipt> {
  constructor(
    private readonly streams: Streams,
    @Inject(RECEIPTS) private readonly receipts: Receipts,
  ) {}

  async execute({ caller, input }: GetAnswerReceipt): Promise<LogReceipt> {
    const { call_id: id } = input;
    const key = keyOfCall(id);
    if (key === undefined) throw unknownCall(id);
    const { state } = await this.streams.load(answerStreams, answerStream(caller.workspace, key));
    if (callOf(state) !== id) throw unknownCall(id);
    return receiptOfAnswer(this.streams, this.receipts, caller.workspace, key);
  }
}

/** Of a kept answer, by the key of its stream. The same envelope however often it is asked for. */
export async function receiptOfAnswer(
  streams: Streams,
  receipts: Receipts,
  workspace: string,
  key: string,
): Promise<LogReceipt> {
  const { state, position } = await streams.began(answerStreams, answerStream(workspace, key));
  if (state.status === 'absent') throw new Error(`no answer is kept under ${key}`);
  const { question, answer, attested } = state;
  return issued(receipts, workspace, {
    position,
    details: {
      kind: 'answer',
      question_sha256: question,
      ...(attested ?? { answer_sha256: sha256(canonicalJson(answer)) }),
    },
  });
}

async function issued(
  receipts: Receipts,
  workspace: string,
  { position, details }: Attestable,
): Promise<LogReceipt> {
  const receipt = await receipts.issue(workspace, position, details);
  const { predicate } = JSON.parse(Buffer.from(receipt.payload, 'base64').toString()) as {
    predicate: { index: number };
  };
  return { ...receipt, index: predicate.index };
}

function unknownDecision(id: string): Refusal {
  return new Refusal('not_found', 'unknown_decision', `no decision ${id}`, {
    path: 'decision_id',
    issues: [{ path: 'decision_id', problem: 'is no decision of this workspace' }],
    fix: 'take an id from an answer or from get_decision_history',
  });
}

function notApproved(id: string): Refusal {
  return new Refusal('conflict', 'not_approved', `${id} was never approved`, {
    path: 'decision_id',
    issues: [{ path: 'decision_id', problem: 'has no approval that a receipt could prove' }],
    fix: 'ask again once it is approved',
  });
}

function unknownConflict(id: string): Refusal {
  return new Refusal('not_found', 'unknown_conflict', `no conflict ${id}`, {
    path: 'conflict_id',
    issues: [{ path: 'conflict_id', problem: 'is no conflict of this workspace' }],
    fix: 'take an id from find_conflicts',
  });
}

function stillOpen(id: string): Refusal {
  return new Refusal('conflict', 'conflict_open', `${id} is open`, {
    path: 'conflict_id',
    issues: [{ path: 'conflict_id', problem: 'has no resolution that a receipt could prove' }],
    fix: 'ask again once it is resolved or dismissed',
  });
}
