import { afterAll, afterEach, describe, expect, it } from '@jest/globals';
import { join } from 'node:path';
import { NO_STREAM, type NewEvent } from '#event-store/event-store.js';
import { openSqliteStore } from '#event-store/sqlite.js';
import { Streams } from '#event-store/streams.js';
import type { Decider } from '#kernel/decider.js';
import { derivedId } from '#kernel/json.js';
import { t } from '#kernel/schema.js';
import { codec } from '#kernel/vocabulary.js';
import { Follower } from '#projections/follower.js';
import { projection, when } from '#projections/projection.js';
import { ReadDatabase } from '#projections/read-database.js';
import { cleanUp, folder } from '../support/fault-kit.js';
import { completed, history, ingest, send, until, wholeLog } from '../support/fault-server.js';
import { startServer, type RunningServer } from '../support/server.js';
import { proved } from '../support/proved.js';

let server: RunningServer | undefined;
afterEach(() => server?.stop('SIGKILL'));
afterAll(cleanUp);

function event(type: string, version: number, payload: string): NewEvent {
  return {
    id: derivedId('foreign', `${type}/${version}/${payload}`),
    type,
    version,
    workspace: 'main',
    actor: { principal: 'owner', kind: 'person', credential: null },
    causation: 'foreign',
    correlation: 'foreign',
    payload,
  };
}

interface Parked {
  name: string;
  lag: number;
  parked?: { position: number; reason: string };
}

async function readiness(door: RunningServer): Promise<{ status: number; parked: Parked[] }> {
  const { status, body } = await until(
    () => send(door, '/health/ready'),
    ({ body }) => (body['read_models'] as Parked[]).every((m) => m.lag === 0 || m.parked),
  );
  return { status, parked: (body['read_models'] as Parked[]).filter((m) => m.parked) };
}

describe('a log that holds what this build does not know', () => {
  it('P5 P6 B29: the server starts, skips unknown events, parks what it cannot digest, and goes on', async () => {
    const dir = folder();
    let door = (server = await startServer({ dir }));
    await completed(door, await ingest(door, 0));
    expect(await door.stop()).toBe(0);

    const put = async (stream: string, foreign: NewEvent): Promise<void> => {
      const store = await openSqliteStore(dir, { clock: Date.now });
      await store.append(stream, NO_STREAM, [foreign]);
      await store.close();
    };

    // Unknown: kept and skipped.
    await put('later-main-1', event('FromTheFuture', 7, '{"what":"nobody knows"}'));
    door = server = await startServer({ dir });
    expect(await readiness(door)).toEqual({ status: 200, parked: [] });
    await completed(door, await ingest(door, 1));
    expect(await door.stop()).toBe(0);

    // A later version of a known event, one that is broken, and one that a reaction cannot read either.
    await put('source-main-later', event('SourceCaptured', 99, '{}'));
    await put('topic-main-broken', event('DecisionProposed', 1, '{"decision_id":null}'));
    await put('ingestion-main-later', event('IngestionSubmitted', 99, '{}'));
    door = server = await startServer({ dir });
    const { status, parked } = await readiness(door);
    expect(status).toBe(503);
    expect(parked.find((m) => m.name === 'sources')?.parked?.reason).toContain('version 99');
    expect(parked.length).toBeGreaterThan(1);
    const positions = new Set(parked.map((m) => m.parked?.position));
    expect(positions.size).toBeGreaterThan(1);
    expect((await send(door, '/health/live')).status).toBe(200);
    expect((await send(door, '/v1/topics/topic%200/history')).status).toBe(200);
    expect((await history(door, 0)).status).toBe(200);

    // Commands fold streams, not read models: writes go on, and the reaction behind the broken event does too.
    expect((await ingest(door, 2)).status).toBe(202);
    const last = await until(
      async () => {
        const log = await wholeLog(dir);
        const done = log.filter((e) => e.type === 'IngestionCompleted').length;
        return { status: done, type: null, body: {} };
      },
      (reply) => reply.status === 3,
    );
    expect(last.status).toBe(3);
    expect(await door.stop()).toBe(0);
    const log = await wholeLog(dir);
    const foreign = log.filter((e) => e.causation === 'foreign');
    expect(foreign.map((e) => `${e.type} ${e.version}`)).toEqual([
      'FromTheFuture 7',
      'SourceCaptured 99',
      'DecisionProposed 1',
      'IngestionSubmitted 99',
    ]);
    proved('events that this build does not know', {
      'faults injected': foreign.length,
      'read models parked and shown': parked.length,
      acknowledged: 3,
      lost: 0,
    });
  }, 120_000);

  const first = codec({ Moved: { version: 1, schema: t.Object({ target: t.String() }) } });
  const second = codec({
    Moved: {
      version: 2,
      schema: t.Object({ to: t.String() }),
      upcasts: { 1: (old) => ({ to: (old as { target: string }).target }) },
    },
  });
  interface Moved {
    type: 'Moved';
    data: { to: string };
  }

  it('P5: events of an older version are read as the present one, by commands and by read models', async () => {
    const dir = folder();
    const store = await openSqliteStore(dir, { clock: Date.now });
    const old = first.encode({ type: 'Moved', data: { target: 'x' } });
    await store.append('thing-1', NO_STREAM, [event('Moved', old.version, '{"target":"x"}')]);
    const decider: Decider<string[], string, Moved> = {
      initial: () => [],
      decide: (to) => [{ type: 'Moved', data: { to } }],
      evolve: (state, { data }) => [...state, data.to],
    };
    const origin = {
      workspace: 'main',
      actor: event('Moved', 2, '').actor,
      command: 'c1',
      correlation: 'c1',
    };
    const streams = new Streams(store);
    const kind = { decider, codec: second };
    const { state } = await streams.execute(kind, 'thing-1', 'y', origin);
    expect(state).toEqual(['x', 'y']);

    const db = ReadDatabase.openForWriting(join(dir, 'read.sqlite'));
    const places = projection(
      'places',
      1,
      { place: 'CREATE TABLE place (position INTEGER PRIMARY KEY, name TEXT NOT NULL)' },
      when(second, {
        Moved(tables, data, meta) {
          tables.run('INSERT INTO place VALUES (?, ?)', meta.position, data.to);
        },
      }),
    );
    const follower = new Follower(store, db, [places]);
    await follower.catchUp();
    expect(follower.statuses[0]?.parked).toBeUndefined();
    const rows = db.all('SELECT name FROM place ORDER BY position');
    expect(rows.map((row) => row['name'])).toEqual(['x', 'y']);
    db.close();
    await store.close();
  });
});
