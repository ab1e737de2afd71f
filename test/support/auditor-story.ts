import { TestApplication } from './application.js';

export const TEXT = 'Logs are kept for sixty days.';

/** The clock of the server: one thing happens on each of these days. */
const DAYS = {
  first: '2024-01-10',
  asked: '2024-02-10',
  changed: '2024-03-10',
  askedAgain: '2024-04-10',
  contradicted: '2024-05-10',
  settled: '2024-06-10',
} as const;

/** Makes the ledger of that time in a folder, and gives the ids of its decisions. */
export async function tellStory(
  dir: string,
): Promise<Record<'thirty' | 'sixty' | 'sqlite' | 'postgres', string>> {
  let now = Date.parse(`${DAYS.first}T09:00:00Z`);
  const server = await TestApplication.start(
    { PRECEDENT_EVENTSTORE: 'sqlite:', PRECEDENT_DATA: dir },
    () => now,
  );
  const on = (day: string): void => {
    now = Date.parse(`${day}T09:00:00Z`);
  };
  const record = async (topic: string, statement: string, more: object): Promise<string> => {
    const job = await server.ingest({
      source: { title: `Minutes on ${topic}`, type: 'minutes', text: `${statement}\n` },
      records: [
        { topic, statement, status: 'approved', evidence: [{ quote: statement }], ...more },
      ],
    });
    const [{ decision_id } = { decision_id: undefined }] = job['records'] as {
      decision_id?: string;
    }[];
    if (decision_id === undefined) throw new Error(JSON.stringify(job));
    return decision_id;
  };
  const agent = await server.member('agent-1', 'member', 'agent');
  const ask = async (topic: string, request_id: string, key?: string): Promise<void> => {
    const reply = await server.call('POST', '/v1/answers', { question: topic, request_id }, key);
    if (reply.status !== 200) throw new Error(JSON.stringify(reply.body));
  };

  const thirty = await record('log retention', 'Logs are kept for thirty days.', {
    value: 30,
    effective_from: '2023-01-01',
  });
  const sqlite = await record('database', 'We use SQLite.', { effective_from: '2023-01-01' });
  on(DAYS.asked);
  await ask('log retention', 'q1', agent);
  await ask('database', 'q2', agent);
  on(DAYS.changed);
  // Decided with effect from before the agent asked.
  const sixty = await record('log retention', TEXT, {
    value: 60,
    effective_from: '2024-02-01',
    supersedes: [thirty],
  });
  on(DAYS.askedAgain);
  await ask('log retention', 'q3', agent);
  await ask('log retention', 'q4');
  await ask('no such topic', 'q5', agent);
  on(DAYS.contradicted);
  const postgres = await record('database', 'We use PostgreSQL.', { effective_from: '2024-05-01' });
  await server.member('mia', 'admin');
  on(DAYS.settled);
  const conflicts = await server.call<{ conflicts: { conflict_id: string }[] }>(
    'GET',
    '/v1/conflicts',
  );
  const [{ conflict_id } = { conflict_id: '' }] = conflicts.body.conflicts;
  const resolved = await server.call(
    'POST',
    `/v1/conflicts/${encodeURIComponent(conflict_id)}/resolutions`,
    {
      action: 'resolve',
      winner_decision_id: postgres,
      reason: 'the newer decision was meant',
    },
  );
  if (resolved.status !== 200) throw new Error(JSON.stringify(resolved.body));
  await server.close();
  return { thirty, sixty, sqlite, postgres };
}
