import {
  Metadata,
  Server,
  ServerCredentials,
  status,
  type sendUnaryData,
  type ServerDuplexStream,
  type ServerReadableStream,
} from '@grpc/grpc-js';
import { setTimeout as delay } from 'node:timers/promises';
import gossip from '@eventstore/db-client/generated/gossip_pb.js';
import gossipGrpc, { type IGossipServer } from '@eventstore/db-client/generated/gossip_grpc_pb.js';
import features from '@eventstore/db-client/generated/serverfeatures_pb.js';
import featuresGrpc, {
  type IServerFeaturesServer,
} from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import streamsGrpc, {
  type IStreamsServer,
} from '@eventstore/db-client/generated/streams_grpc_pb.js';
import { FaultyProxy } from './eventstoredb-proxy.js';
import { ServerLog, type Expected, type Proposed, type Verdict } from './eventstoredb-log.js';
import { nameOf, serveRead, type Reading } from './eventstoredb-reading.js';

/** What happens to an append instead of, or after, being stored. */
export type AppendFault =
  | 'unavailable' // refused, nothing stored
  | 'not-leader' // refused, nothing stored
  | 'stall' // nothing stored, no answer ever
  | 'store-then-stall' // stored, no answer ever
  | 'store-then-unavailable' // stored, answered with an error
  | 'store-then-wrong-version' // stored, answered with WrongExpectedVersion
  | 'delay'; // stored and answered after `delayMs`

type AppendCall = ServerReadableStream<streams.AppendReq, streams.AppendResp>;

/**
 * EventStoreDB in memory, behind a proxy that can cut it off: the client's own service definitions on `@grpc/grpc-js`.
 * The log outlives a restart; `calls` counts what clients asked for, `injected` the faults that took effect.
 */
export class TestEventStoreDb {
  readonly log = new ServerLog();
  readonly calls: Record<string, number> = {};
  readonly reading: Reading = { silent: false, open: new Set() };
  injected = 0;
  delayMs = 300;
  /** Serves feature discovery, as servers do from 21.10 on. */
  featuresFail = false;
  #faults: AppendFault[] = [];
  #server = new Server();
  #port = 0;

  private constructor(private proxyOrNone?: FaultyProxy) {}

  static async start(): Promise<TestEventStoreDb> {
    const server = new TestEventStoreDb();
    await server.#listen();
    server.proxyOrNone = await FaultyProxy.start(server.#port);
    return server;
  }

  get proxy(): FaultyProxy {
    if (!this.proxyOrNone) throw new Error('not started');
    return this.proxyOrNone;
  }

  get connectionString(): string {
    return `esdb://127.0.0.1:${this.proxy.port}?tls=false`;
  }

  /** Past the proxy and its faults. Ends with a restart. */
  get directString(): string {
    return `esdb://127.0.0.1:${this.#port}?tls=false`;
  }

  get discoveryString(): string {
    return `esdb+discover://127.0.0.1:${this.proxy.port}?tls=false&maxDiscoverAttempts=1`;
  }

  /** The next appends meet these faults, in order. */
  inject(...faults: AppendFault[]): void {
    this.#faults.push(...faults);
  }

  /** Ends the process as far as clients can tell, and starts another one on the same log. */
  async restart(downMs = 0): Promise<void> {
    this.proxy.refuse(true);
    this.#server.forceShutdown();
    await delay(downMs);
    await this.#listen();
    this.proxy.retarget(this.#port);
    this.proxy.refuse(false);
  }

  /** Every subscription and read is ended by the server, without an error. */
  endReads(): void {
    for (const call of this.reading.open) call.end();
  }

  async stop(): Promise<void> {
    this.#server.forceShutdown();
    await this.proxy.close();
  }

  async #listen(): Promise<void> {
    const server = new Server();
    server.addService(streamsGrpc.StreamsService, this.#streams());
    server.addService(gossipGrpc.GossipService, this.#gossip());
    server.addService(featuresGrpc.ServerFeaturesService, this.#features());
    this.#port = await new Promise<number>((resolve, reject) => {
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
        error ? reject(error) : resolve(port),
      );
    });
    this.#server = server;
  }

  #count(method: string): void {
    this.calls[method] = (this.calls[method] ?? 0) + 1;
  }

  #streams(): IStreamsServer {
    return {
      read: (call) => {
        this.#count('read');
        serveRead(this.log, call, this.reading);
      },
      append: (call, callback) => {
        this.#count('append');
        this.#receive(call, callback);
      },
      batchAppend: (call) => {
        this.#count('batchAppend');
        this.#batchAppend(call);
      },
      delete: (_, callback) => callback({ code: status.UNIMPLEMENTED }),
      tombstone: (_, callback) => callback({ code: status.UNIMPLEMENTED }),
    };
  }

  #receive(call: AppendCall, callback: sendUnaryData<streams.AppendResp>): void {
    let options: streams.AppendReq.Options | undefined;
    const events: Proposed[] = [];
    call.on('data', (request: streams.AppendReq) => {
      options ??= request.getOptions();
      const message = request.getProposedMessage();
      if (message) events.push(proposed(message));
    });
    call.on('error', () => undefined);
    call.on('end', () => {
      // Also emitted for a request that broke off, of which nothing is stored; that shows a moment later.
      setImmediate(() => {
        if (call.cancelled || call.destroyed || !options) return;
        const name = nameOf(options.getStreamIdentifier());
        void this.#append(name, expectedOf(options), events, callback);
      });
    });
  }

  async #append(
    stream: string,
    expected: Expected,
    events: readonly Proposed[],
    callback: sendUnaryData<streams.AppendResp>,
  ): Promise<void> {
    const fault = this.#faults.shift();
    if (fault) this.injected++;
    if (fault === 'unavailable') return callback(unavailable());
    if (fault === 'not-leader') return callback(this.#notLeader());
    if (fault === 'stall') return;
    const verdict = this.log.append(stream, expected, events);
    if (fault === 'store-then-stall') return;
    if (fault === 'store-then-unavailable') return callback(unavailable());
    if (fault === 'delay') await delay(this.delayMs);
    if (fault === 'store-then-wrong-version' && verdict.kind === 'stored')
      return callback(null, appendAnswer({ kind: 'wrong', current: verdict.revision }));
    callback(null, appendAnswer(verdict));
  }

  #batchAppend(call: ServerDuplexStream<streams.BatchAppendReq, streams.BatchAppendResp>): void {
    const open = new Map<string, { options: streams.BatchAppendReq.Options; events: Proposed[] }>();
    call.on('error', () => undefined);
    call.on('end', () => call.end());
    call.on('data', (request: streams.BatchAppendReq) => {
      const id = request.getCorrelationId()?.getString() ?? '';
      const options = request.getOptions();
      if (options) open.set(id, { options, events: [] });
      const batch = open.get(id);
      if (!batch) return;
      batch.events.push(...request.getProposedMessagesList().map(proposed));
      if (!request.getIsFinal()) return;
      open.delete(id);
      if (this.#faults.shift() === 'stall') {
        this.injected++;
        return;
      }
      const expected = batchExpected(batch.options);
      const name = nameOf(batch.options.getStreamIdentifier());
      const verdict = this.log.append(name, expected, batch.events);
      if (verdict.kind === 'wrong') return void call.emit('error', { code: status.INTERNAL });
      const position = new shared.AllStreamPosition();
      position.setCommitPosition(`${verdict.position}`).setPreparePosition(`${verdict.position}`);
      const success = new streams.BatchAppendResp.Success();
      success.setCurrentRevision(`${verdict.revision}`).setPosition(position);
      const answer = new streams.BatchAppendResp();
      answer.setCorrelationId(request.getCorrelationId()).setSuccess(success);
      call.write(answer.setStreamIdentifier(batch.options.getStreamIdentifier()));
    });
  }

  #notLeader() {
    const metadata = new Metadata();
    metadata.set('exception', 'not-leader');
    metadata.set('leader-endpoint-host', '127.0.0.1');
    metadata.set('leader-endpoint-port', `${this.proxy.port}`);
    return { code: status.NOT_FOUND, details: 'Leader info available', metadata };
  }

  #gossip(): IGossipServer {
    return {
      read: (_, callback) => {
        this.#count('gossip');
        const endpoint = new gossip.EndPoint().setAddress('127.0.0.1').setPort(this.proxy.port);
        const member = new gossip.MemberInfo()
          .setInstanceId(new shared.UUID().setString('00000000-0000-4000-8000-000000000000'))
          .setTimeStamp(`${Date.now() * 10_000}`)
          .setState(gossip.MemberInfo.VNodeState.LEADER)
          .setIsAlive(true)
          .setHttpEndPoint(endpoint);
        callback(null, new gossip.ClusterInfo().setMembersList([member]));
      },
    };
  }

  #features(): IServerFeaturesServer {
    return {
      getSupportedMethods: (_, callback) => {
        this.#count('features');
        if (this.featuresFail) return callback(unavailable());
        const batch = new features.SupportedMethod()
          .setServiceName('event_store.client.streams.streams')
          .setMethodName('batchappend');
        const methods = new features.SupportedMethods().setEventStoreServerVersion('24.10.0');
        callback(null, methods.setMethodsList([batch]));
      },
    };
  }
}

function proposed(
  message: streams.AppendReq.ProposedMessage | streams.BatchAppendReq.ProposedMessage,
): Proposed {
  return {
    id: message.getId()?.getString() ?? '',
    system: new Map(message.getMetadataMap().entries()),
    metadata: message.getCustomMetadata_asU8(),
    data: message.getData_asU8(),
  };
}

function expectedOf(options: streams.AppendReq.Options): Expected {
  if (options.hasNoStream()) return -1;
  if (options.hasAny()) return 'any';
  return options.hasStreamExists() ? 'stream_exists' : Number(options.getRevision());
}

function batchExpected(options: streams.BatchAppendReq.Options): Expected {
  if (options.hasNoStream()) return -1;
  if (options.hasAny()) return 'any';
  return options.hasStreamExists() ? 'stream_exists' : Number(options.getStreamPosition());
}

function appendAnswer(verdict: Verdict): streams.AppendResp {
  const answer = new streams.AppendResp();
  if (verdict.kind === 'stored') {
    const position = new streams.AppendResp.Position();
    position.setCommitPosition(`${verdict.position}`).setPreparePosition(`${verdict.position}`);
    const success = new streams.AppendResp.Success();
    return answer.setSuccess(
      success.setCurrentRevision(`${verdict.revision}`).setPosition(position),
    );
  }
  const wrong = new streams.AppendResp.WrongExpectedVersion();
  if (verdict.current < 0) wrong.setCurrentNoStream(new shared.Empty());
  else wrong.setCurrentRevision(`${verdict.current}`);
  return answer.setWrongExpectedVersion(wrong);
}

function unavailable() {
  return { code: status.UNAVAILABLE, details: 'Server is not ready' };
}
