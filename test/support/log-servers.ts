import { generateKeyPairSync, randomUUID, type KeyObject } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NO_STREAM, type EventStore } from '#event-store/event-store.js';
import { Streams } from '#event-store/streams.js';
import type { Json } from '#kernel/json.js';
import { Refusal } from '#kernel/refusal.js';
import { checkpointCodec, type CheckpointEvent } from '#ledger/domain/checkpoint.events.js';
import { originOfLog } from '#ledger/index.js';
import { logTree, treeOf } from '#ledger/projections/log-tree.js';
import { verifyRotation } from '#ledger/signing/key-chain.js';
import { LogEvents } from '#ledger/signing/log-events.js';
import type { LogKeys } from '#ledger/signing/log-keys.js';
import { LogService } from '#ledger/signing/log-service.js';
import { LedgerReceipts } from '#ledger/signing/receipts.js';
import { checkpointStream } from '#ledger/streams.js';
import { projectHere, type Projector } from '#projections/projector.js';
import { ReadDatabase } from '#projections/read-database.js';
import { ReadModels } from '#projections/read-models.js';
import { openCheckpoint, type SignedCheckpoint } from '#transparency/checkpoint.js';
import { consistencyProof, verifyConsistency } from '#transparency/merkle.js';
import { parseVkey } from '#transparency/note.js';

export const WORKSPACE = 'w1';
export const ORIGIN = originOfLog('test', WORKSPACE);
export const newKey = (): KeyObject => generateKeyPairSync('ed25519').privateKey;

/** What one server has of the log. */
export interface LogServer {
  log: LogService;
  receipts: LedgerReceipts;
  models: ReadModels;
  projector: Projector;
  db: ReadDatabase;
  held: KeyObject[];
  published: string[][];
  problems: string[];
}

/** Servers that sign the logs of a ledger, on stores that they may share, and the folder of their read models. */
export class LogServers {
  readonly dir = mkdtempSync(join(tmpdir(), 'signer-'));
  private readonly under: (() => Promise<void>)[] = [];
  private readonly servers: (() => Promise<void>)[] = [];

  async start(store: EventStore, name: string, ...held: KeyObject[]): Promise<LogServer> {
    const path = join(this.dir, `${name}.sqlite`);
    const projector = await projectHere(store, path, [logTree], {
      onFailure: (error) => {
        throw error;
      },
    });
    const db = ReadDatabase.openForReading(path);
    const streams = new Streams(store, { shared: true });
    const models = new ReadModels(db, projector, streams);
    const [published, problems]: [string[][], string[]] = [[], []];
    const keys: LogKeys = {
      name: 'test',
      held,
      publish: (vkeys) => {
        published.push([...vkeys]);
        return Promise.resolve();
      },
      forgetFormer: () => {
        held.length = 1;
        return Promise.resolve();
      },
    };
    const options = {
      keys,
      seconds: 0,
      onProblem: (_: unknown, what: string) => problems.push(what),
    };
    const log = new LogService(streams, models, options);
    const receipts = new LedgerReceipts(
      models,
      new LogEvents(store, models, !('stats' in store)),
      log,
    );
    this.servers.push(async () => {
      await log.close();
      await projector.close();
      db.close();
    });
    return { log, receipts, models, projector, db, held, published, problems };
  }

  /** How to end what the servers stand on, once they are closed; the last one first. */
  on(end: () => Promise<void>): void {
    this.under.push(end);
  }

  async close(): Promise<void> {
    for (const end of [...this.under, ...this.servers].reverse()) await end();
    rmSync(this.dir, { recursive: true, force: true });
  }
}

let next = 0;
/** One event in a stream of its own; its position. */
export async function record(store: EventStore, workspace = WORKSPACE): Promise<number> {
  const { position } = await store.append(`thing-${++next}`, NO_STREAM, [
    {
      id: randomUUID(),
      type: 'Happened',
      version: 1,
      workspace,
      actor: { principal: 'ann', kind: 'person', credential: null },
      causation: `c${next}`,
      correlation: `c${next}`,
      payload: '{}',
    },
  ]);
  return position;
}

export async function checkpointEvents(store: EventStore): Promise<CheckpointEvent[]> {
  const all: CheckpointEvent[] = [];
  for await (const batch of store.readStream(checkpointStream(WORKSPACE)))
    for (const { type, version, payload } of batch) {
      const event = checkpointCodec.decode(type, version, JSON.parse(payload) as Json);
      if (event) all.push(event);
    }
  return all;
}

/** Every signed checkpoint, opened with the keys that the log itself introduces. */
export async function checkpointsOf(store: EventStore): Promise<SignedCheckpoint[]> {
  const signed: SignedCheckpoint[] = [];
  let [origin, vkey] = ['', ''];
  for (const event of await checkpointEvents(store)) {
    if (event.type === 'LogOpened') ({ origin, vkey } = event.data);
    else if (event.type === 'LogKeyRotated') {
      verifyRotation(origin, vkey, event.data.vkey, event.data.note);
      ({ vkey } = event.data);
    } else signed.push(openCheckpoint(event.data.note, [parseVkey(vkey)], origin));
  }
  return signed;
}

/** Every pair, by proof against the tree of a server that follows the same log. */
export function assertConsistent(signed: readonly SignedCheckpoint[], { db }: LogServer): number {
  let pairs = 0;
  for (const [i, older] of signed.entries())
    for (const newer of signed.slice(i + 1)) {
      verifyConsistency({
        oldSize: older.size,
        newSize: newer.size,
        oldRoot: older.root,
        newRoot: newer.root,
        proof: consistencyProof(older.size, newer.size, treeOf(db, WORKSPACE)),
      });
      pairs += 1;
    }
  return pairs;
}

export const refusal = async (work: Promise<unknown>): Promise<Refusal> =>
  work.then(
    () => {
      throw new Error('it was not refused');
    },
    (error: unknown) => {
      if (error instanceof Refusal) return error;
      throw error;
    },
  );
