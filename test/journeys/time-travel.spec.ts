import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ReadDatabase } from '#projections/read-database.js';
import { TEXT, tellStory } from '../support/auditor-story.js';
import { precedent, type Ran } from '../support/cli.js';
import { proved } from '../support/proved.js';

/** What an auditor asks months later, of a copy of the data folder, without a server. */

let scratch: string;
let copy: string;
let decisions: Awaited<ReturnType<typeof tellStory>>;

beforeAll(async () => {
  scratch = mkdtempSync(join(tmpdir(), 'precedent-auditor-'));
  copy = join(scratch, 'copy');
  const live = join(scratch, 'live');
  decisions = await tellStory(live);
  cpSync(live, copy, { recursive: true });
}, 180_000);
afterAll(() => {
  rmSync(scratch, { recursive: true, force: true });
});

const run = (args: readonly string[], env: Record<string, string> = {}): Promise<Ran> =>
  precedent([...args, ...(args.includes('--bundle') ? [] : ['--data', copy])], env);

async function said(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(args);
  expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: '' });
  return stdout;
}

const json = async <T>(...args: string[]): Promise<T> =>
  JSON.parse(await said(...args, '--json')) as T;

interface AsOf {
  answer: {
    state: string;
    decision?: { id: string; value: number };
    evidence: { excerpt: string }[];
    history: { id: string }[];
  };
  approvals: { decision_id: string; position: string; by: string; at: string; reason: string }[];
  sources: { source_id: string; sha256: string }[];
}

describe('what was in force on a day, and what was known then', () => {
  it('QO-24: on a day in February sixty days held, as is known now; on that day itself thirty were known', async () => {
    const day = ['as-of', 'log retention', '--valid', '2024-02-15'];
    expect((await json<AsOf>(...day)).answer.decision?.id).toBe(decisions.sixty);
    const then = await json<AsOf>(...day, '--known', '2024-02-15');
    expect(then.answer.decision?.id).toBe(decisions.thirty);
    expect((await json<AsOf>('as-of', 'log retention', '--valid', '2022-12-31')).answer.state).toBe(
      'unknown',
    );
  });

  it('who approved it, when, on which evidence, and what it replaced', async () => {
    const { answer, approvals, sources } = await json<AsOf>(
      'as-of',
      'log retention',
      '--valid',
      '2024-07-01',
    );
    expect(answer.evidence.map((e) => e.excerpt)).toEqual([TEXT]);
    expect(answer.history.map((d) => d.id)).toEqual([decisions.thirty]);
    expect(approvals).toEqual([
      expect.objectContaining({
        decision_id: decisions.sixty,
        by: 'owner',
        at: '2024-03-10T09:00:00.000Z',
      }),
    ]);
    // Of the text that was handed in: whoever has it can compare.
    const digest = createHash('sha256').update(`${TEXT}\n`).digest('hex');
    expect(sources.map((s) => s.sha256)).toEqual([digest]);
    const text = await said('as-of', 'log retention', '--valid', '2024-07-01');
    for (const part of [
      'Current  Logs are kept for sixty days.',
      'in force   since 2024-02-01',
      `│ ${TEXT}`,
      'Logs are kept for thirty days.\n    2023-01-01 to 2024-02-01, superseded by Logs are kept for sixty days.',
      `position ${approvals[0]?.position ?? ''}  approved by owner, 2024-03-10 09:00 UTC`,
      `sha256 ${digest}`,
    ])
      expect(text).toContain(part);
  });

  it('O-22: the history of a topic, without a server', async () => {
    const { timeline } = await json<{ timeline: { kind: string; recorded_at: string }[] }>(
      'history',
      'log retention',
    );
    expect(timeline.map((e) => `${e.recorded_at.slice(0, 10)} ${e.kind}`)).toEqual([
      '2024-01-10 proposed',
      '2024-01-10 approved',
      '2024-03-10 proposed',
      '2024-03-10 approved',
      '2024-03-10 superseded',
    ]);
  });
});

interface Diff {
  axis: string;
  counts: Record<string, number>;
  changes: {
    area: string;
    kind: string;
    position: string;
    decision_id?: string;
    principal?: string;
    role?: string;
  }[];
  decisions: { in_force: string; decision: { id: string } }[];
}

describe('what changed between two moments', () => {
  it('names what was recorded in March, and nothing else', async () => {
    const { changes, counts } = await json<Diff>('diff', '2024-03-01', '2024-04-01');
    expect(changes.map((c) => `${c.area} ${c.kind} ${c.decision_id ?? ''}`)).toEqual([
      `decisions proposed ${decisions.sixty}`,
      `decisions approved ${decisions.sixty}`,
      `decisions superseded ${decisions.thirty}`,
    ]);
    expect(counts).toEqual({ proposed: 1, approved: 1, superseded: 1 });
    expect(await said('diff', '2024-03-11', '2024-04-01')).toContain(
      'Nothing was recorded in between.',
    );
  });

  it('names conflicts that opened and closed, and members, roles and keys', async () => {
    const { changes, counts } = await json<Diff>('diff', '2024-05-01');
    expect(counts).toMatchObject({
      conflict_opened: 1,
      conflict_resolved: 1,
      member_added: 1,
      key_issued: 1,
    });
    expect(changes).toContainEqual(
      expect.objectContaining({
        area: 'access',
        kind: 'member_added',
        principal: 'mia',
        role: 'admin',
      }),
    );
    const positions = changes.map((c) => Number(c.position));
    expect(positions).toEqual([...positions].sort((a, b) => a - b));
    const ofTopic = await json<Diff>('diff', '2024-05-01', '--topic', 'database');
    expect(new Set(ofTopic.changes.map((c) => c.area))).toEqual(new Set(['decisions']));
  });

  it('two halves are the whole, at every position', async () => {
    const whole = (await json<Diff>('diff', '0')).changes;
    for (const middle of ['5', '20', '2024-03-10T09:00:00.000Z']) {
      const parts = [await json<Diff>('diff', '0', middle), await json<Diff>('diff', middle)];
      expect(parts.flatMap((part) => part.changes)).toEqual(whole);
    }
  });

  it('with --valid: what was in force at the one and at the other', async () => {
    const {
      axis,
      counts,
      decisions: all,
    } = await json<Diff>('diff', '2024-01-15', '2024-02-15', '--valid');
    expect({ axis, counts }).toEqual({ axis: 'valid', counts: { from: 1, to: 1, both: 1 } });
    expect(new Map(all.map((d) => [d.decision.id, d.in_force]))).toEqual(
      new Map([
        [decisions.sqlite, 'both'],
        [decisions.sixty, 'to'],
        [decisions.thirty, 'from'],
      ]),
    );
    const known = await json<Diff>(
      'diff',
      '2024-01-15',
      '2024-02-15',
      '--valid',
      '--known',
      '2024-02-20',
    );
    expect(known.counts).toEqual({ from: 0, to: 0, both: 2 });
  });
});

interface Answers {
  counts: Record<string, number>;
  answers: {
    to: { principal: string; kind: string };
    asked: { question: string };
    answer: { decision?: string };
    outcome: string;
    differs: string[];
    then?: { differs: string[] };
  }[];
}

describe('which answers were given to agents, and would they be different now', () => {
  it('O-13: those of February: one would be different, also for its own time, one was superseded since', async () => {
    const { answers } = await json<Answers>(
      ...['answers', '--from', '2024-02-01', '--to', '2024-03-01', '--kind', 'agent'],
    );
    expect(answers.map((a) => [a.asked.question, a.answer.decision, a.outcome])).toEqual([
      ['log retention', decisions.thirty, 'different'],
      ['database', decisions.sqlite, 'different'],
    ]);
    expect(answers.map((a) => a.to.kind)).toEqual(['agent', 'agent']);
    expect(answers[0]?.differs).toEqual(expect.arrayContaining(['decision', 'value']));
    expect(answers[0]?.then?.differs).toEqual(expect.arrayContaining(['decision', 'value']));
    // For its own time it is the same but for what is now known of its end.
    expect(answers[1]?.then?.differs).toEqual(['validity']);
  });

  it('those of April would be the same; a person’s are told apart from an agent’s', async () => {
    const april = ['answers', '--from', '2024-04-01', '--to', '2024-05-01'];
    const all = await json<Answers>(...april);
    expect(all.counts).toEqual({ same: 3, different: 0, cannot_be_asked_again: 0 });
    expect(
      (await json<Answers>(...april, '--kind', 'person')).answers.map((a) => a.to.principal),
    ).toEqual(['owner']);
    expect((await json<Answers>(...april, '--changed')).answers).toEqual([]);
    expect(await said(...april, '--kind', 'person')).toContain('to owner, person');
  });
});

interface Replayed {
  events: number;
  position: string;
  models: { name: string; tables: { table: string; rows: number; sha256: string }[] }[];
}

const tablesOf = ({ models }: Replayed) => models.flatMap((m) => m.tables);

describe('replay', () => {
  it('P5: gives the tables of the ledger itself, and the same ones in every zone and from an export', async () => {
    const here = await json<Replayed>('replay');
    const db = ReadDatabase.openForReading(join(copy, 'read.sqlite'));
    for (const { table, rows, sha256 } of tablesOf(here))
      expect({ table, ...db.tableDigest(table) }).toEqual({ table, rows, sha256 });
    db.close();
    const zone = await run(['replay', '--json'], {
      TZ: 'Pacific/Kiritimati',
      LC_ALL: 'tr_TR.UTF-8',
    });
    expect(JSON.parse(zone.stdout)).toEqual({
      schema: 'precedent.replay/1',
      ...JSON.parse(JSON.stringify(here)),
    });
    const bundle = join(scratch, 'bundle');
    expect(await run(['export', bundle])).toMatchObject({ code: 0 });
    expect(tablesOf(await json<Replayed>('replay', '--bundle', bundle))).toEqual(tablesOf(here));
    proved('read models rebuilt equal elsewhere', { tables: tablesOf(here).length, different: 0 });
  }, 120_000);

  it('stops at a moment, and leaves read models that know no more', async () => {
    const out = join(scratch, 'march');
    const march = await json<Replayed>('replay', '--to', '2024-03-01', '--out', out);
    const to = await json<Replayed>('replay', '--to', march.position);
    expect(tablesOf(to)).toEqual(tablesOf(march));
    expect(march.events).toBeLessThan((await json<Replayed>('replay')).events);
    const db = ReadDatabase.openForReading(join(out, 'read.sqlite'));
    const ids = db.all('SELECT id FROM claim').map((row) => row['id']);
    db.close();
    expect(ids.sort()).toEqual([decisions.sqlite, decisions.thirty].sort());
    expect(existsSync(join(out, 'read.sqlite.new'))).toBe(false);
    const again = await run(['replay', '--out', out]);
    expect(again).toMatchObject({ code: 2, stdout: '' });
    expect(again.stderr).toContain('error  file_exists');
  });
});

describe('what cannot be read', () => {
  it.each([
    [['as-of', 'x', '--valid', 'yesterday'], 2, 'invalid_time'],
    [['as-of', 'x', '--known', '-5'], 2, 'invalid_time'],
    [['diff', '2024-04-01', '2024-03-01'], 2, 'wrong_order'],
    [['diff', '12', '--valid'], 2, 'invalid_time'],
    [['diff', '0', '--known', '5'], 2, 'unused_option'],
    [['diff', '0', '--workspace', 'other'], 2, 'unknown_workspace'],
    [['diff', '0', '--topic', 'no such topic'], 2, 'invalid_arguments'],
    [['answers', '--from', 'x'], 2, 'invalid_time'],
    [['replay', '--to', 'x'], 2, 'invalid_time'],
    [['as-of', 'x', '--bundle', '/nowhere'], 3, ''],
  ] as const)('%j ends with %i', async (args, code, error) => {
    const ran = await run(args);
    expect({ args, code: ran.code, stdout: ran.stdout }).toEqual({ args, code, stdout: '' });
    expect(ran.stderr).toContain(`error  ${error}`);
  });
});
