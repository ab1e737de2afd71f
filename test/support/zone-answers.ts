import { rmSync } from 'node:fs';
import { TestApplication } from './application.js';

/** A server whose clock stands at 2026-09-14T09:21:33Z, in the zone that TZ names: prints what it answers, as JSON. */
const server = await TestApplication.start({}, () => Date.parse('2026-09-14T09:21:33Z'));

async function record(topic: string, value: string, effective_from: string): Promise<void> {
  await server.ingest({
    source: { title: `${topic} ${value}`, type: 'note', text: `It is ${value}.` },
    records: [
      {
        topic,
        statement: value,
        value,
        effective_from,
        status: 'approved',
        evidence: [{ quote: value }],
      },
    ],
  });
}

async function ask(topic: string, as_of?: string): Promise<string> {
  const input = { question: topic, topic, ...(as_of === undefined ? {} : { as_of }) };
  const { body } = await server.call<{
    state: string;
    as_of: string;
    zone: string;
    decision?: { value: string };
  }>('POST', '/v1/answers', input);
  return `${as_of ?? 'now'} ${body.as_of} ${body.zone}: ${body.state} ${body.decision?.value ?? '-'}`;
}

await record('new year', 'from new year', '2026-01-01');
await record('today', 'from today', '2026-09-14');
await record('tomorrow', 'from tomorrow', '2026-09-15');
const answers = [
  await ask('new year', '2026-01-01'),
  await ask('new year', '2026-01-01T00:00:00Z'),
  await ask('new year', '2025-12-31T23:59:59.999Z'),
  await ask('today'),
  await ask('today', '2026-09-13'),
  await ask('today', '2026-09-13T23:59:59.999Z'),
  await ask('tomorrow'),
  await ask('tomorrow', '2026-09-15'),
];
process.stdout.write(`${JSON.stringify(answers)}\n`);
await server.close();
rmSync(server.dir, { recursive: true, force: true });
