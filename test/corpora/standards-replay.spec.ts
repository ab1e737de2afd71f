import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TestApplication } from '../support/application.js';
import { hasCorpora } from '../support/corpora.js';
import { TestEventStoreDb } from '../support/eventstoredb-server.js';
import { pepEvents, xepEvents, type HeaderEvent } from '../support/standards.js';

/** Documents that are replayed at once; the events of one document follow each other. */
const AT_ONCE = 24;

interface Answer {
  state: string;
  decision?: { id: string; value: unknown };
}

/** An event as it was replayed: the decision it became and the last log position at which it was not known. */
interface Replayed extends HeaderEvent {
  decision: string;
  before: number;
}

/** One record in a source that holds just the changed header line, replacing the header's former decision. */
class Replay {
  readonly done: Replayed[] = [];

  constructor(private readonly server: TestApplication) {}

  async all(events: readonly HeaderEvent[]): Promise<void> {
    const documents = Map.groupBy(events, (event) => event.document);
    const waiting = [...documents.values()].reverse();
    const work = async (): Promise<void> => {
      for (let next = waiting.pop(); next; next = waiting.pop()) await this.document(next);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  }

  private async document(events: readonly HeaderEvent[]): Promise<void> {
    const heads = new Map<string, string>();
    for (const [index, event] of events.entries()) {
      const before = await this.server.end();
      const former = heads.get(event.header);
      const decision = await this.record(event, former, index % 2 === 1);
      heads.set(event.header, decision);
      this.done.push({ ...event, decision, before });
    }
  }

  /** Every second one goes through a review of its own, the others come in approved. */
  private async record(
    event: HeaderEvent,
    former: string | undefined,
    reviewed: boolean,
  ): Promise<string> {
    const line = `${event.header}: ${event.to}`;
    const job = await this.server.ingest({
      source: {
        title: `${event.document}, ${event.at}`,
        type: 'standard',
        text: `${event.document}\n${line}\n`,
        occurred_at: event.at,
      },
      records: [
        {
          topic: event.document,
          statement: `${event.document} has ${event.header} "${event.to}" since ${event.at}`,
          value: event.to,
          scope: { header: event.header },
          effective_from: event.at,
          supersedes: former === undefined ? [] : [former],
          status: reviewed ? 'candidate' : 'approved',
          evidence: [{ quote: line.trim() }],
        },
      ],
    });
    const [record] = job['records'] as { outcome: string; decision_id?: string; reason?: string }[];
    const id = record?.decision_id;
    if (id === undefined || record?.outcome !== (reviewed ? 'queued' : 'stored'))
      throw new Error(`${event.document} ${event.at}: ${JSON.stringify(job)}`);
    if (reviewed) await this.approve(id);
    return id;
  }

  private async approve(id: string): Promise<void> {
    const url = `/v1/decisions/${encodeURIComponent(id)}/reviews`;
    const { status, body } = await this.server.call('POST', url, {
      action: 'approve',
      reason: 'as its repository says',
    });
    if (status !== 200) throw new Error(`${id}: ${JSON.stringify(body)}`);
  }

  async ask(event: HeaderEvent, axes: { as_of: string; known_at?: string }): Promise<Answer> {
    const { status, body } = await this.server.call<Answer>('POST', '/v1/answers', {
      question: `Which ${event.header} has ${event.document}?`,
      topic: event.document,
      scope: { header: event.header },
      ...axes,
    });
    if (status !== 200) throw new Error(JSON.stringify(body));
    return body;
  }
}

const secondBefore = (at: string): string => new Date(Date.parse(at) - 1_000).toISOString();

/** What the header said at a time, from the events alone; undefined before it was first there. */
function saidAt(events: readonly Replayed[], ms: number): Replayed | undefined {
  return events.filter((e) => Date.parse(e.at) <= ms).at(-1);
}

const engines = {
  sqlite: async () => ({
    settings: { PRECEDENT_EVENTSTORE: 'sqlite:' },
    close: () => Promise.resolve(),
  }),
  eventstoredb: async () => {
    const cluster = await TestEventStoreDb.start();
    return {
      settings: { PRECEDENT_EVENTSTORE: cluster.connectionString },
      close: () => cluster.stop(),
    };
  },
};

(hasCorpora ? describe : describe.skip).each(Object.entries(engines))(
  'every dated header change of PEPs and XEPs, replayed on %s',
  (engine, start) => {
    let server: TestApplication;
    let replay: Replay;
    let close: () => Promise<void>;
    const events = [...pepEvents(), ...xepEvents()];

    beforeAll(async () => {
      const store = await start();
      server = await TestApplication.start(store.settings);
      close = async () => {
        await server.close();
        await store.close();
      };
      replay = new Replay(server);
      await replay.all(events);
    }, 600_000);
    afterAll(() => close());

    it('QO-24, QO-26: each header says at each change, and a second before, what it said then; known before the change, what it said before', async () => {
      const byHeader = Map.groupBy(replay.done, (e) => `${e.document} ${e.header}`);
      const byDocument = Map.groupBy(replay.done, (e) => e.document);
      const wrong: string[] = [];
      let asked = 0;
      const check = async (
        event: Replayed,
        axes: { as_of: string; known_at?: string },
        expected: Replayed | undefined,
        /** Whether the document has some other header by then: the topic is known, and silent on the one asked for. */
        isKnown: boolean,
      ): Promise<void> => {
        asked += 1;
        const answer = await replay.ask(event, axes);
        const silent = isKnown ? 'insufficient_evidence' : 'unknown';
        const right =
          expected === undefined
            ? answer.state === silent && answer.decision === undefined
            : answer.state === 'verified' &&
              answer.decision?.id === expected.decision &&
              answer.decision.value === expected.to;
        if (!right)
          wrong.push(
            `${event.document} ${event.header} ${JSON.stringify(axes)}: ${JSON.stringify(answer.decision ?? answer.state)}, not ${expected?.to ?? 'unknown'}`,
          );
      };
      for (const changes of byHeader.values())
        for (const [index, event] of changes.entries()) {
          const ms = Date.parse(event.at);
          const all = byDocument.get(event.document) ?? [];
          const known = (until: number, of = all): boolean => saidAt(of, until) !== undefined;
          await check(event, { as_of: event.at }, saidAt(changes, ms), known(ms));
          await check(
            event,
            { as_of: secondBefore(event.at) },
            saidAt(changes, ms - 1_000),
            known(ms - 1_000),
          );
          await check(
            event,
            { as_of: event.at, known_at: String(event.before) },
            saidAt(changes.slice(0, index), ms),
            known(ms, all.slice(0, all.indexOf(event))),
          );
        }
      process.stdout.write(
        `standards on ${engine}: ${events.length} dated events replayed, ${asked} questions, ${wrong.length} wrong\n`,
      );
      expect(wrong).toEqual([]);
      expect(replay.done).toHaveLength(events.length);
      expect(events.length).toBeGreaterThan(3_200);
    }, 300_000);
  },
);
