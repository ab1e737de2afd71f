import { contradictions, type Contradiction } from '#decisions/index.js';
import type { RecordedEvent } from '#event-store/event-store.js';
import { everyVkey } from '#ledger/projections/checkpoints.js';
import { parseVkey, type Verifier } from '#transparency/note.js';
import type { Receipt, ReceiptPredicate, ReceiptStatement } from '#transparency/receipt.js';
import type { TestApplication } from './application.js';

/** What a receipt says, unproved. */
export function statementOf(receipt: Pick<Receipt, 'payload'>): ReceiptStatement {
  return JSON.parse(Buffer.from(receipt.payload, 'base64').toString()) as ReceiptStatement;
}

/** Public keys of every log of a ledger. */
export function verifiersOf(server: TestApplication): Promise<Verifier[]> {
  const { models } = server.application.ledger;
  return models.read((reads) => everyVkey(reads).map(parseVkey));
}

export async function eventAt(server: TestApplication, position: number): Promise<RecordedEvent> {
  const { signal } = new AbortController();
  const { store } = server.application.ledger;
  for await (const [event] of store.follow(position - 1, { signal, live: false, batch: 1 }))
    if (event) return event;
  throw new Error(`no event at ${position}`);
}

/** What the ledger that issued a receipt has against it: compared with its event alone, and with its read models too. */
export async function against(
  server: TestApplication,
  predicate: ReceiptPredicate,
): Promise<Contradiction[]> {
  const event = await eventAt(server, Number(predicate.position));
  const { models } = server.application.ledger;
  return [
    ...contradictions(predicate, event),
    ...(await models.read((reads) => contradictions(predicate, event, reads))),
  ];
}
