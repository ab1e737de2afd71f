import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { TestApplication } from '../support/application.js';
import { TestApplications } from '../support/applications.js';
import { ontologyKit as kit, type Answer, type Refused } from '../support/ontology.js';

const servers = new TestApplications();
const { start } = servers;
let server: TestApplication;
let at: ReturnType<typeof kit>;
beforeAll(async () => {
  server = await start();
  at = kit(server);
});
afterAll(() => servers.close());

const value = async (topic: string, scope: object) => {
  const { state, decision, conflicts } = await at.ask({ topic, scope });
  return [state, decision?.value, conflicts.length];
};

describe('B33, QO-3: a scope in another spelling', () => {
  it('gets the exception, not the general rule', async () => {
    await at.record('Spelling', 'general', { value: 'g' });
    await at.record('Spelling', 'exception', { value: 'e', scope: { region: 'EU' } });
    await at.record('Towns', 'general', { value: 'g' });
    await at.record('Towns', 'town', { value: 'z', scope: { city: 'Zürich' } });
    for (const scope of [
      { region: 'EU' },
      { region: 'eu' },
      { REGION: 'EU' },
      { Region: ' ｅｕ ' },
    ])
      expect(await value('Spelling', scope)).toEqual(['verified', 'e', 0]);
    expect(await value('Towns', { city: 'Zu\u0308rich' })).toEqual(['verified', 'z', 0]);
    expect(await value('Spelling', { region: 'US' })).toEqual(['verified', 'g', 0]);
  });

  it('finds and narrows what is declared, under another name of the dimension too', async () => {
    await at.change({
      op: 'add_dimension',
      dimension: 'zone',
      open: true,
      values: [{ value: 'EU' }, { value: 'DE', parent: 'EU' }, { value: 'Bayern', parent: 'DE' }],
    });
    await at.record('Zones', 'general', { value: 'g' });
    await at.record('Zones', 'europe', { value: 'eu', scope: { zone: 'EU' } });
    await at.record('Zones', 'germany', { value: 'de', scope: { Zone: 'de' } });
    for (const scope of [{ ZONE: 'EU' }, { zone: 'eu' }])
      expect(await value('Zones', scope)).toEqual(['verified', 'eu', 0]);
    for (const scope of [{ zone: 'DE' }, { Zone: 'de' }, { ZONE: 'bayern' }])
      expect(await value('Zones', scope)).toEqual(['verified', 'de', 0]);
    const { body } = await server.call<{ heads: { value: unknown }[] }>(
      'GET',
      '/v1/topics/zones/history?scope[ZONE]=eu',
    );
    expect(body.heads.map((h) => h.value).sort()).toEqual(['eu', 'g']);
  });

  it('the same value in both Unicode forms is no conflict', async () => {
    await at.record('Forms', 'first', { value: 'Café' });
    await at.record('Forms', 'second', { value: 'Cafe\u0301', scope: {} });
    expect(await value('Forms', {})).toEqual(['verified', 'Café', 0]);
  });

  it('twice in one scope is refused with its field, and nothing is stored', async () => {
    const end = await server.end();
    const scope = { region: 'EU', REGION: 'US' };
    const record = { topic: 'Twice', statement: 'x', scope, status: 'candidate' };
    const refused = await server.call<Refused>('POST', '/v1/ingestions', {
      source: { title: 't', type: 'note', text: 'x' },
      records: [record],
    });
    expect([refused.status, refused.body.issues[0]?.path]).toEqual([400, 'records[0].scope']);
    const asked = await server.call<Refused>('POST', '/v1/answers', { question: 'Twice', scope });
    expect([asked.status, asked.body.issues[0]?.path]).toEqual([400, 'scope']);
    expect(await server.end()).toBe(end);
  });
});

describe('QO-3: a scope that cannot exist', () => {
  beforeAll(async () => {
    await at.change({
      op: 'add_dimension',
      dimension: 'tier',
      open: false,
      values: [{ value: 'gold' }],
    });
    await at.record('Tiers', 'general', { value: 'g' });
  });

  it('is refused in questions as it is in records', async () => {
    for (const asked of [
      await server.call<Refused>('POST', '/v1/answers', {
        question: 'Tiers',
        scope: { Tier: 'silver' },
        request_id: 'tier',
      }),
      await server.call<Refused>('GET', '/v1/topics/tiers/history?scope[Tier]=silver'),
    ])
      expect([asked.status, asked.body.error, asked.body.path]).toEqual([
        400,
        'undeclared_scope_value',
        'scope.Tier',
      ]);
    expect(await value('Tiers', { TIER: 'Gold' })).toEqual(['verified', 'g', 0]);
  });

  it('a dimension that nothing knows is said to be ignored', async () => {
    const ask = async (scope: object) =>
      (await at.ask({ topic: 'Tiers', scope })) as Answer & { reason: string };
    expect(await ask({ foo: 'bar' })).toMatchObject({
      state: 'verified',
      reason: expect.stringContaining('The dimension "foo" did not count'),
    });
    expect((await ask({ tier: 'gold' })).reason).not.toContain('did not count');
  });
});

describe('B33: a name with characters that show nothing', () => {
  it('is the name without them', async () => {
    await at.record('Payments', 'thirty', { value: 30 });
    await at.record('Pay\u200bments', 'team', { value: 45, scope: { team: 'x' } });
    for (const topic of ['Payments', 'Pay\u00adments', '\ufeffpay\u2060ments'])
      expect(await value(topic, { team: 'x' })).toEqual(['verified', 45, 0]);
  });

  it('and without any other is refused', async () => {
    const refused = await server.call<Refused>('POST', '/v1/answers', { question: '\u200b' });
    expect([refused.status, refused.body.issues[0]?.path]).toEqual([400, 'question']);
  });
});
