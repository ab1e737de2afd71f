import type { ServerWritableStream } from '@grpc/grpc-js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import { matches, type Filter, type LogEvent, type ServerLog } from './eventstoredb-log.js';

export type ReadCall = ServerWritableStream<streams.ReadReq, streams.ReadResp>;

/** State that all reads of a server share. */
export interface Reading {
  /** Subscriptions stay open and deliver nothing, and no drop is signalled (B30); new ones may even be confirmed. */
  silent: boolean | 'confirmed';
  /** Between two events of a subscription that begins while this is set. */
  slowMs: number;
  /** Positions after which subscriptions began; 0 for the start of the log. */
  readonly from: number[];
  readonly open: Set<ReadCall>;
}

/** `Read` of the real server: streams and $all, both directions, filters, subscriptions with checkpoints. */
export function serveRead(log: ServerLog, call: ReadCall, reading: Reading): void {
  const options = call.request.getOptions();
  if (!options) return void call.end();
  reading.open.add(call);
  call.on('error', () => undefined);
  const done = () => reading.open.delete(call);
  call.on('close', done);
  call.on('cancelled', done);
  if (options.hasSubscription()) return subscribe(log, call, options, reading);
  const backwards = options.getReadDirection() === streams.ReadReq.Options.ReadDirection.BACKWARDS;
  const stream = options.getStream();
  if (stream && log.stream(nameOf(stream.getStreamIdentifier())).length === 0) {
    const missing = new streams.ReadResp.StreamNotFound();
    call.write(
      new streams.ReadResp().setStreamNotFound(
        missing.setStreamIdentifier(stream.getStreamIdentifier()),
      ),
    );
    return void call.end();
  }
  void send(call, pick(log, options, backwards));
}

/** Writes as fast as the client takes them, as the real server does. */
async function send(call: ReadCall, events: readonly LogEvent[]): Promise<void> {
  for (const event of events) {
    if (call.cancelled || call.destroyed) return;
    if (!call.write(eventAnswer(event)))
      await new Promise<void>((resolve) => {
        call.once('drain', resolve);
        call.once('cancelled', resolve);
        call.once('close', resolve);
      });
  }
  call.end();
}

function pick(
  log: ServerLog,
  options: streams.ReadReq.Options,
  backwards: boolean,
): readonly LogEvent[] {
  const count = Math.min(Number(options.getCount()), Number.MAX_SAFE_INTEGER);
  const stream = options.getStream();
  const events = stream ? log.stream(nameOf(stream.getStreamIdentifier())) : log.all;
  const filter = filterOf(options);
  const [from, to] = stream
    ? range(events.length, backwards, stream, Number(stream.getRevision()))
    : range(log.all.length, backwards, options.getAll(), log.indexAfter(positionOf(options) - 1));
  if (backwards) {
    const found: LogEvent[] = [];
    for (let i = to - 1; i >= from && found.length < count; i--) {
      const event = events[i];
      if (event && matches(filter, event)) found.push(event);
    }
    return found;
  }
  const inRange = events.slice(from, filter ? to : Math.min(to, from + count));
  return inRange.filter((event) => matches(filter, event)).slice(0, count);
}

function range(
  length: number,
  backwards: boolean,
  at: { hasStart(): boolean; hasEnd(): boolean } | undefined,
  index: number,
): [number, number] {
  const start = at?.hasStart() ? 0 : at?.hasEnd() ? length : index;
  // A backwards read of $all begins before the position, one of a stream at the revision.
  return backwards ? [0, Math.min(length, start)] : [start, length];
}

function subscribe(
  log: ServerLog,
  call: ReadCall,
  options: streams.ReadReq.Options,
  reading: Reading,
): void {
  const filter = filterOf(options);
  const every = (options.getFilter()?.getCheckpointintervalmultiplier() ?? 1) * 32;
  const all = options.getAll();
  let next = all?.hasStart()
    ? 0
    : all?.hasEnd()
      ? log.all.length
      : log.indexAfter(positionOf(options));
  reading.from.push(all?.hasPosition() ? positionOf(options) : 0);
  const { slowMs } = reading;
  let caughtUp = false;
  let sinceCheckpoint = 0;
  let ended = false;
  const confirmation = new streams.ReadResp.SubscriptionConfirmation();
  if (reading.silent !== true)
    call.write(
      new streams.ReadResp().setConfirmation(confirmation.setSubscriptionId(`s${Date.now()}`)),
    );
  const step = (): boolean => {
    const event = log.all[next];
    if (!event) return true;
    next++;
    sinceCheckpoint++;
    let room = true;
    if (matches(filter, event)) room = call.write(eventAnswer(event));
    if (filter && sinceCheckpoint >= every) {
      sinceCheckpoint = 0;
      room = call.write(checkpoint(event.position));
    }
    return room;
  };
  let waiting = false;
  const resume = (): void => {
    waiting = false;
    pump();
  };
  const pump = (): void => {
    if (ended || waiting || reading.silent) return;
    while (next < log.all.length) {
      const room = step();
      if (room && slowMs === 0) continue;
      waiting = true;
      if (room) setTimeout(resume, slowMs);
      else call.once('drain', resume);
      return;
    }
    if (!caughtUp) call.write(new streams.ReadResp().setCaughtUp(new streams.ReadResp.CaughtUp()));
    caughtUp = true;
  };
  const off = log.onAppend(pump);
  const stop = () => {
    ended = true;
    off();
  };
  call.on('cancelled', stop);
  call.on('close', stop);
  call.on('finish', stop);
  pump();
}

function checkpoint(position: number): streams.ReadResp {
  const at = new streams.ReadResp.Checkpoint();
  at.setCommitPosition(`${position}`).setPreparePosition(`${position}`);
  return new streams.ReadResp().setCheckpoint(at);
}

function eventAnswer(event: LogEvent): streams.ReadResp {
  const record = new streams.ReadResp.ReadEvent.RecordedEvent();
  const name = new shared.StreamIdentifier().setStreamName(Buffer.from(event.stream));
  record
    .setId(new shared.UUID().setString(event.id))
    .setStreamIdentifier(name)
    .setStreamRevision(`${event.revision}`)
    .setCommitPosition(`${event.position}`)
    .setPreparePosition(`${event.position}`)
    .setCustomMetadata(event.metadata)
    .setData(event.data);
  for (const [key, value] of event.system) record.getMetadataMap().set(key, value);
  const read = new streams.ReadResp.ReadEvent().setEvent(record);
  return new streams.ReadResp().setEvent(read.setCommitPosition(`${event.position}`));
}

export function nameOf(identifier: shared.StreamIdentifier | undefined): string {
  return Buffer.from(identifier?.getStreamName_asU8() ?? []).toString('utf8');
}

function positionOf(options: streams.ReadReq.Options): number {
  return Number(options.getAll()?.getPosition()?.getCommitPosition() ?? 0);
}

function filterOf(options: streams.ReadReq.Options): Filter | undefined {
  const filter = options.getFilter();
  const expression = filter?.getStreamIdentifier() ?? filter?.getEventType();
  if (!filter || !expression) return undefined;
  return {
    on: filter.hasStreamIdentifier() ? 'stream' : 'type',
    regex: expression.getRegex() === '' ? undefined : new RegExp(expression.getRegex()),
    prefixes: expression.getPrefixList(),
  };
}
