import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';
import { proved } from '../support/proved.js';
import { plainEnvironment } from '../support/server.js';

/** From eleven hours behind UTC to fourteen before it, two of them with a summer time. */
const ZONES = ['America/Los_Angeles', 'UTC', 'Pacific/Kiritimati', 'Pacific/Midway'];

async function answersIn(zone: string): Promise<string[]> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [
      ...[
        '--conditions=precedent-source',
        '--no-warnings',
        '--import',
        './test/support/ts-hooks.mjs',
      ],
      'test/support/zone-answers.ts',
    ],
    { env: { ...plainEnvironment(), TZ: zone } },
  );
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as string[];
}

it('B18, B19: a server answers the same in every time zone: a day, and “yesterday”, are those of the workspace', async () => {
  const answers = await Promise.all(ZONES.map(answersIn));
  expect(answers[0]).toEqual([
    '2026-01-01 2026-01-01T00:00:00.000Z UTC: verified from new year',
    '2026-01-01T00:00:00Z 2026-01-01T00:00:00.000Z UTC: verified from new year',
    '2025-12-31T23:59:59.999Z 2025-12-31T23:59:59.999Z UTC: unknown -',
    'now 2026-09-14T09:21:33.000Z UTC: verified from today',
    '2026-09-13 2026-09-13T00:00:00.000Z UTC: unknown -',
    '2026-09-13T23:59:59.999Z 2026-09-13T23:59:59.999Z UTC: unknown -',
    'now 2026-09-14T09:21:33.000Z UTC: unknown -',
    '2026-09-15 2026-09-15T00:00:00.000Z UTC: verified from tomorrow',
    'decided_since=yesterday 2026-09-13T00:00:00.000Z..2026-09-14T00:00:00.000Z UTC: 2026-09-13, 2026-09-13T23:59:59.999Z',
    'decided_since=today 2026-09-14T00:00:00.000Z..2026-09-15T00:00:00.000Z UTC: 2026-09-14, 2026-09-14T09:00:00Z, from new year, from today, from tomorrow, unknown',
    'decided_since=2026-09-13&decided_until=today 2026-09-13T00:00:00.000Z..2026-09-14T00:00:00.000Z UTC: 2026-09-13, 2026-09-13T23:59:59.999Z',
    'decided_since=2026-09-13T00:00:00.001Z 2026-09-13T00:00:00.001Z.. UTC: 2026-09-13T23:59:59.999Z, 2026-09-14, 2026-09-14T09:00:00Z, from new year, from today, from tomorrow, unknown',
    'decided_until=yesterday ..2026-09-13T00:00:00.000Z UTC: 2026-09-12, 2026-09-12T23:59:59.999Z',
    'decided_since=yesterday 2026-09-12T10:00:00.000Z..2026-09-13T10:00:00.000Z Pacific/Kiritimati: 2026-09-12T23:59:59.999Z, 2026-09-13',
    'decided_since=2026-09-13 2026-09-12T10:00:00.000Z.. Pacific/Kiritimati: 2026-09-12T23:59:59.999Z, 2026-09-13, 2026-09-13T23:59:59.999Z, 2026-09-14, 2026-09-14T09:00:00Z, unknown',
    'decided_since=yesterday 2026-09-13T00:00:00.000Z..2026-09-14T00:00:00.000Z : proposed 2026-09-13, approved 2026-09-13, proposed 2026-09-13T23:59:59.999Z, approved 2026-09-13T23:59:59.999Z',
  ]);
  for (const other of answers) expect(other).toEqual(answers[0]);
  proved('answers in time zones', { zones: ZONES.length, answers: answers.flat().length });
}, 300_000);
