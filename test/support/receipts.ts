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

/** Where the event stands is for the proof to say. */
const PLACE: readonly string[] = ['origin', 'workspace', 'index', 'position'];

/** A lie about each member of a receipt: with another value, left out, and stated where nothing is. Gives those that pass. */
export async function liesThatPass(
  server: TestApplication,
  predicate: ReceiptPredicate,
): Promise<{ told: number; passed: string[] }> {
  const members = Object.entries(predicate).filter(([name]) => !PLACE.includes(name));
  const absent = ['valid_until', 'execution_id', 'known_at'].filter((name) => !(name in predicate));
  const lies = [
    ...members.map(([name, value]) => [name, other(value)] as const),
    ...members
      .filter(([name]) => name !== 'reason_sha256')
      .map(([name]) => [name, undefined] as const),
    ...absent.map((name) => [name, '2026-01-31'] as const),
  ];
  const event = await eventAt(server, Number(predicate.position));
  const passed = await server.application.ledger.models.read((reads) =>
    lies.filter(([name, value]) => {
      const lie = { ...predicate, [name]: value };
      return !contradictions(lie, event, reads).some(({ path }) => path.split('.')[0] === name);
    }),
  );
  return { told: lies.length, passed: passed.map(([name]) => name) };
}

function other(value: unknown): unknown {
  if (Array.isArray(value)) return [...(value as unknown[]), 'x'];
  if (typeof value === 'number') return value + 1;
  return typeof value === 'string' ? `${value}x` : { ...(value as object), x: 'x' };
}
