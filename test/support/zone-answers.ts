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

interface Window {
  decided: { since?: string; until?: string };
  zone: string;
}
const shown = ({ decided, zone }: Window): string =>
  `${decided.since ?? ''}..${decided.until ?? ''} ${zone}`;

/** Decisions made in a time, in all topics and in the history of one. */
async function made(query: string, key = server.key): Promise<string[]> {
  const { body } = await server.call<Window & { decisions: { statement: string }[] }>(
    'GET',
    `/v1/decisions?${query}`,
    undefined,
    key,
  );
  const names = body.decisions.map(({ statement }) => statement).sort();
  return [`${query} ${shown(body)}: ${names.join(', ')}`];
}

async function timelineOf(query: string): Promise<string[]> {
  const { body } = await server.call<Window & { timeline: { statement: string; kind: string }[] }>(
    'GET',
    `/v1/topics/days/history?${query}`,
  );
  const entries = body.timeline.map(({ kind, statement }) => `${kind} ${statement}`);
  return [`${query} ${shown({ ...body, zone: '' })}: ${entries.join(', ')}`];
}

/** Each in a scope of its own, so that none contradicts another. */
async function days(key = server.key): Promise<void> {
  const times = [
    '2026-09-12',
    '2026-09-12T23:59:59.999Z',
    '2026-09-13',
    '2026-09-13T23:59:59.999Z',
    '2026-09-14',
    '2026-09-14T09:00:00Z',
    'unknown',
  ];
  const records = times.map((time) => ({
    topic: 'days',
    statement: time,
    scope: { of: time },
    status: 'approved',
    evidence: [{ quote: time }],
    ...(time === 'unknown' ? {} : { decided_at: time }),
  }));
  await server.ingest(
    { source: { title: 'days', type: 'note', text: times.join('\n') }, records },
    key,
  );
}

const island = await server.call<{ key: string }>('POST', '/v1/organisations', {
  name: 'island',
  owner_name: 'ina',
  zone: 'Pacific/Kiritimati',
});
const there = island.body.key;
await days();
await days(there);
const answers = [
  await ask('new year', '2026-01-01'),
  await ask('new year', '2026-01-01T00:00:00Z'),
  await ask('new year', '2025-12-31T23:59:59.999Z'),
  await ask('today'),
  await ask('today', '2026-09-13'),
  await ask('today', '2026-09-13T23:59:59.999Z'),
  await ask('tomorrow'),
  await ask('tomorrow', '2026-09-15'),
  ...(await made('decided_since=yesterday')),
  ...(await made('decided_since=today')),
  ...(await made('decided_since=2026-09-13&decided_until=today')),
  ...(await made('decided_since=2026-09-13T00:00:00.001Z')),
  ...(await made('decided_until=yesterday')),
  ...(await made('decided_since=yesterday', there)),
  ...(await made('decided_since=2026-09-13', there)),
  ...(await timelineOf('decided_since=yesterday')),
];
process.stdout.write(`${JSON.stringify(answers)}\n`);
await server.close();
rmSync(server.dir, { recursive: true, force: true });
