import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TestApplication, type Reply } from '../support/application.js';
import { TestEventStoreDb } from '../support/eventstoredb-server.js';
import { proved } from '../support/proved.js';

type Body = Record<string, unknown> & {
  key: string;
  short: string;
  error: string;
  position: string;
};

const PEPPER = { PRECEDENT_PEPPER: 'one secret for all servers of a ledger' };
const ROUNDS = 20;

/** Two servers, each with a read database of its own, on one EventStoreDB. */
describe('keys on several servers', () => {
  let cluster: TestEventStoreDb;
  let a: TestApplication;
  let b: TestApplication;
  const dirs: string[] = [];

  async function start(settings: Record<string, string> = PEPPER): Promise<TestApplication> {
    const dir = mkdtempSync(join(tmpdir(), 'precedent-keys-'));
    dirs.push(dir);
    return TestApplication.start({
      PRECEDENT_EVENTSTORE: cluster.connectionString,
      PRECEDENT_DATA: dir,
      ...settings,
    });
  }
  const post = (at: TestApplication, path: string, body: object): Promise<Reply<Body>> =>
    at.call<Body>('POST', `/v1/${path}`, body);
  const knock = async (at: TestApplication, key: string, query = ''): Promise<number> =>
    (await at.call('GET', `/v1/organisation${query}`, undefined, key)).status;
  /** Milliseconds until a server gives this status. */
  async function until(at: TestApplication, key: string, status: number): Promise<number> {
    const begun = performance.now();
    while ((await knock(at, key)) !== status)
      if (performance.now() - begun > 5_000) throw new Error(`no ${status} within 5 s`);
    return performance.now() - begun;
  }

  beforeAll(async () => {
    cluster = await TestEventStoreDb.start();
    a = await start();
    b = await start();
  }, 60_000);
  afterAll(async () => {
    await a.close();
    await b.close();
    await cluster.stop();
    for (const dir of dirs) rmSync(dir, { recursive: true, force: true });
  });

  it('the key of the first start opens both; a second start makes nothing', async () => {
    expect([await knock(a, a.key), await knock(b, a.key)]).toEqual([200, 200]);
    expect(b.application.createdKey).toBeUndefined();
  });

  it('B40: a key revoked through one is refused there at the next request, and by the other as soon as its follower has read it', async () => {
    const delays: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const { key, short } = (await post(a, 'credentials', {})).body;
      await until(b, key, 200);
      const revoked = await post(a, `credentials/${short}/revocation`, { reason: 'lost' });
      expect([revoked.status, await knock(a, key)]).toEqual([200, 401]);
      if (round % 2 === 0) {
        // Whoever asks the other server for that position first has certainty, not only speed.
        expect(await knock(b, a.key, `?at_least=${revoked.body.position}`)).toBe(200);
        expect(await knock(b, key)).toBe(401);
      } else delays.push(await until(b, key, 401));
      const listed = await b.call<Body>('GET', `/v1/credentials/${short}`);
      expect(listed.body['state']).toBe('revoked');
    }
    const worst = Math.max(...delays);
    expect(worst).toBeLessThan(2_000);
    proved('B40 revocation', { 'keys revoked': ROUNDS });
    process.stdout.write(
      `B40: ${ROUNDS} keys revoked through one of two servers: refused there at once, by the other within ${worst.toFixed(1)} ms\n`,
    );
  });

  it('a reroll and a removal through one end what they end at the other', async () => {
    const member = (await post(b, 'members', { name: 'Mia', role: 'member' })).body;
    const { key, short, position } = (
      await post(b, 'credentials', { principal: member['principal'] })
    ).body;
    expect(await knock(a, a.key, `?at_least=${position}`)).toBe(200);
    const fresh = (await post(a, `credentials/${short}/reroll`, {})).body;
    await until(b, fresh.key, 200);
    expect(await knock(b, key)).toBe(401);
    await post(b, `members/${String(member['principal'])}/removal`, { reason: 'left' });
    expect(await knock(b, fresh.key)).toBe(401);
    await until(a, fresh.key, 401);
  });

  it('the last owner stays, also when two servers are asked at once to let the last two go', async () => {
    const other = (await post(a, 'members', { name: 'Olga', role: 'owner' })).body;
    const { position } = (await post(a, 'credentials', { principal: other['principal'] })).body;
    await knock(b, a.key, `?at_least=${position}`);
    const replies = await Promise.all([
      post(a, `members/${String(other['principal'])}/role`, { role: 'member' }),
      post(b, 'members/owner/role', { role: 'member' }),
    ]);
    expect(replies.map((r) => r.status).sort()).toEqual([200, 409]);
    expect(replies.find((r) => r.status === 409)?.body.error).toBe('last_owner');
  });

  it('a server with another pepper does not start, and touches no key', async () => {
    const before = cluster.log.all.length;
    for (const wrong of ['another secret, of the same length or more', ''])
      await expect(start({ PRECEDENT_PEPPER: wrong })).rejects.toMatchObject({
        error: 'pepper_differs',
      });
    expect(cluster.log.all.length).toBe(before);
  });
});

it('servers without a pepper share keys as well: their hashes say so', async () => {
  const cluster = await TestEventStoreDb.start();
  const dirs = [1, 2].map(() => mkdtempSync(join(tmpdir(), 'precedent-keys-')));
  const servers: TestApplication[] = [];
  try {
    for (const dir of dirs)
      servers.push(
        await TestApplication.start({
          PRECEDENT_EVENTSTORE: cluster.connectionString,
          PRECEDENT_DATA: dir,
        }),
      );
    const [first, second] = servers;
    expect(await second?.callerOf(first?.key ?? '')).toMatchObject({ role: 'owner' });
    const stored = cluster.log.all.map((e) => Buffer.from(e.data).toString());
    expect(stored.filter((text) => text.includes('"secret"'))).toEqual([
      expect.stringMatching(/"secret":"sha256:[0-9a-f]{64}"/),
    ]);
  } finally {
    for (const server of servers) await server.close();
    await cluster.stop();
    for (const dir of dirs) rmSync(dir, { recursive: true, force: true });
  }
}, 60_000);
