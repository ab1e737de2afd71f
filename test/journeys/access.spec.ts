import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TestApplication, type Reply } from '../support/application.js';

/** People, agents and keys through the real doors, under a clock that the test sets. */
let server: TestApplication;
let now = Date.parse('2026-03-01T12:00:00Z');
const DAY = 86_400_000;

type Body = Record<string, never> & {
  key?: string;
  principal: string;
  short: string;
  credential: string;
  workspace: string;
  organisation: string;
  items: Record<string, unknown>[];
  error: string;
  position: string;
};
const get = (path: string, key = server.key): Promise<Reply<Body>> =>
  server.call<Body>('GET', `/v1/${path}`, undefined, key);
const post = (path: string, body: object, key = server.key): Promise<Reply<Body>> =>
  server.call<Body>('POST', `/v1/${path}`, body, key);
/** The status that a key gets. */
const knock = async (key: string): Promise<number> => (await get('organisation', key)).status;

/** A new member with a key of his own. */
async function newcomer(
  role: string,
  more: object = {},
  key = server.key,
): Promise<{ principal: string; key: string; short: string }> {
  const member = await post('members', { name: `New ${role}`, role, ...more }, key);
  expect([member.status, member.body]).toEqual([201, expect.anything()]);
  const { principal } = member.body;
  const issued = await post('credentials', { principal }, key);
  expect([issued.status, issued.body]).toEqual([201, expect.anything()]);
  return { principal, key: issued.body.key ?? '', short: issued.body.short };
}

beforeAll(async () => {
  server = await TestApplication.start({}, () => now);
});
afterAll(async () => {
  await server.close();
  rmSync(server.dir, { recursive: true, force: true });
});

describe('members', () => {
  it('of every role and kind are added, shown, changed and removed', async () => {
    const people = await Promise.all(
      ['member', 'approver', 'admin', 'owner'].map((r) => newcomer(r)),
    );
    const agent = await newcomer('member', { kind: 'agent' });
    const service = await newcomer('admin', { kind: 'service' });
    const all = await get('members');
    expect(
      all.body.items.map((m) => `${m['kind'] as string} ${m['role'] as string}`).sort(),
    ).toEqual([
      'agent member',
      'person admin',
      'person approver',
      'person member',
      'person owner',
      'person owner',
      'service admin',
    ]);
    for (const { principal, key } of [...people, agent, service]) {
      expect((await get(`members/${principal}`, key)).body).toMatchObject({ principal });
    }
    const [member] = people;
    const raised = await post(`members/${member?.principal ?? ''}/role`, { role: 'admin' });
    expect(raised.body).toMatchObject({ role: 'admin', active: true });
    const removed = await post(`members/${member?.principal ?? ''}/removal`, { reason: 'left' });
    expect(removed.body).toMatchObject({ active: false });
    expect(await knock(member?.key ?? '')).toBe(401);
    const again = await post(`members/${member?.principal ?? ''}/removal`, { reason: 'left' });
    expect([again.status, again.body]).toMatchObject([200, { active: false }]);
    // He is known by name still, and his key stays dead when he comes back.
    expect((await get('members?include_former=true')).body.items).toContainEqual(
      expect.objectContaining({ principal: member?.principal, active: false }),
    );
    await post('members', { principal: member?.principal, role: 'member' });
    expect(await knock(member?.key ?? '')).toBe(401);
  });

  it('ids say nothing of the person', async () => {
    const { principal } = await newcomer('member', { name: 'Zyxq Personne' });
    expect(principal).toMatch(/^p[0-9a-f]{16}$/);
  });

  it('X-9: one request adds one member and registers one principal', async () => {
    const asked = { name: 'Once', role: 'member', request_id: 'once' };
    const replies = await Promise.all(Array.from({ length: 10 }, () => post('members', asked)));
    expect(new Set(replies.map((r) => r.body.principal)).size).toBe(1);
    const other = await post('members', { ...asked, name: 'Twice' });
    expect([other.status, other.body.error]).toEqual([422, 'request_id_conflict']);
    const named = (await get('members?limit=200')).body.items.filter((m) => m['name'] === 'Once');
    expect(named).toHaveLength(1);
    // Removed since, the repeated request does not bring him back.
    const { principal } = replies[0]?.body as Body;
    await post(`members/${principal}/removal`, { reason: 'left' });
    expect((await post('members', asked)).body).toMatchObject({ principal, active: false });
  });

  it('nothing is half stored: what the workspace refuses registers nobody', async () => {
    const before = await server.end();
    expect((await post('members', { name: 'X', kind: 'agent', role: 'admin' })).body.error).toBe(
      'agent_role',
    );
    expect((await post('members', { role: 'member' })).body.error).toBe('invalid_arguments');
    expect(
      (await post('members', { principal: 'owner', name: 'X', role: 'member' })).body.error,
    ).toBe('invalid_arguments');
    expect((await post('members', { principal: 'nobody', role: 'member' })).status).toBe(404);
    expect(await server.end()).toBe(before);
  });

  it('a list comes in pages without gap or repetition', async () => {
    const whole = (await get('members?limit=200&include_former=true')).body.items;
    const seen: unknown[] = [];
    for (let cursor = ''; ;) {
      const page: Reply<Body & { next_cursor?: string }> = await get(
        `members?limit=3&include_former=true${cursor}`,
      );
      seen.push(...page.body.items);
      if (page.body.next_cursor === undefined) break;
      cursor = `&cursor=${page.body.next_cursor}`;
    }
    expect(seen).toEqual(whole);
    expect((await get('members?cursor=x')).status).toBe(400);
  });
});

describe('who may', () => {
  it.each([
    ['member', 'person'],
    ['approver', 'person'],
    ['member', 'agent'],
    ['member', 'service'],
  ])('a %s (%s) administers nothing', async (role, kind) => {
    const low = await newcomer(role, { kind });
    const victim = await newcomer('member');
    const end = await server.end();
    const tries = await Promise.all([
      get('members', low.key),
      get(`members/${victim.principal}`, low.key),
      get(`credentials?principal=${victim.principal}`, low.key),
      get('principals', low.key),
      get('organisations', low.key),
      post('members', { name: 'X', role: 'member' }, low.key),
      post(`members/${victim.principal}/role`, { role: 'admin' }, low.key),
      post(`members/${low.principal}/role`, { role: 'owner' }, low.key),
      post(`members/${victim.principal}/removal`, { reason: 'x' }, low.key),
      post('credentials', { principal: victim.principal }, low.key),
      post('organisation/settings', { mode: 'peer' }, low.key),
      post('organisation/owners', { principal: low.principal }, low.key),
      post('workspace/settings', { answer_capture: true }, low.key),
      post('workspaces', { name: 'X' }, low.key),
      post('organisations', { name: 'X', owner_name: 'X' }, low.key),
      post('principals', { name: 'X', kind: 'person' }, low.key),
      post(`principals/${victim.principal}/deactivation`, { reason: 'x' }, low.key),
      post(
        `principals/${low.principal}/identities`,
        { issuer: 'https://i', subject: 's' },
        low.key,
      ),
    ]);
    expect(tries.map((t) => t.status)).toEqual(tries.map(() => 403));
    for (const path of ['reroll', 'revocation']) {
      const other = await post(
        `credentials/${victim.short}/${path}`,
        path === 'reroll' ? {} : { reason: 'x' },
        low.key,
      );
      expect(other.status).toBe(kind === 'agent' ? 403 : 404);
    }
    expect(await server.end()).toBe(end);
  });

  it('an admin is not an owner and cannot become one through a key, an identity or a role', async () => {
    const admin = await newcomer('admin');
    const end = await server.end();
    const first = ((await get('credentials?principal=owner')).body.items[0]?.['short'] ??
      '') as string;
    const tries = await Promise.all([
      post('members', { name: 'X', role: 'owner' }, admin.key),
      post(`members/${admin.principal}/role`, { role: 'owner' }, admin.key),
      post('members/owner/role', { role: 'member' }, admin.key),
      post('members/owner/removal', { reason: 'x' }, admin.key),
      post('credentials', { principal: 'owner' }, admin.key),
      post(`credentials/${first}/reroll`, {}, admin.key),
      post(`credentials/${first}/revocation`, { reason: 'x' }, admin.key),
      post('principals/owner/identities', { issuer: 'https://i', subject: 's' }, admin.key),
      post('organisation/owners', { principal: admin.principal }, admin.key),
      post('principals/owner/deactivation', { reason: 'x' }, admin.key),
    ]);
    expect(tries.map((t) => [t.status, t.body.error])).toEqual(
      tries.map(() => [403, 'requires_owner']),
    );
    expect(await server.end()).toBe(end);
  });

  it('a key that is limited to toolsets administers nothing, but may change or end itself', async () => {
    const owner = await newcomer('owner');
    const limited = await post(
      'credentials',
      { principal: owner.principal, toolsets: ['decisions'] },
      owner.key,
    );
    const key = limited.body.key ?? '';
    expect((await server.callerOf(key)).toolsets).toEqual(['decisions']);
    const tries = await Promise.all([
      post('credentials', {}, key),
      post(`credentials/${owner.short}/reroll`, {}, key),
      post('members', { name: 'X', role: 'member' }, key),
      post('workspace/settings', { answer_capture: true }, key),
      get('members', key),
    ]);
    expect(tries.map((t) => [t.status, t.body.error])).toEqual(
      tries.map(() => [403, 'requires_full_key']),
    );
    const rerolled = await post(`credentials/${limited.body.short}/reroll`, {}, key);
    expect((await server.callerOf(rerolled.body.key ?? '')).toolsets).toEqual(['decisions']);
    expect((await post('credentials', { toolsets: ['all'] }, owner.key)).status).toBe(400);
  });
});

describe('keys', () => {
  it('are shown once, stored as a hash, and listed without their secret', async () => {
    const issued = await post('credentials', { label: 'laptop', request_id: 'k1' });
    const { key = '', short } = issued.body;
    expect(key).toMatch(/^prec_[A-Za-z0-9]{8}_[A-Za-z0-9]{46}$/);
    expect(await knock(key)).toBe(200);
    const again = await post('credentials', { label: 'laptop', request_id: 'k1' });
    expect(again.body).toMatchObject({ short, label: 'laptop' });
    expect(again.body.key).toBeUndefined();
    const other = await post('credentials', { label: 'phone', request_id: 'k1' });
    expect([other.status, other.body.error]).toEqual([422, 'request_id_conflict']);
    const secret = key.slice('prec_12345678_'.length);
    expect(JSON.stringify((await get('credentials')).body)).not.toContain(secret);
    for await (const batch of server.application.ledger.store.readStream('workspace-main'))
      for (const event of batch) expect(event.payload).not.toContain(secret);
  });

  it('X-11: expire at their instant, not before', async () => {
    const start = now;
    const { body } = await post('credentials', { expires_at: '2026-03-02' });
    expect(body).toMatchObject({ state: 'valid', expires_at: '2026-03-02T00:00:00.000Z' });
    now = Date.parse('2026-03-02T00:00:00Z') - 1;
    expect(await knock(body.key ?? '')).toBe(200);
    now += 1;
    expect(await knock(body.key ?? '')).toBe(401);
    expect((await get(`credentials/${body.short}`)).body).toMatchObject({ state: 'expired' });
    expect((await post(`credentials/${body.short}/reroll`, {})).body.error).toBe(
      'credential_ended',
    );
    expect((await post('credentials', { expires_at: '2026-03-01' })).status).toBe(400);
    now = start;
  });

  it('reroll: the former secret ends at once, or with the overlap; a third ends the first', async () => {
    const { body: first } = await post('credentials', {});
    const { body: second } = await post(`credentials/${first.short}/reroll`, {});
    expect([await knock(first.key ?? ''), await knock(second.key ?? '')]).toEqual([401, 200]);
    const { body: third } = await post(`credentials/${first.short}/reroll`, {
      overlap_seconds: 3_600,
    });
    expect([await knock(second.key ?? ''), await knock(third.key ?? '')]).toEqual([200, 200]);
    now += 3_599_999;
    expect(await knock(second.key ?? '')).toBe(200);
    now += 1;
    expect([await knock(second.key ?? ''), await knock(third.key ?? '')]).toEqual([401, 200]);
    const { body: fourth } = await post(`credentials/${first.short}/reroll`, {
      overlap_seconds: 60,
      request_id: 'r4',
    });
    expect(
      (await post(`credentials/${first.short}/reroll`, { overlap_seconds: 60, request_id: 'r4' }))
        .body.key,
    ).toBeUndefined();
    const { body: fifth } = await post(`credentials/${first.short}/reroll`, {
      overlap_seconds: 60,
    });
    expect(await Promise.all([third, fourth, fifth].map((k) => knock(k.key ?? '')))).toEqual([
      401, 200, 200,
    ]);
    expect(
      (await post(`credentials/${first.short}/reroll`, { overlap_seconds: 2_592_001 })).status,
    ).toBe(400);
  });

  it('B40: a revoked key is refused at the very next request, on REST and MCP, and is not used again', async () => {
    const { body } = await post('credentials', {});
    const key = body.key ?? '';
    expect(await knock(key)).toBe(200);
    const used = (await get(`credentials/${body.short}`)).body['last_used_at'];
    expect(used).toBe(new Date(now).toISOString());
    now += DAY;
    const revoked = await post(`credentials/${body.short}/revocation`, {
      reason: 'lost on a train',
    });
    expect(revoked.body).toMatchObject({ state: 'revoked', reason: 'lost on a train' });
    expect(await knock(key)).toBe(401);
    const mcp = await server.call('POST', '/mcp', { jsonrpc: '2.0', id: 1, method: 'ping' }, key);
    expect(mcp.status).toBe(401);
    expect((await get(`credentials/${body.short}`)).body['last_used_at']).toBe(used);
    // Who did it is on record.
    const events = [];
    for await (const batch of server.application.ledger.store.readStream('workspace-main'))
      events.push(...batch);
    const last = events
      .filter((e) => e.type === 'CredentialRevoked' && e.payload.includes(body.short))
      .at(-1);
    expect(last?.actor).toMatchObject({
      principal: 'owner',
      kind: 'person',
      credential: 'prec_TESTTEST',
    });
  });

  it('last use is noted at most once a minute', async () => {
    const { body } = await post('credentials', {});
    const at = async () => (await get(`credentials/${body.short}`)).body['last_used_at'] as unknown;
    await knock(body.key ?? '');
    const first = await at();
    now += 59_000;
    await knock(body.key ?? '');
    expect(await at()).toBe(first);
    now += 1_000;
    await knock(body.key ?? '');
    expect(await at()).toBe(new Date(now).toISOString());
    // Never for a secret that is wrong.
    now += DAY;
    await knock(`${(body.key ?? '').slice(0, -1)}${(body.key ?? '').endsWith('a') ? 'b' : 'a'}`);
    expect(await at()).toBe(new Date(now - DAY).toISOString());
  });

  it('a person changes and ends his own keys, and issues himself one', async () => {
    const mia = await newcomer('member');
    const own = await post('credentials', { label: 'mine' }, mia.key);
    expect(own.status).toBe(201);
    expect((await get('credentials', mia.key)).body.items).toHaveLength(2);
    expect(
      (await post(`credentials/${own.body.short}/revocation`, { reason: 'old' }, mia.key)).status,
    ).toBe(200);
    expect((await get('credentials', mia.key)).body.items).toHaveLength(1);
    expect((await get('credentials?include_ended=true', mia.key)).body.items).toHaveLength(2);
  });
});

describe('settings', () => {
  it('O-06: peer mode takes effect at the next request, and four eyes with it', async () => {
    const mia = await newcomer('member');
    expect(await server.callerOf(mia.key)).toMatchObject({ mode: 'reviewed', fourEyes: false });
    const changed = await post('organisation/settings', {
      mode: 'peer',
      four_eyes: true,
      approver_names: true,
      name: 'Acme',
    });
    expect(changed.body).toMatchObject({
      mode: 'peer',
      four_eyes: true,
      approver_names: true,
      name: 'Acme',
    });
    expect(await server.callerOf(mia.key)).toMatchObject({ mode: 'peer', fourEyes: true });
    expect((await get('organisation', mia.key)).body).toMatchObject({
      name: 'Acme',
      owners: ['owner'],
    });
    await post('organisation/settings', { mode: 'reviewed', four_eyes: false });
    expect(await server.callerOf(mia.key)).toMatchObject({ mode: 'reviewed', fourEyes: false });
  });

  it('O-37: answer capture and the name are settings of the workspace', async () => {
    expect((await get('workspace/settings')).body).toMatchObject({
      answer_capture: false,
      zone: 'UTC',
    });
    const on = await post('workspace/settings', { answer_capture: true, name: 'Acme HQ' });
    expect(on.body).toMatchObject({ answer_capture: true, name: 'Acme HQ' });
    const end = await server.end();
    await post('workspace/settings', { answer_capture: true, name: 'Acme HQ' });
    expect(await server.end()).toBe(end);
  });
});
