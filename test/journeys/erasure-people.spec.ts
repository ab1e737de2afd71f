import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { organisationStreams } from '#access/streams.js';
import { canonicalJson } from '#kernel/json.js';
import { principalKey } from '#kernel/sealing.js';
import { erasedKeys } from '#sources/projections/subject-queries.js';
import { done, listen, post as form } from '../support/oauth-people.js';
import { filesBelow, formsOf, traces } from '../support/traces.js';
import { TestApplication, type Reply } from '../support/application.js';

// Somebody who acts: his name, what is said of him and his own words, and what of all that is shown once he is erased.

const NAME = 'Zyxq Personne 4711';
type Body = Record<string, unknown> & { items: Record<string, unknown>[] };

let server: TestApplication;
const get = (path: string, key?: string): Promise<Reply<Body>> =>
  server.call<Body>('GET', `/v1/${path}`, undefined, key);
const post = (path: string, body: object, key?: string): Promise<Reply<Body>> =>
  server.call<Body>('POST', `/v1/${path}`, body, key);
const erase = (principal: string, more: object = {}, key?: string): Promise<Reply<Body>> =>
  post('erasures', { principal, reason: 'requested', ...more }, key);
const refused = ({ status, body }: Reply<Body>): unknown[] => [status, body['error']];

beforeAll(async () => {
  server = await TestApplication.start();
  await post('organisation/settings', { approver_names: true });
});
afterAll(async () => {
  await server.close();
  rmSync(server.dir, { recursive: true, force: true });
});

interface Person {
  id: string;
  key: string;
}

async function person(name: string, more: object = {}, by?: string): Promise<Person> {
  const added = await post('members', { name, role: 'admin', request_id: name, ...more }, by);
  const principal = String(added.body['principal']);
  const label = `laptop of ${name}`;
  const issued = await post('credentials', { principal, label, request_id: name }, by);
  return { id: principal, key: String(issued.body['key']) };
}

const gone = (id: string, reason = 'left'): Promise<Reply<Body>> =>
  post(`principals/${id}/deactivation`, { reason });

let stories = 0;

/** An approved decision, approved by `key`. */
async function story(subject: string, key: string): Promise<{ topic: string; decision: string }> {
  const topic = `matter-${++stories}`;
  const text = `We take number ${stories}.`;
  const job = await server.ingest({
    source: { title: 'Notes', type: 'note', text, subject },
    records: [{ topic, statement: text, status: 'candidate', evidence: [{ quote: text }] }],
  });
  const decision = (job['records'] as { decision_id: string }[])[0]?.decision_id ?? '';
  const path = `decisions/${encodeURIComponent(decision)}/reviews`;
  const action = { action: 'approve', reason: 'agreed' };
  expect((await post(path, action, key)).status).toBe(200);
  return { topic, decision };
}

describe('B48: somebody who acted', () => {
  let ada: Person;
  let topic: string;
  const asked = () => ({ question: 'q', topic, request_id: `kept-${topic}` });

  it('is named to who may know, and cannot be erased while he can act', async () => {
    ada = await person(NAME, { identity: { issuer: 'https://id.example.com', subject: '4711' } });
    ({ topic } = await story('s-1', ada.key));
    const approver = { approved_by: [{ principal: ada.id, name: NAME }] };
    expect((await post('answers', asked())).body).toMatchObject({ decision: approver });
    expect((await get(`members/${ada.id}`)).body).toMatchObject({ name: NAME });
    expect(refused(await erase(ada.id))).toEqual([409, 'principal_active']);
    expect(refused(await erase(ada.id, { dry_run: true }))).toEqual([409, 'principal_active']);
    expect(refused(await erase('owner'))).toEqual([409, 'last_owner']);
    expect((await gone(ada.id, `${NAME} left`)).status).toBe(200);
    expect(refused(await erase(ada.id))).toEqual([409, 'identity_linked']);
    const identity = { issuer: 'https://id.example.com', subject: '4711' };
    expect((await post(`principals/${ada.id}/identities/removal`, identity)).status).toBe(200);
  });

  it('is erased by owners of his organisation, of whom others learn nothing', async () => {
    const admin = await person('Admin');
    expect(refused(await erase(ada.id, {}, admin.key))).toEqual([403, 'requires_owner']);
    const hold = { principal: ada.id, matter: 'M-1' };
    expect(refused(await post('legal-holds', hold, admin.key))).toEqual([403, 'requires_owner']);
    const { body: other } = await post('organisations', { name: 'Other', owner_name: 'Olga' });
    const olga = String(other['key']);
    expect(refused(await erase(ada.id, {}, olga))).toEqual([404, 'unknown_principal']);
    for (const list of ['erasures', 'legal-holds'])
      expect((await get(`${list}?principal=${ada.id}`, olga)).status).toBe(404);
    expect(refused(await erase(ada.id, { subject: 's-1' }))).toEqual([400, 'invalid_arguments']);
    expect(refused(await erase('p-unknown'))).toEqual([404, 'unknown_principal']);
    const owners = { principal: 'owner', toolsets: ['decisions'] };
    const limited = String((await post('credentials', owners)).body['key']);
    expect(refused(await erase(ada.id, {}, limited))).toEqual([403, 'requires_full_key']);
  });

  it('is shown as erased from then on, wherever his name, his keys and his words stood', async () => {
    const preview = (await erase(ada.id, { dry_run: true })).body;
    expect(preview).toMatchObject({ status: 'dry_run', name: NAME, name_remains: false });
    expect(preview['touched']).toMatchObject({ answers: 1, others: 2 });
    const { body: erased } = await erase(ada.id, { reference: 'DSAR-9' });
    expect(erased).toMatchObject({
      status: 'erased',
      of: 'principal',
      reference: 'DSAR-9',
      erased_by: 'owner',
    });
    expect(JSON.stringify(erased)).not.toContain(ada.id);
    const answer = (await post('answers', { question: 'q', topic })).body;
    const approver = { principal: ada.id, name: '[erased]' };
    expect(answer).toMatchObject({ state: 'verified', decision: { approved_by: [approver] } });
    expect(refused(await post('answers', asked()))).toEqual([409, 'answer_erased']);
    const listed = async (path: string): Promise<unknown> =>
      (await get(path)).body.items.find(({ principal }) => principal === ada.id);
    expect(await listed('members?include_former=true')).toMatchObject({ name: '[erased]' });
    const principal = { name: '[erased]', active: false, identities: [], workspaces: [] };
    expect(await listed('principals')).toMatchObject(principal);
    expect(await listed(`credentials?principal=${ada.id}&include_ended=true`)).toMatchObject({
      label: '[erased]',
      reason: '[erased]',
    });
  });

  it('P2: is erased once, and what he had asked for stays done once', async () => {
    const [again] = (await get(`erasures?principal=${ada.id}`)).body.items;
    const end = await server.end();
    const { body } = await erase(ada.id, { reason: 'unlawful' });
    expect(body).toMatchObject({ ...again, position: body['position'] });
    expect(body).toMatchObject({ reason: 'requested', reference: 'DSAR-9' });
    const hold = await post('legal-holds', { principal: ada.id, matter: 'M-2' });
    expect(refused(hold)).toEqual([409, 'subject_erased']);
    const repeated = { name: NAME, role: 'admin', request_id: NAME };
    const same = { principal: ada.id, name: '[erased]', active: false };
    expect((await post('members', repeated)).body).toMatchObject(same);
    expect(await server.end()).toBe(end);
  });
});

describe('an account of this server', () => {
  const LOGIN = 'zyxq.personne@example.com';

  it('goes with the identity that it was for, and leaves no login in any file', async () => {
    const place = await listen();
    try {
      const dir = dirname(place.server.application.ledger.readFile);
      const traced = () => traces(filesBelow(dir), formsOf(LOGIN)).length;
      const added = await form(place, 'members', { name: NAME, role: 'member' });
      const { principal } = added.body;
      await form(place, 'accounts/invitations', { principal, login: LOGIN });
      expect(traced()).toBeGreaterThan(0);
      const path = `principals/${String(principal)}`;
      const { body } = await place.server.call<Body>('GET', `/v1/${path}`);
      const [identity] = body['identities'] as object[];
      const again = await form(place, 'accounts/invitations', { principal, login: LOGIN });
      expect(again.status).toBe(201);
      await form(place, `${path}/identities/removal`, identity ?? {});
      for (let tries = 0; traced() > 0 && tries < 500; tries += 1) await delay(10);
      expect(traced()).toBe(0);
    } finally {
      await done(place);
    }
  });
});

describe('in a ledger of before names were sealed', () => {
  /** As a build of then stored it: version 1, all of it in the clear. */
  async function before(type: string, data: object): Promise<void> {
    const { store, streams } = server.application.ledger;
    const { revision } = await streams.load(organisationStreams, 'organisation-main');
    const actor = { principal: 'owner', kind: 'person', credential: null } as const;
    const id = randomUUID();
    const frame = { workspace: 'main', actor, causation: id, correlation: id };
    const event = { id, type, version: 1, payload: canonicalJson({ ...data }), ...frame };
    await store.append('organisation-main', revision, [event]);
    // Whoever appends next finds another revision, and folds anew.
    await post('organisation/settings', { name: `Renamed by ${id}` });
  }

  it('P8: what is sealed of somebody is erased, and that his name stays is said', async () => {
    const old = { principal: 'p-old', kind: 'person', name: 'Olde Name' };
    await before('PrincipalRegistered', old);
    await post('members', { principal: 'p-old', role: 'member' });
    const issued = await post('credentials', { principal: 'p-old', label: 'of old' });
    const question = { question: 'What of old?', request_id: 'old' };
    await post('answers', question, String(issued.body['key']));
    expect((await gone('p-old', 'left of old')).body).toMatchObject({ name: 'Olde Name' });
    const preview = (await erase('p-old', { dry_run: true })).body;
    expect(preview).toMatchObject({ name: 'Olde Name', name_remains: true });
    expect((await erase('p-old')).body).toMatchObject({ status: 'erased' });
    const keys = await get('credentials?principal=p-old&include_ended=true');
    expect(keys.body.items).toMatchObject([{ label: '[erased]', reason: '[erased]' }]);
    expect((await get('principals/p-old')).body).toMatchObject({ name: 'Olde Name' });
  });

  it('somebody of whom nothing is sealed cannot be erased', async () => {
    await before('PrincipalRegistered', { principal: 'p-none', kind: 'person', name: 'None' });
    await before('PrincipalDeactivated', { principal: 'p-none', reason: 'left' });
    expect(refused(await erase('p-none'))).toEqual([409, 'not_sealed']);
  });
});

describe('a legal hold on somebody who acted', () => {
  it('is placed, listed and released by owners of the organisation, and stops his erasure', async () => {
    const bob = await person('Bob Held');
    const admin = await person('Admin of holds');
    await gone(bob.id);
    const { body: hold } = await post('legal-holds', { principal: bob.id, matter: '2026-LIT-4' });
    expect(hold).toMatchObject({ matter: '2026-LIT-4', of: 'principal', sources: 0 });
    expect(refused(await erase(bob.id))).toEqual([409, 'legal_hold']);
    const release = `legal-holds/${String(hold['hold_id'])}/release`;
    expect(refused(await post(release, {}, admin.key))).toEqual([403, 'requires_owner']);
    expect((await get(`legal-holds?principal=${bob.id}`)).body.items).toHaveLength(1);
    expect((await post(release, {})).body).toMatchObject({ released_by: 'owner' });
    expect((await erase(bob.id)).body).toMatchObject({ status: 'erased' });
  });
});

describe('an organisation with several workspaces and owners', () => {
  it('has one erasure of each, whoever asks from where, by two of them where nobody erases alone', async () => {
    const { body: second } = await post('workspaces', { name: 'Second' });
    const there = String(second['key']);
    const eve = await person('Eve Everywhere');
    const olga = await person('Olga Owner', { role: 'owner' }, there);
    await post('organisation/owners', { principal: olga.id });
    await post('members', { principal: eve.id, role: 'admin' }, there);
    const eveThere = String(
      (await post('credentials', { principal: eve.id, label: 'Eve there' }, there)).body['key'],
    );
    // Of a subject that was erased she speaks with her own key, and asks a question that names nothing.
    const { topic, decision } = await story('s-eve', eve.key);
    await post('erasures', { subject: 's-eve', reason: 'requested' });
    const reviews = `decisions/${encodeURIComponent(decision)}/reviews`;
    await post(reviews, { action: 'revoke', reason: 'Eve says so' }, eve.key);
    const question = { question: 'Eve asks', request_id: 'eve' };
    expect((await post('answers', question, eveThere)).status).toBe(200);
    const told = async () => JSON.stringify((await get(`topics/${topic}/history`)).body);
    expect(await told()).toContain('Eve says so');
    await gone(eve.id, 'Eve left');

    await post('organisation/settings', { four_eyes: true });
    const first = (await erase(eve.id)).body;
    expect(first).toMatchObject({ status: 'awaiting_second', requested_by: 'owner' });
    const done = (await erase(eve.id, {}, olga.key)).body;
    expect(done).toMatchObject({ status: 'erased', requested_by: 'owner', erased_by: olga.id });
    expect(done['erasure_id']).toBe(first['erasure_id']);
    expect(done['touched']).toMatchObject({ answers: 1, decisions: 1 });
    await post('organisation/settings', { four_eyes: false });
    // The key of each workspace as well, now and at every start.
    const { sealing, models } = server.application.ledger;
    const listed = models.now(erasedKeys);
    for (const scope of ['main', String(second['workspace'])]) {
      const words = principalKey(scope, eve.id);
      expect([scope, sealing.erased([words]), listed.includes(words)]).toEqual([scope, true, true]);
    }
    expect(refused(await post('answers', question, there))).toEqual([409, 'answer_erased']);
    const shown = await told();
    expect(shown).not.toContain('Eve says so');
    expect(shown).toContain('[erased]');
    for (const key of [server.key, olga.key]) {
      const byId = (await get(`erasures/${String(done['erasure_id'])}`, key)).body;
      expect(byId).toMatchObject({ status: 'erased', event_position: done['event_position'] });
      expect((await get(`erasures?principal=${eve.id}`, key)).body.items).toHaveLength(1);
    }
    const events = await server.call<Body>('GET', '/v1/events?limit=500');
    expect(JSON.stringify(events.body)).not.toContain('Eve ');
  });
});
