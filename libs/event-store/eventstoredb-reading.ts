import { setTimeout as delay } from 'node:timers/promises';
import type { EventStoreDBClient, ResolvedEvent, StreamingRead } from '@eventstore/db-client';
import grpc from '@eventstore/db-client/generated/streams_grpc_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import { Refusal } from '#kernel/refusal.js';
import type { Position, RecordedEvent } from './event-store.js';
import {
  errorType,
  internals,
  isRefusal,
  NoAnswer,
  refusedByCluster,
  unreachable,
  type Connection,
} from './eventstoredb-connection.js';
import { backoff } from './eventstoredb-health.js';
import { recordedEvent } from './header.js';

/** An event as the cluster has it: `engineId` names the attempt that stored it, the id of the product is in the header. */
export interface StoredEvent {
  engineId: string;
  revision: number;
  type: string;
  position: Position;
  metadata: unknown;
  /** Bytes, unless somebody else has written JSON. */
  data: unknown;
}

/** An event in a stream of the product that the product has not written. Reading it again changes nothing. */
export class ForeignEvent extends Error {
  override name = 'ForeignEvent';

  constructor(place: string) {
    super(`${place} was not written by this product`);
  }
}

const PAGE = 512;
/** A page ends early when it holds this much, so that large events do not fill memory. */
export const PAGE_BYTES = 4_000_000;

/**
 * Before every header (RFC 7464). The client parses metadata that is JSON and keeps no bytes of it; this is no JSON to it,
 * so the header comes back as it was stored.
 */
const RECORD_SEPARATOR = 0x1e;

export function toMetadata(header: string): Uint8Array {
  return new TextEncoder().encode(`\u001e${header}`);
}

/** Throws on an event that this product has not written. */
export function toHeader(metadata: unknown, place: string): string {
  if (!(metadata instanceof Uint8Array) || metadata[0] !== RECORD_SEPARATOR)
    throw new ForeignEvent(place);
  return Buffer.from(metadata.buffer, metadata.byteOffset + 1, metadata.length - 1).toString();
}

export function toRecorded(event: StoredEvent): RecordedEvent {
  const header = toHeader(event.metadata, `the event at ${event.position}`);
  const payload = bytesOf(event).toString();
  return recordedEvent(event.position, header, payload);
}

export function bytesOf({ data, position }: StoredEvent): Buffer {
  if (!(data instanceof Uint8Array)) throw new ForeignEvent(`the event at ${position}`);
  return Buffer.from(data.buffer, data.byteOffset, data.length);
}

export function toStored({ event }: ResolvedEvent): StoredEvent {
  if (!event) throw new Error('a read delivered a link to nothing');
  return {
    engineId: event.id,
    revision: Number(event.revision),
    type: event.type,
    position: toPosition(event.position?.commit),
    metadata: event.metadata,
    data: event.data,
  };
}

export function toPosition(commit: bigint | string | undefined): Position {
  const position = Number(commit ?? NaN);
  if (!Number.isSafeInteger(position))
    throw new Error(`${String(commit)} is no position; the event store must be 22.6 or newer`);
  return position;
}

/** Runs `work` until it succeeds, with pauses, while the time of one read lasts. Then throws a `Refusal`. */
export async function persist<T>(connection: Connection, work: () => Promise<T>): Promise<T> {
  const { settleMs, backoffMs } = connection.timings;
  const until = performance.now() + settleMs;
  for (let attempt = 0; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (error instanceof Refusal || error instanceof ForeignEvent) throw error;
      const reason = String(error);
      if (isRefusal(error)) throw refusedByCluster(error);
      const pause = backoff(backoffMs, attempt);
      if (connection.closed || performance.now() + pause > until) throw unreachable(reason);
      await delay(pause);
    }
  }
}

/** The events of one page, oldest first; `ended` when the stream has no more. */
export interface Page {
  events: StoredEvent[];
  ended: boolean;
}

export function readPage(
  connection: Connection,
  stream: string,
  from: number,
  count = PAGE,
): Promise<Page> {
  const { settleMs, readMs } = connection.timings;
  const options = { fromRevision: BigInt(from), maxCount: count, ...connection.leader };
  return connection.call(settleMs, (client) =>
    gather(client.readStream(stream, options), count, readMs),
  );
}

/** Revision of the last event; −1 for a stream that does not exist. */
export async function readHead(connection: Connection, stream: string): Promise<number> {
  const { settleMs, readMs } = connection.timings;
  const options = { fromRevision: 'end', direction: 'backwards', maxCount: 1 } as const;
  const page = await connection.call(settleMs, (client) =>
    gather(client.readStream(stream, { ...options, ...connection.leader }), 1, readMs),
  );
  return page.events[0]?.revision ?? -1;
}

/** Reads a stream out, page by page. */
export async function* readOut(
  connection: Connection,
  stream: string,
  from: number,
): AsyncGenerator<StoredEvent[], void, void> {
  for (let next = from; ;) {
    const start = next;
    const { events, ended } = await persist(connection, () => readPage(connection, stream, start));
    const last = events.at(-1);
    if (!last) return;
    yield events;
    if (ended) return;
    next = last.revision + 1;
  }
}

/**
 * Collects a read. The client knows no deadline for it, lets go of no call that a loop breaks out of, and has its errors
 * thrown at the process unless somebody listens to the end.
 */
function gather(
  stream: StreamingRead<ResolvedEvent>,
  count: number,
  readMs: number,
): Promise<Page> {
  return new Promise((resolve, reject) => {
    const events: StoredEvent[] = [];
    let bytes = 0;
    const finish = (settle: () => void): void => {
      clearTimeout(timer);
      stream.off('data', take);
      stream.cancel().catch(() => undefined);
      settle();
    };
    const take = (resolved: ResolvedEvent): void => {
      timer.refresh();
      try {
        const event = toStored(resolved);
        events.push(event);
        bytes += event.data instanceof Uint8Array ? event.data.length : 0;
      } catch (error) {
        return finish(() => reject(asError(error)));
      }
      if (bytes >= PAGE_BYTES) finish(() => resolve({ events, ended: false }));
    };
    const timer = setTimeout(() => {
      finish(() => reject(new NoAnswer(`a read stood still for ${readMs} ms`)));
    }, readMs);
    stream.on('error', (error: Error) => {
      finish(() => {
        if (errorType(error) === 'stream-not-found') resolve({ events: [], ended: true });
        else reject(error);
      });
    });
    stream.on('end', () => {
      finish(() => resolve({ events, ended: events.length < count }));
    });
    stream.on('data', take);
  });
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

/** Position and header of the last event of streams whose name begins with `prefix`. */
export interface LastEvent {
  position: Position;
  header: string;
}

/** The client cannot filter a read of $all, the server can: without that a read from the end would pass all foreign events. */
export function readLast(connection: Connection, prefix: string): Promise<LastEvent | undefined> {
  const { readMs } = connection.timings;
  return connection.call(readMs, async (client) => {
    const call = await lastCall(client, connection, prefix);
    return new Promise<LastEvent | undefined>((resolve, reject) => {
      let last: LastEvent | undefined;
      call.on('error', reject);
      call.on('end', () => resolve(last));
      call.on('data', (answer: streams.ReadResp) => {
        const event = answer.getEvent()?.getEvent();
        if (!event) return;
        try {
          const position = toPosition(event.getCommitPosition());
          const header = toHeader(event.getCustomMetadata_asU8(), `the event at ${position}`);
          last = { position, header };
        } catch (error) {
          reject(asError(error));
        }
      });
    });
  });
}

function lastCall(client: EventStoreDBClient, connection: Connection, prefix: string) {
  const inner = internals(client);
  const options = { ...connection.leader, deadline: connection.timings.readMs };
  const create = inner.GRPCStreamCreator(grpc.StreamsClient, 'readAll', (service) => {
    const read = (service as { read(...all: unknown[]): NodeJS.ReadableStream }).read.bind(service);
    // Listened to from the start: an error that nobody hears ends the process.
    return read(lastRequest(prefix), ...inner.callArguments(options)).on('error', () => undefined);
  });
  return create();
}

function lastRequest(prefix: string): streams.ReadReq {
  const { Options } = streams.ReadReq;
  const filter = new Options.FilterOptions()
    .setStreamIdentifier(new Options.FilterOptions.Expression().setPrefixList([prefix]))
    .setMax(PAGE)
    .setCheckpointintervalmultiplier(1);
  const options = new Options()
    .setAll(new Options.AllOptions().setEnd(new shared.Empty()))
    .setReadDirection(Options.ReadDirection.BACKWARDS)
    .setCount('1')
    .setUuidOption(new Options.UUIDOption().setString(new shared.Empty()))
    .setFilter(filter);
  return new streams.ReadReq().setOptions(options);
}
