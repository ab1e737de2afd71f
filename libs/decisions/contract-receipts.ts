import { IsIn, IsInt } from 'class-validator';
import { Doc, IsText, ListOf } from '#kernel/shape-decorators.js';

export class DecisionReceiptInput {
  @IsText({ max: 400 }) decision_id!: string;
}

export class ConflictReceiptInput {
  @Doc('As find_conflicts shows it.') @IsText({ max: 400 }) conflict_id!: string;
}

export class AnswerReceiptInput {
  @Doc('As resolve_decision_state returned it.') @IsText({ max: 200 }) call_id!: string;
}

export class ReceiptSignature {
  @Doc('Key of the log that signed: /v1/log/keys lists them.') @IsText() keyid!: string;
  @Doc('Ed25519 over the DSSE pre-authentication encoding, in Base64.') @IsText() sig!: string;
}

/** A DSSE envelope, and beside it the proof that its event stands in the signed log. It verifies offline with the log's public key. */
export class LogReceipt {
  @IsIn(['application/vnd.in-toto+json']) payloadType!: string;
  @Doc('An in-toto statement in Base64: what was recorded, in digests.')
  @IsText({ max: 200_000 })
  payload!: string;
  @ListOf(() => ReceiptSignature)
  signatures!: ReceiptSignature[];
  @Doc('A C2SP tlog-proof: index, hashes and the signed checkpoint that covers the event.')
  @IsText({ max: 200_000 })
  tlog_proof!: string;
  @Doc('Place of the event in the log of this workspace, from 0.') @IsInt() index!: number;
}
