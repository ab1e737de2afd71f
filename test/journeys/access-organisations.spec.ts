import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { callerOfIdentity, workspacesOfIdentity } from '#access/index.js';
import { draw, organisationStream, organisationStreams } from '#access/streams.js';
import { originOf } from '#event-store/streams.js';
import type { Caller } from '#kernel/context.js';
import { TestApplication, type Reply } from '../support/application.js';

type Body = Record<string, unknown> & {
  key: string;
  principal: string;
  organisation: string;
  workspace: string;
  error: string;
  items: Record<string, unknown>[];
};

let server: TestApplication;
const get = (path: string, key = server.key): Promise<Reply<Body>> =>
  server.call<Body>('GET', `/v1/${path}`, undefined, key);
const post = (path: string, body: object, key = server.key): Promise<Reply<Body>> =>
  server.call<Body>('POST', `/v1/${path}`, body, key);
const knock = async (key: string): Promise<number> => (await get('organisation', key)).status;

beforeAll(async () => {
  server = await TestApplication.start();
});
afterAll(async () => {
  await server.close();
  rmSync(server.dir, { recursive: true, force: true });
});

describe('several organisations on one server', () => {
  let other: Body;
  beforeAll(async () => {
    other = (await post('organisations', { name: 'Other', owner_name: 'Olga', mode: 'peer' })).body;
  });

  it('the operator makes one with its first owner, and is nobody in it', async () => {
    expect(await server.callerOf(other.key)).toMatchObject({
      organisation: other.organisation,
      workspace: other.workspace,
      principal: other.principal,
      role: 'owner',
      mode: 'peer',
    });
    expect((await get('members', other.key)).body.items).toMatchObject([{ name: 'Olga' }]);
    const seen = await Promise.all(
      ['members', 'principals', 'workspaces', 'credentials'].map((p) => get(p)),
    );
    expect(JSON.stringify(seen.map((s) => s.body))).not.toMatch(
      new RegExp(['Olga', other.principal, other.workspace, other.organisation].join('|')),
    );
    const listed = (await get('organisations')).body.items;
    expect(listed).toContainEqual(
      expect.objectContaining({ id: other.organisation, name: 'Other' }),
    );
    expect(Object.keys(listed[1] ?? {}).sort()).toEqual(['id', 'name', 'since']);
    for (const path of [`members/${other.principal}`, `principals/${other.principal}`])
      expect((await get(path)).status).toBe(404);
    expect((await post('members', { principal: other.principal, role: 'member' })).status).toBe(
      404,
    );
    expect((await post('organisation/owners', { principal: other.principal })).status).toBe(404);
    expect((await post(`principals/${other.principal}/deactivation`, { reason: 'x' })).status).toBe(
      404,
    );
  });

  it('its owner is no operator', async () => {
    const made = await post('organisations', { name: 'X', owner_name: 'X' }, other.key);
    expect([made.status, made.body.error]).toEqual([403, 'requires_operator']);
    expect((await get('organisations', other.key)).status).toBe(403);
  });

  it('the operator’s part is handed on with the ownership of the first organisation', async () => {
    const { body } = await post('members', { name: 'Next', role: 'owner' });
    const { key } = (await post('credentials', { principal: body.principal })).body;
    expect((await get('organisations', key)).status).toBe(403);
    await post('organisation/owners', { principal: body.principal });
    expect((await get('organisations', key)).status).toBe(200);
    await post(`organisation/owners/${body.principal}/removal`, {});
    expect((await get('organisations', key)).status).toBe(403);
    expect((await post('organisation/owners/owner/removal', {})).body.error).toBe('last_owner');
  });

  it('X-9: a repeated request makes one; the key is shown the first time only', async () => {
    const asked = { name: 'Twice', owner_name: 'T', request_id: 'o1' };
    const [first, again] = [await post('organisations', asked), await post('organisations', asked)];
    expect(first.body.key).toMatch(/^prec_/);
    expect(again.body).toMatchObject({
      organisation: first.body.organisation,
      workspace: first.body.workspace,
      credential: first.body['credential'],
    });
    expect(again.body.key).toBeUndefined();
    expect((await post('organisations', { ...asked, name: 'Thrice' })).status).toBe(422);
  });

  it('cut short after the organisation, the same request goes on and hands out the key', async () => {
    const caller = await server.callerOf(server.key);
    const input = { name: 'Cut', owner_name: 'C', request_id: 'cut' };
    const drawn = draw('create_organisation', caller, input);
    await server.application.ledger.streams.execute(
      organisationStreams,
      organisationStream(drawn.id('o')),
      {
        type: 'Create',
        name: 'Cut',
        mode: 'reviewed',
        operator: false,
        owner: {
          organisation: drawn.id('o'),
          principal: drawn.id('p'),
          kind: 'person',
          name: 'C',
        },
        request: drawn.request,
      },
      { ...originOf(caller, drawn.command), workspace: drawn.id('w') },
    );
    const { body } = await post('organisations', input);
    expect(body).toMatchObject({ organisation: drawn.id('o'), principal: drawn.id('p') });
    expect(await knock(body.key)).toBe(200);
  });

  it('an owner opens a further workspace; members of one see nothing of the other', async () => {
    const second = (await post('workspaces', { name: 'Second', zone: 'Europe/Paris' }, other.key))
      .body;
    expect((await get('workspace/settings', second.key)).body).toMatchObject({
      id: second.workspace,
      name: 'Second',
      zone: 'Europe/Paris',
      organisation: other.organisation,
    });
    const { body } = await post('members', { name: 'Mia', role: 'admin' }, second.key);
    const { key } = (await post('credentials', { principal: body.principal }, second.key)).body;
    expect((await get('workspaces', key)).body.items).toMatchObject([{ id: second.workspace }]);
    expect((await get('workspaces', other.key)).body.items).toHaveLength(2);
    expect((await get(`members/${body.principal}`, other.key)).status).toBe(404);
    expect((await post('workspaces', { name: 'X', zone: 'Mars' }, other.key)).status).toBe(400);
    expect((await post('workspaces', { name: 'X' }, key)).status).toBe(403);
  });

  it('deactivation ends memberships and keys everywhere, unless a workspace would lose its last owner', async () => {
    const second = (await post('workspaces', { name: 'Third' }, other.key)).body;
    const { principal } = (await post('members', { name: 'Paul', role: 'member' }, other.key)).body;
    const paul = (await post('credentials', { principal }, other.key)).body;
    await post('members', { principal, role: 'owner' }, second.key);
    const there = (await post('credentials', { principal }, second.key)).body;
    const leave = () => post(`principals/${principal}/deactivation`, { reason: 'left' }, other.key);
    await post(`members/${other.principal}/removal`, { reason: 'hands over' }, there.key);
    const end = await server.end();
    const refused = await leave();
    expect([refused.status, refused.body.error]).toEqual([409, 'last_owner']);
    expect(refused.body['issues']).toEqual([
      { path: 'principal', problem: `is the last owner of workspace ${second.workspace}` },
    ]);
    expect([await server.end(), await knock(paul.key)]).toEqual([end, 200]);
    await post('members', { principal: other.principal, role: 'owner' }, there.key);
    expect((await leave()).body).toMatchObject({ active: false, workspaces: [] });
    expect(await Promise.all([paul.key, there.key].map(knock))).toEqual([401, 401]);
    expect((await leave()).status).toBe(200);
    expect((await post('members', { principal, role: 'member' }, other.key)).status).toBe(404);
    expect((await get('members?include_former=true', other.key)).body.items).toContainEqual(
      expect.objectContaining({ principal, name: 'Paul', active: false }),
    );
  });

  it('an identity leads to the one workspace it may enter, or to the one that is named', async () => {
    const identity = { issuer: 'https://id.example.com', subject: '4711' };
    const find = (workspace?: string): Caller | undefined =>
      server.application.ledger.models.now((reads) =>
        callerOfIdentity(reads, identity.issuer, identity.subject, workspace),
      );
    expect(find()).toBeUndefined();
    const ada = await post('members', { name: 'Ada', role: 'admin', identity }, other.key);
    const { principal } = ada.body;
    expect(find()).toMatchObject({
      principal,
      role: 'admin',
      kind: 'person',
      workspace: other.workspace,
      organisation: other.organisation,
      mode: 'peer',
    });
    expect(find()?.credential).toMatch(/^oidc_[0-9a-f]{8}$/);
    expect(find('main')).toBeUndefined();
    // The same person in another organisation: another principal, and now a workspace has to be named.
    const here = await post('members', { name: 'Ada', role: 'member', identity });
    expect(find()).toBeUndefined();
    expect(find('main')).toMatchObject({ principal: here.body.principal, role: 'member' });
    expect(find(other.workspace)).toMatchObject({ principal });
    expect(
      server.application.ledger.models
        .now((reads) => workspacesOfIdentity(reads, identity.issuer, identity.subject))
        .map((w) => w.id),
    ).toEqual(['main', other.workspace]);
    const taken = await post('members', { name: 'Eve', role: 'member', identity });
    expect([taken.status, taken.body.error]).toEqual([409, 'identity_taken']);
    await post(`principals/${here.body.principal}/deactivation`, { reason: 'left' });
    expect(find()).toMatchObject({ principal });
    await post(`principals/${principal}/identities/removal`, identity, other.key);
    expect(find()).toBeUndefined();
  });
});
