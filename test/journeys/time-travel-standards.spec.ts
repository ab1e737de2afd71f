import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { answer, history } from '#decisions/index.js';
import { onRecord, type OnRecord } from '../../apps/cli/src/on-record.js';
import { TestApplication } from '../support/application.js';
import { precedent } from '../support/cli.js';
import { hasCorpora } from '../support/corpora.js';
import { TestEventStoreDb } from '../support/eventstoredb-server.js';
import { proved } from '../support/proved.js';
import { pepEvents, type HeaderEvent } from '../support/standards.js';

/** Documents at once; the changes of one document follow each other. */
const AT_ONCE = 24;
const DOCUMENTS = 30;

interface Case {
  topic: string;
  scope: Record<string, string>;
  as_of: string;
  known_at?: string;
}

/** Hands in each dated header change as a decision that replaces the one before, and gives the questions to ask of it. */
async function replayed(server: TestApplication, events: readonly HeaderEvent[]): Promise<Case[]> {
  const documents = [...Map.groupBy(events, (e) => e.document)].slice(0, DOCUMENTS);
  const cases: Case[] = [];
  const document = async (name: string, changes: readonly HeaderEvent[]): Promise<void> => {
    const heads = new Map<string, string>();
    for (const { header, at, to } of changes) {
      const before = await server.end();
      const line = `${header}: ${to}`.trim();
      const former = heads.get(header);
      const job = await server.ingest({
        source: {
          title: `${name}, ${at}`,
          type: 'standard',
          text: `${name}\n${line}\n`,
          occurred_at: at,
        },
        records: [
          {
            topic: name,
            statement: `${name} has ${header} "${to}" since ${at}`,
            value: to,
            scope: { header },
            effective_from: at,
            supersedes: former === undefined ? [] : [former],
            status: 'approved',
            evidence: [{ quote: line }],
          },
        ],
      });
      const [record] = job['records'] as { decision_id?: string }[];
      if (record?.decision_id === undefined) throw new Error(JSON.stringify(job));
      heads.set(header, record.decision_id);
      const question = { topic: name, scope: { header } };
      const earlier = new Date(Date.parse(at) - 1_000).toISOString();
      cases.push(
        { ...question, as_of: at },
        { ...question, as_of: earlier },
        { ...question, as_of: at, known_at: String(before) },
      );
    }
  };
  const worker = async (): Promise<void> => {
    for (let next = documents.pop(); next; next = documents.pop()) await document(...next);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return cases;
}

type Reading = Record<string, unknown>;

/** All but the moment at which somebody was answered. */
const timeless = ({ answered_at: _, ...reading }: Reading): Reading => reading;

/** A server suggests topics for a name that means none; without one nothing is searched, and the state is what counts. */
function compared(reading: Reading): Reading {
  const { state, decision } = reading;
  return reading['topic'] === undefined ? { state, decision } : timeless(reading);
}

const engines = {
  sqlite: async () => ({
    settings: { PRECEDENT_EVENTSTORE: 'sqlite:' },
    source: (dir: string) => ({ data: dir }),
    close: () => Promise.resolve(),
  }),
  eventstoredb: async () => {
    const cluster = await TestEventStoreDb.start();
    return {
      settings: { PRECEDENT_EVENTSTORE: cluster.connectionString },
      source: (dir: string) => ({ eventstore: cluster.connectionString, data: dir }),
      close: () => cluster.stop(),
    };
  },
};

(hasCorpora ? describe : describe.skip).each(Object.entries(engines))(
  'time travel without a server, over dated header changes of PEPs on %s',
  (engine, start) => {
    let server: TestApplication;
    let cases: Case[];
    let stop: () => Promise<void>;
    let source: ReturnType<Awaited<ReturnType<typeof start>>['source']>;
    let copy: string;

    beforeAll(async () => {
      const store = await start();
      copy = mkdtempSync(join(tmpdir(), 'precedent-copy-'));
      server = await TestApplication.start({
        ...store.settings,
        PRECEDENT_DATA: mkdtempSync(join(tmpdir(), 'precedent-travel-')),
      });
      source = store.source(server.dir);
      stop = async () => {
        await server.close();
        await store.close();
        for (const dir of [server.dir, copy]) rmSync(dir, { recursive: true, force: true });
      };
      cases = await replayed(server, pepEvents());
    }, 600_000);
    afterAll(() => stop());

    const offline = <T>(work: (record: OnRecord) => T | Promise<T>): Promise<T> =>
      onRecord({ ...source, quiet: true }, work);

    it('QO-24, QO-26: as-of is the answer of the server, word for word, on a live ledger', async () => {
      const wrong: string[] = [];
      await offline(async ({ reads, workspace, position }) => {
        for (const asked of cases) {
          const question = { question: asked.topic, ...asked };
          const { status, body } = await server.call<Reading>('POST', '/v1/answers', question);
          expect(status).toBe(200);
          const here = answer(reads, workspace, question, 0, position) as unknown as Reading;
          const same = JSON.stringify(compared(here)) === JSON.stringify(compared(body));
          if (!same) wrong.push(JSON.stringify({ asked, here, body }));
        }
      });
      expect(wrong).toEqual([]);
      expect(cases.length).toBeGreaterThan(200);
      proved(`answers read offline equal to the server's on ${engine}`, {
        asked: cases.length,
        different: 0,
      });
    }, 300_000);

    it('O-22: history is the history of the server, page by page', async () => {
      const topics = [...new Set(cases.map((c) => c.topic))].slice(0, 40);
      await offline(async ({ reads, workspace, position }) => {
        for (const topic of topics) {
          const url = `/v1/topics/${encodeURIComponent(topic)}/history?limit=200`;
          const { body } = await server.call('GET', url);
          const here = history(reads, workspace, { topic, limit: 200 }, Date.now(), position);
          expect(JSON.parse(JSON.stringify(here))).toEqual(body);
        }
      });
    }, 120_000);

    const cli = async (args: readonly string[]): Promise<unknown> => {
      const named = Object.entries(source).flatMap(([name, value]) => [`--${name}`, value]);
      const { code, stdout, stderr } = await precedent(
        [...args, ...(args.some((arg) => /^--(?:data|bundle)$/.test(arg)) ? [] : named), '--json'],
        {},
      );
      expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: '' });
      return JSON.parse(stdout);
    };

    it('as-of by the command line equals the server, on the live ledger and on a copy of its folder', async () => {
      cpSync(server.dir, copy, { recursive: true });
      const some = cases.filter((_, i) => i % Math.ceil(cases.length / 5) === 0);
      for (const [i, { topic, scope, as_of, known_at }] of some.entries()) {
        const { body } = await server.call<Reading>('POST', '/v1/answers', {
          ...{ question: topic, topic, scope, as_of },
          ...(known_at === undefined ? {} : { known_at }),
        });
        const read = (await cli([
          ...['as-of', topic, '--valid', as_of, '--scope', `header=${scope['header'] ?? ''}`],
          ...(known_at === undefined ? [] : ['--known', known_at]),
          ...(engine === 'sqlite' && i % 2 === 0 ? ['--data', copy] : []),
        ])) as { schema: string; answer: Reading };
        expect(read.schema).toBe('precedent.as-of/1');
        expect(JSON.stringify(compared(read.answer))).toBe(JSON.stringify(compared(body)));
      }
    }, 240_000);

    it('P5: replay gives the same tables from the ledger and from an export of it', async () => {
      const bundle = join(copy, 'export');
      await cli(['export', bundle]);
      const [here, there] = [await cli(['replay']), await cli(['replay', '--bundle', bundle])];
      const models = (replayed: unknown) =>
        (replayed as { models: { tables: unknown[] }[] }).models;
      expect(models(there)).toEqual(models(here));
      const tables = models(here).flatMap((model) => model.tables).length;
      proved(`tables rebuilt equal from ${engine} and from its export`, { tables, different: 0 });
    }, 240_000);
  },
);
