import {
  Server,
  ServerCredentials,
  status,
  type Metadata,
  type sendUnaryData,
  type ServerDuplexStream,
  type ServerReadableStream,
} from '@grpc/grpc-js';
import { setTimeout as delay } from 'node:timers/promises';
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
import { ServerLog, type Expected, type Proposed } from './eventstoredb-log.js';
import { nameOf, serveRead, type Reading } from './eventstoredb-reading.js';
import {
  accessDenied,
  appendAnswer,
  batchExpected,
  expectedOf,
  gossipAnswer,
  notLeader,
  proposed,
  streamDeleted,
  unauthenticated,
  unavailable,
  type Member,
} from './eventstoredb-wire.js';

/** What happens to an append instead of, or after, being stored. */
export type AppendFault =
  | 'unavailable' // refused, nothing stored
  | 'not-leader' // refused, nothing stored
  | 'stall' // nothing stored, no answer ever
  | 'store-then-stall' // stored, no answer ever
  | 'store-then-unavailable' // stored, answered with an error
  | 'store-then-wrong-version' // stored, answered with WrongExpectedVersion
  | 'delay'; // stored and answered after `delayMs`

export interface ServerOptions {
  /** PEM. Without it connections are not encrypted, and nobody is asked who he is. */
  tls?: { key: Buffer; cert: Buffer };
  /** Names to passwords. Without it everybody may do everything. `guest` may do nothing. */
  users?: Readonly<Record<string, string>>;
  /** Of the cluster that this server is a node of. */
  log?: ServerLog;
  members?: () => readonly Member[];
}

type AppendCall = ServerReadableStream<streams.AppendReq, streams.AppendResp>;

/**
 * EventStoreDB in memory, behind a proxy that can cut it off: the client's own service definitions on `@grpc/grpc-js`.
 * The log outlives a restart; `calls` counts what clients asked for, `injected` the faults that took effect.
 */
export class TestEventStoreDb {
  readonly log: ServerLog;
  readonly calls: Record<string, number> = {};
  readonly reading: Reading = { silent: false, slowMs: 0, from: [], open: new Set() };
  injected = 0;
  /** Calls that were refused because of who sent them. */
  denied = 0;
  delayMs = 300;
  /** Serves feature discovery, as servers do from 21.10 on. */
  featuresFail = false;
  #faults: AppendFault[] = [];
  #server = new Server();
  #port = 0;

  private constructor(
    private readonly options: ServerOptions,
    private proxyOrNone?: FaultyProxy,
  ) {
    this.log = options.log ?? new ServerLog();
  }

  static async start(options: ServerOptions = {}): Promise<TestEventStoreDb> {
    const server = new TestEventStoreDb(options);
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

  /** Gone, with its port, until `restart`. */
  async kill(): Promise<void> {
    this.proxy.refuse(true);
    this.#server.forceShutdown();
    await delay(0);
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
      server.bindAsync('127.0.0.1:0', this.#credentials(), (error, port) =>
        error ? reject(error) : resolve(port),
      );
    });
    this.#server = server;
  }

  #credentials(): ServerCredentials {
    const { tls } = this.options;
    if (!tls) return ServerCredentials.createInsecure();
    return ServerCredentials.createSsl(null, [{ private_key: tls.key, cert_chain: tls.cert }]);
  }

  #count(method: string): void {
    this.calls[method] = (this.calls[method] ?? 0) + 1;
  }

  /** Why this call is not served, or nothing. */
  #refused(metadata: Metadata): object | undefined {
    const denial = this.#denied(metadata);
    if (denial) this.denied++;
    if (denial || metadata.get('requires-leader')[0] !== 'true') return denial;
    const leader = this.#members().find((m) => m.leader && m.alive);
    if (!leader) return unavailable();
    return leader.port === this.proxy.port ? undefined : notLeader(leader.port);
  }

  #denied(metadata: Metadata): object | undefined {
    const { users } = this.options;
    if (!users) return undefined;
    const [, basic = ''] = /^Basic (.+)$/.exec(String(metadata.get('authorization')[0])) ?? [];
    const [, name = '', password] =
      /^(.*?):(.*)$/.exec(Buffer.from(basic, 'base64').toString()) ?? [];
    if (users[name] === undefined || users[name] !== password) return unauthenticated();
    return name === 'guest' ? accessDenied() : undefined;
  }

  #members(): readonly Member[] {
    const alone = [{ port: this.proxy.port, alive: true, leader: true }];
    return this.options.members?.() ?? alone;
  }

  #streams(): IStreamsServer {
    return {
      read: (call) => {
        this.#count('read');
        const refused = this.#refused(call.metadata);
        if (refused) return void call.emit('error', refused);
        const name = nameOf(call.request.getOptions()?.getStream()?.getStreamIdentifier());
        if (this.log.isDeleted(name)) return void call.emit('error', streamDeleted(name));
        serveRead(this.log, call, this.reading);
      },
      append: (call, callback) => {
        this.#count('append');
        const refused = this.#refused(call.metadata);
        if (refused) return callback(refused);
        this.#receive(call, callback);
      },
      batchAppend: (call) => {
        this.#count('batchAppend');
        this.#batchAppend(call);
      },
      delete: (_, callback) => callback({ code: status.UNIMPLEMENTED }),
      tombstone: (call, callback) => {
        this.#count('tombstone');
        const refused = this.#refused(call.metadata);
        if (refused) return callback(refused);
        const name = nameOf(call.request.getOptions()?.getStreamIdentifier());
        if (!this.log.tombstone(name)) return callback(streamDeleted(name));
        const position = new streams.TombstoneResp.Position();
        const at = `${this.log.all.at(-1)?.position ?? 0}`;
        position.setCommitPosition(at).setPreparePosition(at);
        callback(null, new streams.TombstoneResp().setPosition(position));
      },
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
        if (this.log.isDeleted(name)) return callback(streamDeleted(name));
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
    if (fault === 'not-leader') return callback(notLeader(this.proxy.port));
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

  #gossip(): IGossipServer {
    return {
      read: (_, callback) => {
        this.#count('gossip');
        callback(null, gossipAnswer(this.#members()));
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
