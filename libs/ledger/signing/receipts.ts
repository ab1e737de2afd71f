import type { Position } from '#event-store/event-store.js';
import { Refusal } from '#kernel/refusal.js';
import type { ReadModels } from '#projections/read-models.js';
import { leafHash, sameHash } from '#transparency/merkle.js';
import {
  receiptStatement,
  signReceipt,
  type Receipt,
  type ReceiptDetails,
} from '#transparency/receipt.js';
import type { Receipts } from '#transparency/receipts-port.js';
import { formatTlogProof } from '#transparency/tlog-proof.js';
import { inconsistent } from '../domain/checkpoint.js';
import type { LogEvents } from './log-events.js';
import type { LogService } from './log-service.js';
import { pseudonymOf } from '../domain/origin.js';
import { indexAt } from '../projections/log-tree.js';

export class LedgerReceipts implements Receipts {
  constructor(
    private readonly models: ReadModels,
    private readonly events: LogEvents,
    private readonly log: LogService,
  ) {}

  assertSigning(workspace: string): Promise<void> {
    return this.log.open(workspace);
  }

  async issue(workspace: string, position: Position, details: ReceiptDetails): Promise<Receipt> {
    const { index, leaf, hashes, checkpoint } = await this.log.prove(
      workspace,
      await indexOf(this.models, workspace, position, position),
      'first',
    );
    const [event] = await this.events.from(workspace, index, 1);
    if (event?.position !== position) throw new Error(`the log has no event at ${position}`);
    // The log itself says what the event is; the read models only where it is.
    if (!sameHash(leafHash(event.header), leaf)) throw inconsistent(checkpoint);
    const { origin, key, note } = checkpoint;
    const statement = receiptStatement(
      {
        ...details,
        origin,
        workspace: pseudonymOf(workspace),
        index,
        event_id: event.id,
        event_type: event.type,
        recorded_at: event.recordedAt,
        position: String(position),
      },
      leaf,
    );
    const tlog_proof = formatTlogProof({ index, hashes, checkpoint: note });
    return { ...signReceipt(statement, key), tlog_proof };
  }
}

/** Index of the event at a position, once the read models have seen `atLeast`. */
export async function indexOf(
  models: ReadModels,
  workspace: string,
  position: Position,
  atLeast: Position,
): Promise<number> {
  const index = await models.read((reads) => indexAt(reads, workspace, position), atLeast);
  if (index !== undefined) return index;
  throw new Refusal('not_found', 'not_found', `there is no event at position ${position}`, {
    path: 'position',
    issues: [{ path: 'position', problem: 'is of no event of this workspace' }],
    fix: 'take a position from a reply or from GET /v1/events',
  });
}
