import type { Position } from '#event-store/event-store.js';
import type { Receipt, ReceiptDetails } from './receipt.js';

/** Gives receipts for events that are stored; contexts get it under the token `RECEIPTS`. */
export interface Receipts {
  /**
   * A receipt for the event of `workspace` at `position`, with a proof against the first checkpoint that covers it, which is
   * signed for it where none does yet: the same bytes each time, until the key rotates. Refuses with `no_log_key` where this ledger
   * signs nothing.
   */
  issue(workspace: string, position: Position, details: ReceiptDetails): Promise<Receipt>;
  /** Refuses where no key could sign: for whoever would record something in order to have a receipt of it. */
  assertSigning(workspace: string): Promise<void>;
}
