import { isUtf8 } from 'node:buffer';
import type { EventStoreDBClient } from '@eventstore/db-client';
import grpc from '@eventstore/db-client/generated/streams_grpc_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import { readAddress } from './eventstoredb-address.js';
import { END as BLOB_END } from './eventstoredb-blobs.js';
import { Connection, internals } from './eventstoredb-connection.js';
import { Health, TIMINGS } from './eventstoredb-health.js';
import {
  bytesOf,
  ForeignEvent,
  PAGE_BYTES,
  persist,
  readLast,
  readOut,
  readPage,
  toPosition,
} from './eventstoredb-reading.js';
import { blobPrefixOf, DEFAULT_LEDGER, prefixOf } from './eventstoredb.js';
import type { Position } from './event-store.js';
import type { LedgerSource, StoredBlob, StoredEvent } from './ledger-check.js';

const PAGE = 512;
const PAGE_AHEAD = 32;
const RECORD_SEPARATOR = 0x1e;
const NOTHING = new Uint8Array();

/** An event of the cluster, whoever wrote it. */
interface Raw {
  position: Position;
  /** With the prefix. */
  stream: string;
  revision: number;
  type: string;
  metadata: Uint8Array;
  data: Uint8Array;
}

/** A ledger in a cluster as an auditor reads it: the stored bytes, up to where the log ended when this was opened. */
export class EventStoreDbSource implements LedgerSource {
  readonly #prefix: string;
  readonly #blobPrefix: string;

  constructor(
    private readonly connection: Connection,
    ledger: string,
    private readonly end: Position,
  ) {
    this.#prefix = prefixOf(ledger);
    this.#blobPrefix = blobPrefixOf(ledger);
  }

  async *log(after: Position = -1): AsyncGenerator<readonly StoredEvent[]> {
    for await (const page of this.#all(this.#prefix, after)) {
      const events = page
        .filter(({ position }) => position <= this.end)
        .map((raw) => this.#stored(raw));
      if (events.length > 0) yield events;
      if ((page.at(-1)?.position ?? 0) >= this.end) return;
    }
  }

  async locate(stream: string, revision: number): Promise<Position | undefined> {
    const name = this.#prefix + stream;
    const { events } = await persist(this.connection, () =>
      readPage(this.connection, name, revision, 1),
    );
    const [event] = events;
    return event?.revision === revision ? event.position : undefined;
  }

  async stream(name: string, fromRevision: number): Promise<readonly StoredEvent[]> {
    const { events } = await persist(this.connection, () =>
      readPage(this.connection, this.#prefix + name, fromRevision, PAGE_AHEAD),
    );
    return events
      .filter(({ position }) => position <= this.end)
      .map(({ position, revision, metadata, data }) => ({
        position,
        stream: name,
        revision,
        ...texts(headerIn(metadata), data instanceof Uint8Array ? data : NOTHING),
      }));
  }

  async *blobs(): AsyncGenerator<readonly StoredBlob[]> {
    for await (const page of this.#all(this.#blobPrefix, -1))
      for (const { stream, type } of page) {
        if (type !== BLOB_END) continue;
        const hash = stream.slice(this.#blobPrefix.length);
        const bytes = await this.blob(hash);
        if (bytes) yield [{ hash, bytes }];
      }
  }

  /** As it is stored, whatever its name says. */
  async blob(hash: string): Promise<Uint8Array | undefined> {
    const chunks: Buffer[] = [];
    let type = '';
    for await (const events of readOut(this.connection, this.#blobPrefix + hash, 0))
      for (const event of events) {
        chunks.push(bytesOf(event));
        type = event.type;
      }
    return type === BLOB_END ? new Uint8Array(Buffer.concat(chunks)) : undefined;
  }

  async hasBlob(hash: string): Promise<boolean> {
    const name = this.#blobPrefix + hash;
    const { events } = await persist(this.connection, () => readPage(this.connection, name, 0, 1));
    return events.length > 0;
  }

  close(): void {
    this.connection.close();
  }

  #stored({ position, stream, revision, metadata, data }: Raw): StoredEvent {
    return {
      position,
      stream: stream.slice(this.#prefix.length),
      revision,
      ...texts(headerIn(metadata), data),
    };
  }

  async *#all(prefix: string, after: Position): AsyncGenerator<readonly Raw[]> {
    for (let from = after; ;) {
      const start = from;
      const read = await persist(this.connection, () => this.#page(prefix, start));
      // A page begins with the event at the position that it was asked for.
      const page = read.filter(({ position }) => position > start);
      const last = page.at(-1);
      if (!last) return;
      yield page;
      from = last.position;
    }
  }

  #page(prefix: string, after: Position): Promise<Raw[]> {
    const { readMs } = this.connection.timings;
    return this.connection.call(readMs, async (client) => {
      const call = await readCall(client, this.connection, prefix, after);
      return new Promise<Raw[]>((resolve, reject) => {
        const events: Raw[] = [];
        let bytes = 0;
        call.on('error', reject);
        call.on('end', () => resolve(events));
        call.on('data', (answer: streams.ReadResp) => {
          const event = answer.getEvent()?.getEvent();
          if (!event || bytes > PAGE_BYTES) return;
          const raw = rawOf(event);
          bytes += raw.data.length;
          events.push(raw);
        });
      });
    });
  }
}

function rawOf(event: streams.ReadResp.ReadEvent.RecordedEvent): Raw {
  return {
    position: toPosition(event.getCommitPosition()),
    stream: Buffer.from(event.getStreamIdentifier()?.getStreamName_asU8() ?? NOTHING).toString(),
    revision: Number(event.getStreamRevision()),
    type: event.getMetadataMap().get('type') ?? '',
    metadata: event.getCustomMetadata_asU8(),
    data: event.getData_asU8(),
  };
}

function texts(
  header: Uint8Array,
  payload: Uint8Array,
): Pick<StoredEvent, 'header' | 'payload' | 'unreadable'> {
  const broken = isUtf8(header) ? (isUtf8(payload) ? undefined : 'payload') : 'header';
  const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString();
  return {
    header: text(header),
    payload: text(payload),
    ...(broken === undefined ? {} : { unreadable: broken }),
  };
}

/** Whatever else stands there is no header, which the check then says. */
function headerIn(metadata: unknown): Uint8Array {
  if (!(metadata instanceof Uint8Array)) return NOTHING;
  return metadata[0] === RECORD_SEPARATOR ? metadata.subarray(1) : metadata;
}

function readCall(
  client: EventStoreDBClient,
  connection: Connection,
  prefix: string,
  after: Position,
) {
  const inner = internals(client);
  const options = { ...connection.leader, deadline: connection.timings.readMs };
  const create = inner.GRPCStreamCreator(grpc.StreamsClient, 'readAll', (service) => {
    const read = (service as { read(...all: unknown[]): NodeJS.ReadableStream }).read.bind(service);
    // Listened to from the start: an error that nobody hears ends the process.
    return read(request(prefix, after), ...inner.callArguments(options)).on(
      'error',
      () => undefined,
    );
  });
  return create();
}

function request(prefix: string, after: Position): streams.ReadReq {
  const { Options } = streams.ReadReq;
  const filter = new Options.FilterOptions()
    .setStreamIdentifier(new Options.FilterOptions.Expression().setPrefixList([prefix]))
    .setMax(PAGE)
    .setCheckpointintervalmultiplier(1);
  const all = new Options.AllOptions();
  if (after < 0) all.setStart(new shared.Empty());
  else
    all.setPosition(
      new Options.Position().setCommitPosition(String(after)).setPreparePosition(String(after)),
    );
  const options = new Options()
    .setAll(all)
    .setReadDirection(Options.ReadDirection.FORWARDS)
    .setCount(String(PAGE))
    .setUuidOption(new Options.UUIDOption().setString(new shared.Empty()))
    .setFilter(filter);
  return new streams.ReadReq().setOptions(options);
}

/** Refuses as `openEventStoreDb` does. */
export async function openEventStoreDbSource(
  connectionString: string,
  ledger = DEFAULT_LEDGER,
): Promise<EventStoreDbSource> {
  const connection = new Connection(readAddress(connectionString), TIMINGS, new Health());
  try {
    const last = await persist(connection, () => readLast(connection, prefixOf(ledger))).catch(
      (error: unknown) => {
        // Damage in the last event is for the check to name.
        if (error instanceof ForeignEvent) return { position: Number.MAX_SAFE_INTEGER };
        throw error;
      },
    );
    return new EventStoreDbSource(connection, ledger, last?.position ?? -1);
  } catch (error) {
    connection.close();
    throw error;
  }
}
