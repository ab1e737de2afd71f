import { CommandBus } from '@nestjs/cqrs';
import { afterAll, describe, expect, it } from '@jest/globals';
import { RunEval } from '#evaluation/messages.js';
import { TestApplications } from '../support/applications.js';
import {
  CASES,
  evaluationKit as kit,
  MINUTES,
  outcomes,
  record,
  type Read,
} from '../support/evaluation.js';
import { callModern } from '../support/mcp-raw.js';

const servers = new TestApplications();
const { start } = servers;
afterAll(() => servers.close());

describe('measuring again', () => {
  it('O-50: after an ingestion a run may differ, a case of the past does not, and the two are compared', async () => {
    const server = await start();
    const at = kit(server);
    await server.ingest(MINUTES);
    const known_at = String(await server.end());
    const backups = { question: 'backups', expect: { state: 'verified', value: { days: 90 } } };
    const set = await at.approved([backups, { ...backups, known_at }]);
    const first = (await at.run(set.dataset_id)).body;
    await server.ingest({
      source: { title: 'Later', type: 'meeting_notes', text: 'Backups are kept 30 days.' },
      records: [
        record('backups', 'Backups are kept 30 days', { days: 30 }, 'Backups are kept 30 days'),
      ],
    });
    const second = (await at.run(set.dataset_id)).body;
    expect([first.summary.cases_passed, second.summary.cases_passed]).toEqual([2, 1]);
    expect(Number(second.memory_position)).toBeGreaterThan(Number(first.memory_position));
    const both = await at.read(`runs/${second.run_id}?compare_to=${first.run_id}`);
    expect(both.compared_to?.run_id).toBe(first.run_id);
    expect(outcomes(both.results)).toEqual(['ffnnp', 'ppnnp']);
    expect(both.results?.map(({ before }) => before?.differs)).toEqual([true, false]);
    expect(both.results?.[0]?.checks[1]?.detail).toBe('no decision is in force');
  });

  it('lists of datasets, runs and cases go on at their cursor', async () => {
    const server = await start();
    const at = kit(server);
    const cases = Array.from({ length: 5 }, (_, i) => ({
      question: `q${i}`,
      expect: { state: 'unknown' },
    }));
    const sets: string[] = [];
    for (const name of ['a', 'b', 'c']) sets.unshift((await at.approved(cases, name)).dataset_id);
    const runs: string[] = [];
    for (let i = 0; i < 3; i++) runs.unshift((await at.run(sets[0] ?? '')).body.run_id);
    const pages = async <T>(path: string, of: (read: Read) => readonly T[] | undefined) => {
      const all: T[] = [];
      for (let cursor = ''; ;) {
        const read = await at.read(`${path}?limit=2${cursor}`);
        all.push(...(of(read) ?? []));
        if (read.next_cursor === undefined) return all;
        cursor = `&cursor=${read.next_cursor}`;
      }
    };
    expect(await pages('datasets', (r) => r.datasets?.map((d) => d['dataset_id']))).toEqual(sets);
    expect(await pages(`datasets/${sets[0] ?? ''}`, (r) => r.runs?.map((x) => x.run_id))).toEqual(
      runs,
    );
    expect(await pages(`runs/${runs[0] ?? ''}`, (r) => r.results?.map((x) => x.case))).toEqual([
      0, 1, 2, 3, 4,
    ]);
  });

  it('QO-20: cut short at any case, a run leaves nothing; the next one is whole', async () => {
    const server = await start();
    const at = kit(server);
    await server.ingest(MINUTES);
    const set = await at.approved(CASES);
    const [caller, bus] = [
      await server.callerOf(server.key),
      server.application.app.get(CommandBus),
    ];
    const end = await server.end();
    for (let at = 0; at <= CASES.length; at++) {
      const cut = new RunEval(caller, { dataset_id: set.dataset_id }, (done) => {
        if (done === at) throw new Error('cut');
      });
      await expect(bus.execute(cut)).rejects.toThrow('cut');
    }
    expect(await server.end()).toBe(end);
    expect((await at.run(set.dataset_id)).body.summary.cases).toBe(5);
    expect(await server.end()).toBe(end + 1);
    process.stdout.write(`runs cut short: ${CASES.length + 1}, events left: 0\n`);
  });

  it('O-47: a client that gave a token is told how far it is', async () => {
    const server = await start();
    const at = kit(server);
    const set = await at.approved(CASES);
    await server.application.app.listen(0, '127.0.0.1');
    const url = `${await server.application.app.getUrl()}/mcp`;
    const _meta = { progressToken: 'p' };
    const args = { dataset_id: set.dataset_id };
    const reply = await callModern(url, 'run_eval', args, { _meta }, { key: server.key });
    const told = reply.messages.filter(({ method }) => method === 'notifications/progress');
    expect(told.at(-1)?.params).toMatchObject({ progressToken: 'p', progress: 5, total: 5 });
    expect(reply.body.result?.['structuredContent']).toMatchObject({ dataset_id: set.dataset_id });
  });
});
