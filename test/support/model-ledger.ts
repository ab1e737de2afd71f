import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Follower } from '#projections/follower.js';
import { ReadDatabase } from '#projections/read-database.js';
import { projections } from '../../apps/server/src/projections.js';
import { TestApplication, type Reply } from './application.js';
import { TestEventStoreDb, type AppendFault } from './eventstoredb-server.js';

export type Engine = 'memory' | 'sqlite' | 'eventstoredb';
type Body = Record<string, unknown>;

const tables = projections.flatMap((p) => Object.keys(p.tables));

/** A server that a model test talks to; it can be stopped, crashed and rebuilt between two commands. On EventStoreDB there may be more. */
export class ModelLedger {
  readonly counts = new Map<string, number>();
  /** Of the running history: topics bear its number, so that one ledger holds many histories. */
  history = 0;
  private memberKey = '';

  private constructor(
    readonly engine: Engine,
    private readonly cluster: TestEventStoreDb | undefined,
    private server: TestApplication,
    private readonly others: readonly TestApplication[],
  ) {}

  /** `servers` share the log, each with a read database of its own. */
  static async start(engine: Engine, servers = 1): Promise<ModelLedger> {
    const cluster = engine === 'eventstoredb' ? await TestEventStoreDb.start() : undefined;
    const all: TestApplication[] = [];
    while (all.length < servers) all.push(await open(engine, newFolder(), cluster));
    const [server, ...others] = all;
    if (!server) throw new Error('no server');
    const ledger = new ModelLedger(engine, cluster, server, others);
    ledger.memberKey = await server.member('mia', 'member');
    return ledger;
  }

  async close(): Promise<void> {
    for (const server of [this.server, ...this.others]) {
      await server.close();
      rmSync(server.dir, { recursive: true, force: true });
    }
    await this.cluster?.stop();
  }

  count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }

  /** Through the `at`-th server. */
  post(url: string, body: Body, by = 'owner', at = 0): Promise<Reply<Body>> {
    const server = this.others[at - 1] ?? this.server;
    return server.call('POST', url, body, by === 'owner' ? server.key : this.memberKey);
  }

  /** The next appends meet these faults, and all connections break once. */
  disturb(...faults: AppendFault[]): void {
    this.cluster?.inject(...faults);
    this.cluster?.proxy.reset();
  }

  get faultsInjected(): number {
    return this.cluster?.injected ?? 0;
  }

  /** The result of an ingestion once its job is done. */
  async job(id: string): Promise<Body> {
    for (;;) {
      const { body } = await this.server.call('GET', `/v1/ingestions/${id}`);
      if (body['status'] !== 'running') return body;
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }

  end(): Promise<number> {
    return this.server.end();
  }

  get ledger() {
    return this.server.application.ledger;
  }

  async restart(): Promise<void> {
    await this.server.close();
    this.server = await open(this.engine, this.server.dir, this.cluster);
  }

  /**
   * What a crash at this moment would leave, opened: the files copied while everything runs. SQLite's files are copied database first;
   * what is appended to a write-ahead log meanwhile is cut off as by a crash. Read models are copied only while nothing moves.
   */
  async crash(how: { moving: boolean; withoutReactions?: boolean }): Promise<void> {
    const [before, dir] = [this.server, newFolder()];
    const files = [
      'ledger.sqlite',
      'keys.sqlite',
      'pepper',
      ...(how.withoutReactions ? [] : ['reactions.sqlite']),
      ...(how.moving ? [] : ['read.sqlite']),
    ];
    for (const file of files.flatMap((name) => [name, `${name}-wal`]))
      if (existsSync(join(before.dir, file))) copyFileSync(join(before.dir, file), join(dir, file));
    this.server = await open(this.engine, dir, this.cluster);
    await before.close();
    rmSync(before.dir, { recursive: true, force: true });
  }

  /** Digests of every table as the server keeps them. */
  async digests(): Promise<Record<string, string>> {
    await this.ledger.models.settled();
    const db = ReadDatabase.openForReading(join(dirname(this.ledger.reactions), 'read.sqlite'));
    const found = digestsOf(db);
    db.close();
    return found;
  }

  /** Deletes the read models and has the server build them again; in memory a second follower builds them beside. */
  async rebuilt(): Promise<Record<string, string>> {
    if (this.engine === 'memory') {
      const db = ReadDatabase.openForWriting(':memory:');
      await new Follower(this.ledger.store, db, projections).catchUp();
      const found = digestsOf(db);
      db.close();
      return found;
    }
    await this.server.close();
    for (const part of ['', '-wal', '-shm'])
      rmSync(join(this.server.dir, `read.sqlite${part}`), { force: true });
    this.server = await open(this.engine, this.server.dir, this.cluster);
    return this.digests();
  }
}

function newFolder(): string {
  return mkdtempSync(join(tmpdir(), 'precedent-model-'));
}

function open(
  engine: Engine,
  dir: string,
  cluster: TestEventStoreDb | undefined,
): Promise<TestApplication> {
  return TestApplication.start({
    PRECEDENT_DATA: dir,
    PRECEDENT_EVENTSTORE: cluster?.connectionString ?? `${engine}:`,
  });
}

function digestsOf(db: ReadDatabase): Record<string, string> {
  return Object.fromEntries(tables.map((table) => [table, db.digest([table])]));
}
