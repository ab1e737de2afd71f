import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { principalKey } from '#kernel/sealing.js';
import { canTrace, itWith } from '../support/fault-kit.js';
import { killAtCall, type Moment } from '../support/kill-at-call.js';
import { proved } from '../support/proved.js';
import { Restarting, type Body } from '../support/restarting.js';
import { filesBelow, formsOf, traces } from '../support/traces.js';

// B48: an erasure is recorded, then its keys are destroyed (ADR 24). A process that dies at any moment of it leaves neither, or both
// once it has started again.

const NAME = 'Zyxq Personne 4711';
const KILLS = Number(process.env['ERASE_KILLS'] ?? 2);

const ledger = new Restarting();
const { call, done, ingest, told } = ledger;
beforeAll(() => ledger.start(), 60_000);
afterAll(() => ledger.remove());

const erasures = async (of: string): Promise<number> =>
  ((await done('GET', `erasures?${of}`))['items'] as Body[]).length;

describe('an erasure of a subject that is cut short', () => {
  /** A subject of whom one decision tells. Returns its key. */
  async function about(subject: string): Promise<string> {
    const text = `${NAME} is ${subject}.`;
    const evidence = [{ quote: text }];
    await ingest({
      source: { title: `About ${NAME}`, type: 'note', text, subject },
      records: [{ topic: subject, statement: text, status: 'approved', evidence }],
    });
    const preview = { subject, reason: 'requested', dry_run: true };
    return String((await done('POST', 'erasures', preview))['key']);
  }

  it(`B48: kill -9 at any moment of it: afterwards it is recorded and done, or neither (${KILLS} times)`, async () => {
    const ends = { recorded: 0, 'not begun': 0 };
    // What an erasure took the last time, in milliseconds: kills are spread over it.
    let took = 10;
    for (let i = 0; i < KILLS; i += 1) {
      const subject = `kill-${i}`;
      const key = await about(subject);
      const asked = { subject, reason: 'requested' };
      const answered = call('POST', 'erasures', asked).catch(() => undefined);
      await delay((1.2 * took * i) / KILLS);
      await ledger.stop('SIGKILL');
      const reply = await answered;
      await ledger.start();
      const erased = (await erasures(`subject=${subject}`)) === 1;
      expect([i, (await ledger.keys(key))[0] === 'erased']).toEqual([i, erased]);
      expect([i, (await told(subject)).includes(NAME)]).toEqual([i, !erased]);
      // What was acknowledged is done.
      if (reply?.status === 200) expect(erased).toBe(true);
      ends[erased ? 'recorded' : 'not begun'] += 1;
      const from = performance.now();
      expect((await done('POST', 'erasures', asked))['status']).toBe('erased');
      if (!erased) took = performance.now() - from;
      expect(await told(subject)).not.toContain(NAME);
    }
    expect((await ledger.run('verify')).code).toBe(0);
    proved('kill -9 in an erasure', { kills: KILLS, ...ends, 'half done': 0 });
  }, 600_000);

  itWith(canTrace, 'strace').each<Moment>([
    { file: 'ledger.sqlite-wal', call: 'fsync', n: 1 },
    { file: 'keys.sqlite-journal', call: 'unlink', n: 1 },
  ])(
    'B48: kill -9 at $call $n of $file, when it is recorded: once started again it is done',
    async (moment) => {
      const subject = `${moment.call}-${moment.n}`;
      const key = await about(subject);
      const [bytes] = await ledger.keys(key);
      await killAtCall(ledger.server, moment);
      const asked = call('POST', 'erasures', { subject, reason: 'requested' });
      expect(await asked.catch(() => 'killed')).toBe('killed');
      await ledger.stop('SIGKILL');
      await ledger.start();
      expect(await erasures(`subject=${subject}`)).toBe(1);
      expect(await ledger.keys(key)).toEqual(['erased']);
      expect(await told(subject)).not.toContain(NAME);
      expect(traces(filesBelow(ledger.data), formsOf(bytes as Uint8Array))).toEqual([]);
      proved('kill -9 in an erasure', { kills: 1, recorded: 1, 'not begun': 0, 'half done': 0 });
    },
    60_000,
  );
});

/** In the order in which an erasure comes to them: the record, then a transaction for each of three keys, then the certificate. */
const MOMENTS: readonly (Moment & { recorded: boolean })[] = [
  { file: 'ledger.sqlite-wal', call: 'pwrite64', n: 1, recorded: false },
  { file: 'ledger.sqlite-wal', call: 'fsync', n: 1, recorded: true },
  { file: 'keys.sqlite-journal', call: 'pwrite64', n: 1, recorded: true },
  { file: 'keys.sqlite', call: 'pwrite64', n: 2, recorded: true },
  { file: 'keys.sqlite-journal', call: 'unlink', n: 1, recorded: true },
  { file: 'keys.sqlite', call: 'fsync', n: 2, recorded: true },
  { file: 'keys.sqlite-journal', call: 'unlink', n: 3, recorded: true },
  { file: 'ledger.sqlite-wal', call: 'fsync', n: 2, recorded: true },
];

interface Person {
  id: string;
  name: string;
  /** That of his name and of his words in the first workspace, and those of his words in the others. */
  keys: string[];
}

describe('an erasure of somebody who acted that is cut short', () => {
  const others: { id: string; key: string }[] = [];

  /** He spoke in three workspaces, and has left. */
  async function left(name: string): Promise<Person> {
    const { principal } = await done('POST', 'members', { name, role: 'admin' });
    const id = String(principal);
    for (const { key } of others) await done('POST', 'members', { principal, role: 'admin' }, key);
    for (const key of [ledger.server.key, ...others.map((workspace) => workspace.key)]) {
      const issued = await done('POST', 'credentials', { principal, label: `of ${name}` }, key);
      const asked = { question: `${name} asks`, request_id: id };
      await done('POST', 'answers', asked, String(issued['key']));
    }
    await done('POST', `principals/${id}/deactivation`, { reason: `${name} left` });
    const preview = { principal, reason: 'requested', dry_run: true };
    const { key } = await done('POST', 'erasures', preview);
    const words = others.map((workspace) => principalKey(workspace.id, id));
    return { id, name, keys: [String(key), ...words] };
  }

  /** What the files hold of him. */
  function found({ name }: Person, keys: readonly Uint8Array[]): string[] {
    const files = filesBelow(ledger.data);
    return [name, ...keys].flatMap((what) =>
      traces(files, formsOf(what)).map(({ file, form }) => `${form} in ${file}`),
    );
  }

  const shown = async (): Promise<string> =>
    JSON.stringify([
      await done('GET', 'members?include_former=true&limit=200'),
      await done('GET', 'principals?limit=200'),
      await done('GET', 'credentials?include_ended=true&limit=200'),
      await done('GET', 'events?limit=500'),
    ]);

  beforeAll(async () => {
    for (const name of ['Second', 'Third']) {
      const made = await done('POST', 'workspaces', { name });
      others.push({ id: String(made['workspace']), key: String(made['key']) });
    }
  }, 60_000);

  itWith(canTrace, 'strace').each(MOMENTS)(
    'B48 P8: kill -9 at $call $n of $file: once started again it is done, or was never begun',
    async ({ recorded, ...moment }) => {
      const person = await left(`${NAME} ${moment.file} ${moment.call} ${moment.n}`);
      const keys = (await ledger.keys(...person.keys)).filter((key) => key instanceof Uint8Array);
      expect(keys).toHaveLength(3);
      expect(await shown()).toContain(person.name);
      const asked = { principal: person.id, reason: 'requested' };
      await killAtCall(ledger.server, moment);
      const reply = await call('POST', 'erasures', asked).catch(() => 'killed');
      expect(reply).toBe('killed');
      await ledger.stop('SIGKILL');
      await ledger.start();

      expect(await erasures(`principal=${person.id}`)).toBe(recorded ? 1 : 0);
      const kept = recorded ? person.keys.map(() => 'erased') : keys;
      expect(await ledger.keys(...person.keys)).toEqual(kept);
      expect((await shown()).includes(person.name)).toBe(!recorded);
      if (!recorded) expect((await done('POST', 'erasures', asked))['status']).toBe('erased');
      expect(await shown()).not.toContain(person.name);
      expect(found(person, keys)).toEqual([]);
      expect((await done('POST', 'erasures', asked))['status']).toBe('erased');
      expect((await ledger.run('verify')).code).toBe(0);
      proved('kill -9 in an erasure of somebody who acted', {
        kills: 1,
        recorded: Number(recorded),
        'not begun': Number(!recorded),
        'half done': 0,
      });
    },
    60_000,
  );
});
