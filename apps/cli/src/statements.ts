import type { Position } from '#event-store/event-store.js';
import type { Finding } from '#event-store/ledger-check.js';
import type { Reads } from '#projections/read-database.js';
import type { ReceiptPredicate } from '#transparency/receipt.js';
import { eventAt } from './prove.js';
import type { AuditSource } from './source.js';

/** A proved receipt, and where its event was found in the log. */
export interface Stated {
  /** The file that it was read from. */
  from: string;
  predicate: ReceiptPredicate;
  /** Undefined where the log was not read so far. */
  position: Position | undefined;
}

/**
 * The first receipt that says otherwise than the event that it is for: a signature proves who said it, not that it is so.
 * `reads`: read models that were proved; without them only what the events themselves hold is compared.
 */
export async function contradicted(
  source: AuditSource,
  stated: readonly Stated[],
  reads: Reads | undefined,
): Promise<Finding | undefined> {
  if (stated.length === 0) return undefined;
  const { contradictions } = await import('#decisions/index.js');
  for (const { from, predicate, position } of stated) {
    const event = position === undefined ? undefined : await eventAt(source, position);
    const [first] = event ? contradictions(predicate, event, reads) : [];
    if (first)
      return {
        at: from,
        what: `${first.path} of the event at position ${position ?? ''}`,
        expected: textOf(first.recorded),
        found: textOf(first.stated),
      };
  }
  return undefined;
}

function textOf(value: unknown): string {
  return value === undefined ? 'nothing' : JSON.stringify(value);
}
