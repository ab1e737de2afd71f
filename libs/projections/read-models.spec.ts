import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { NO_STREAM } from '#event-store/event-store.js';
import { MemoryStore } from '#event-store/memory.js';
import { Streams } from '#event-store/streams.js';
import { projection } from './projection.js';
import { projectHere, type Projector } from './projector.js';
import { ReadDatabase, type Reads } from './read-database.js';
import { ReadModels } from './read-models.js';

/** Counts the events of one type. */
const counting = (type: 'Red' | 'Blue') =>
  projection(type, 1, { [type]: `CREATE TABLE ${type} (n INTEGER NOT NULL)` }, [
    [type, (tables) => tables.run(`INSERT INTO ${type} VALUES (1)`)],
  ]);
const [red, blue] = [counting('Red'), counting('Blue')];
const count = (reads: Reads, { name }: { name: string }): number =>
  Number(reads.get(`SELECT count(*) AS n FROM ${name}`)?.['n']);

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'read-models-'));
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

let next = 0;
async function record(store: MemoryStore, type: string): Promise<void> {
  const event = {
    id: randomUUID(),
    type,
    version: 1,
    workspace: 'w',
    actor: { principal: 'ann', kind: 'person', credential: null },
    causation: 'c',
    correlation: 'c',
    payload: '{}',
  } as const;
  await store.append(`thing-${++next}`, NO_STREAM, [event]);
}

/** News of the projector that come late, as those of another thread may. */
class Late implements Projector {
  position: number;
  statuses: Projector['statuses'];

  constructor(private readonly real: Projector) {
    this.position = real.position;
    this.statuses = real.statuses;
  }

  arrive(): void {
    this.position = this.real.position;
    this.statuses = this.real.statuses;
  }

  async reach(position: number): Promise<void> {
    await this.real.reach(position);
    this.arrive();
  }

  close(): Promise<void> {
    return this.real.close();
  }
}

async function opened(file: string) {
  const store = new MemoryStore(() => 1_000);
  const path = join(dir, file);
  const real = await projectHere(store, path, [red, blue], {
    onFailure: (error) => {
      throw error;
    },
  });
  const db = ReadDatabase.openForReading(path);
  const late = new Late(real);
  const close = async (): Promise<void> => {
    await real.close();
    db.close();
  };
  return { store, real, late, models: new ReadModels(db, late, new Streams(store)), close };
}

it('P3: what is remembered is what the tables hold, however late the news of a change', async () => {
  const acts = fc.constantFrom('Red', 'Blue', 'news', 'turn', 'read', 'now', 'read', 'now');
  let remembered = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(acts, { minLength: 5, maxLength: 40 }), async (steps) => {
      const { store, real, late, models, close } = await opened(`${++next}.sqlite`);
      const seen = (reads: Reads): void => {
        for (const model of [red, blue]) {
          let asked = false;
          const ask = (): number => {
            asked = true;
            return count(reads, model);
          };
          expect(reads.memo(model, 'n', ask)).toBe(count(reads, model));
          if (!asked) remembered += 1;
        }
      };
      for (const step of steps)
        if (step === 'news') late.arrive();
        else if (step === 'turn') await nextTurn();
        else if (step === 'read') await models.read(seen);
        else if (step === 'now') models.now(seen);
        else {
          await record(store, step);
          await real.reach(await store.end());
        }
      await close();
    }),
    { numRuns: 150 },
  );
  expect(remembered).toBeGreaterThan(100);
});

it('a change of one read model leaves what is remembered of another', async () => {
  const { store, models, close } = await opened('two.sqlite');
  await record(store, 'Red');
  let asked = 0;
  const ask = () =>
    models.read((reads) => {
      const value = reads.memo(red, 'n', () => {
        asked += 1;
        return count(reads, red);
      });
      return value;
    }, 1);
  expect([await ask(), await ask(), asked]).toEqual([1, 1, 1]);
  await record(store, 'Blue');
  await models.settled(2);
  expect([await ask(), asked]).toEqual([1, 1]);
  await record(store, 'Red');
  await models.settled(3);
  expect([await ask(), asked]).toEqual([2, 2]);
  await close();
});

it('remembers the last few hundred, and only where it serves', async () => {
  const { models, close } = await opened('few.sqlite');
  const asked: string[] = [];
  const ask = (key: string, serves = true) =>
    models.now((reads) =>
      reads.memo(red, key, () => asked.push(key), () => serves),
    ); // prettier-ignore
  for (const key of ['a', 'a', 'b']) ask(key);
  expect(asked).toEqual(['a', 'b']);
  ask('a', false);
  expect(asked).toEqual(['a', 'b', 'a']);
  for (let n = 0; n < 1_000; n++) ask(`k${n}`);
  ask('b');
  expect(asked.filter((key) => key === 'b')).toHaveLength(2);
  await close();
});
