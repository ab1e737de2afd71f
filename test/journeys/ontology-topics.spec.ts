import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { TestApplication } from '../support/application.js';
import { TestApplications } from '../support/applications.js';
import { ontologyKit as kit, type Refused } from '../support/ontology.js';

const servers = new TestApplications();
const { start } = servers;
afterAll(() => servers.close());

describe('names of declared topics and of records', () => {
  let server: TestApplication;
  let at: ReturnType<typeof kit>;
  beforeAll(async () => {
    server = await start();
    at = kit(server);
    await at.record('adr-5', 'Use Kafka', { value: 'kafka' });
  });

  it('QO-4: a declared name leads to the records of the topic, a former one stays an alias', async () => {
    await at.change({ op: 'rename_topic', topic: 'adr-5', name: 'Message broker' });
    await at.change({ op: 'rename_topic', topic: 'adr-5', name: 'Event bus' });
    for (const topic of ['adr-5', 'Message broker', 'EVENT bus'])
      expect(await at.ask({ topic })).toMatchObject({
        state: 'verified',
        topic: { topic: 'adr-5', name: 'Event bus' },
        decision: { value: 'kafka' },
      });
    const history = await server.call('GET', '/v1/topics/event%20bus/history');
    expect(history.body).toMatchObject({
      topic: 'adr-5',
      aliases: ['Event bus', 'Message broker'],
    });
  });

  it('a declared topic without records is known, and says that nothing was decided', async () => {
    await at.change({ op: 'add_topic', name: 'Retention' });
    const answer = await at.ask({ topic: 'retention' });
    expect([answer.state, answer.topic?.topic]).toEqual(['unknown', 'retention']);
    await at.record('Retention', 'keep 30 days', { value: 30 });
    expect((await at.ask({ topic: 'RETENTION' })).decision?.value).toBe(30);
  });

  it('a record under a declared name goes to the declared topic: no second one comes into being', async () => {
    await at.change({ op: 'add_alias', topic: 'Retention', alias: 'Backups' });
    await at.record('backups', 'daily', { value: 'daily', scope: { team: 'a' } });
    expect((await at.ask({ topic: 'Backups' })).topic?.topic).toBe('retention');
  });

  it('QO-4: a name that two topics bear by now is resolved by nobody but who gives an id', async () => {
    const proposed = await at.edit({
      action: 'propose',
      change: [{ op: 'add_alias', topic: 'Retention', alias: 'Snap Shots' }],
    });
    await at.record('snap shots', 'weekly', { value: 'weekly' });
    await at.approve(proposed.body);
    const both = await at.ask({ topic: 'Snap Shots' });
    expect([both.state, both.decision]).toEqual(['unknown', undefined]);
    expect(both.candidate_topics.map((t) => t.topic)).toEqual(['retention', 'snap-shots']);
    expect((await at.ask({ topic: 'snap-shots' })).decision?.value).toBe('weekly');
  });

  it('B33: a record’s name is not taken for another topic', async () => {
    const refused = await at.edit<Refused>({
      action: 'propose',
      change: [{ op: 'add_topic', name: 'Broker', aliases: ['Adr 5'] }],
    });
    expect([refused.body.error, refused.body.path]).toEqual([
      'duplicate_name',
      'change[0].aliases[0]',
    ]);
  });
});

describe('values below values', () => {
  it('QO-3: a decision for a value holds for the values below it, and a narrower one is an exception', async () => {
    const at = kit(await start());
    await at.change(
      {
        op: 'add_dimension',
        dimension: 'region',
        values: [{ value: 'eu' }, { value: 'de', parent: 'eu' }, { value: 'us' }],
      },
      { op: 'add_topic', name: 'Terms' },
    );
    await at.record('Terms', 'thirty', { value: 30, scope: { region: 'eu' } });
    const value = async (region: string) =>
      (await at.ask({ topic: 'Terms', scope: { region } })).decision?.value;
    expect([await value('eu'), await value('de'), await value('DE'), await value('us')]).toEqual([
      30,
      30,
      30,
      undefined,
    ]);
    const exception = await at.record('Terms', 'forty-five', {
      value: 45,
      scope: { region: 'de' },
    });
    const answer = await at.ask({ topic: 'Terms', scope: { region: 'de' } });
    expect(answer).toMatchObject({
      state: 'verified',
      decision: { id: exception, value: 45 },
      ontology_version: 1,
    });
    expect(await value('eu')).toBe(30);
  });

  it('a closed dimension takes declared values only: others are refused with their path, and nothing is stored', async () => {
    const server = await start();
    const at = kit(server);
    await at.change({
      op: 'add_dimension',
      dimension: 'region',
      open: false,
      values: [{ value: 'eu' }],
    });
    const end = await server.end();
    const refused = await server.call<Refused>('POST', '/v1/ingestions', {
      source: { title: 't', type: 'note', text: 'We decided: thirty.' },
      records: [
        { topic: 'Terms', statement: 'thirty', scope: { region: 'mars' }, status: 'candidate' },
      ],
    });
    expect([refused.status, refused.body.error, refused.body.path]).toEqual([
      400,
      'undeclared_scope_value',
      'records[0].scope.region',
    ]);
    expect(await server.end()).toBe(end);
    await at.record('Terms', 'thirty', { value: 30, scope: { region: 'EU', team: 'any' } });
  });

  it('QO-24: by_effective_date is what the topic declares', async () => {
    const at = kit(await start());
    await at.change({ op: 'add_topic', name: 'Rates', succession: 'by_effective_date' });
    await at.record('Rates', 'later', { value: 2, effective_from: '2026-01-01' });
    await at.record('Rates', 'earlier', { value: 1, effective_from: '2025-01-01' });
    expect((await at.ask({ topic: 'Rates' })).decision?.value).toBe(2);
    expect((await at.ask({ topic: 'Rates', as_of: '2025-06-01' })).decision?.value).toBe(1);
  });
});
