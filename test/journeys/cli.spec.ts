import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { precedent, type Ran } from '../support/cli.js';
import { DecisionFolders, record, RECORDS } from '../support/decision-folders.js';
import { startServer, type RunningServer } from '../support/server.js';
import { WRONG_CALLS } from '../support/wrong-calls.js';

let server: RunningServer;
let folders: DecisionFolders;
let adr: string;
/** Everything the command line needs to know: where the data folder is. */
let here: Record<string, string>;

beforeAll(async () => {
  server = await startServer();
  here = { PRECEDENT_DATA: server.dir };
  folders = await DecisionFolders.make();
  adr = await folders.folder('adr', RECORDS);
});
afterAll(async () => {
  await server.stop();
  await rm(server.dir, { recursive: true });
  await folders.remove();
});

const run = (...args: string[]): Promise<Ran> => precedent(args, here);

async function json<T>(...args: string[]): Promise<T> {
  const { code, stdout, stderr } = await run(...args, '--json');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout) as T;
}

interface Result {
  schema: string;
  status: string;
  collection: string;
  counts: { stored: number; skipped: number; queued: number };
  records: { path: string; outcome: string; reason?: string }[];
  findings: { kind: string; documents: string[] }[];
}

/** Of the last event, asked past the command line. */
async function position(): Promise<string> {
  const headers = { authorization: `Bearer ${server.key}` };
  const reply = await fetch(`${server.url}/v1/workspace`, { headers });
  return ((await reply.json()) as { position: string }).position;
}

describe('a folder of decision records', () => {
  it('is looked at with --dry-run, which stores nothing', async () => {
    const before = await position();
    const dry = await json<Result>('ingest', adr, '--dry-run');
    expect(dry).toMatchObject({
      schema: 'precedent.ingestion/1',
      status: 'dry_run',
      collection: 'adr',
      counts: { stored: 3, skipped: 1, queued: 1 },
    });
    const text = await run('ingest', adr, '--dry-run');
    expect(text.stdout).toContain('nothing was stored');
    expect(text.stdout).toMatch(/3 {2}would be stored/);
    expect(await position()).toBe(before);
  });

  it('is ingested with a summary that tells the reason of all that was not simply stored', async () => {
    const { code, stdout, stderr } = await run('ingest', adr);
    expect(stdout).toBe(
      [
        'Ingested 5 documents of "adr"',
        '',
        '     3  stored',
        '     1  skipped',
        '     1  queued for review',
        '',
        'Skipped',
        '  a readme',
        '    README.md',
        '',
        'Queued for review',
        '  its status is proposed',
        '    later/0004-use-kafka.md',
        '',
      ].join('\n'),
    );
    // No progress, no notes and no colour where nobody watches.
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  it('is skipped when it comes again', async () => {
    const again = await json<Result>('ingest', adr);
    expect(again.counts).toEqual({ stored: 0, skipped: 5, queued: 0 });
    expect(again.records.map((r) => r.path)).toEqual([
      '0001-use-sqlite.md',
      '0002-log-retention.markdown',
      '0003-use-postgresql.md',
      'README.md',
      'later/0004-use-kafka.md',
    ]);
  });

  it('gives the same job for the same --request-id', async () => {
    const first = await json<{ job_id: string }>('ingest', adr, '--request-id', 'once');
    const second = await json<{ job_id: string }>('ingest', adr, '--request-id', 'once');
    expect(second.job_id).toBe(first.job_id);
    const other = await run('ingest', adr, '--request-id', 'once', '--collection', 'other');
    expect(other).toMatchObject({ code: 1, stdout: '' });
    expect(other.stderr).toContain('error  request_id_conflict');
  });

  it('shows findings by kind, with the documents', async () => {
    const fork = await folders.folder('fork', {
      ...RECORDS,
      '0005-use-mongodb.md': record(
        '5. Use MongoDB',
        '2024-09-01',
        'Accepted\n\nSupersedes [1. Use SQLite](0001-use-sqlite.md)',
        'We will use MongoDB.',
      ),
    });
    const { stdout } = await run('ingest', fork, '--dry-run');
    expect(stdout).toContain(
      '\n  fork\n    0001-use-sqlite.md, 0003-use-postgresql.md, 0005-use-mongodb.md\n      0001-use-sqlite.md is superseded by',
    );
  });

  it('is read without hidden folders, node_modules and symbolic links', async () => {
    const mixed = await folders.folder('mixed', {
      'one.md': RECORDS['0002-log-retention.markdown'] ?? '',
    });
    const broken = Buffer.from([0xff]);
    for (const below of ['.hidden', 'node_modules', 'later/node_modules']) {
      await mkdir(join(mixed, below), { recursive: true });
      await writeFile(join(mixed, below, 'x.md'), broken);
    }
    await writeFile(join(mixed, 'image.png'), broken);
    await symlink(join(mixed, '.hidden', 'x.md'), join(mixed, 'link.md'));
    const dry = await json<Result>('ingest', mixed, '--dry-run');
    expect(dry.records.map((r) => r.path)).toEqual(['one.md']);
  });
});

describe('what is decided', () => {
  it('is told with its date, its approver, its source and what it replaced', async () => {
    const { code, stdout } = await run('ask', 'Use PostgreSQL?');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Current {2}Use PostgreSQL\n/);
    expect(stdout).toMatch(/in force +since 2024-03-01\n/);
    expect(stdout).toMatch(/approved +by owner, \d{4}-\d\d-\d\d \d\d:\d\d UTC\n/);
    expect(stdout).toContain('│ We will run PostgreSQL for all services.\n    from Use PostgreSQL');
    expect(stdout).toContain(
      'No longer in force\n  Use SQLite\n    2023-01-10 to 2024-03-01, superseded by Use PostgreSQL\n',
    );
  });

  it('is told for another date', async () => {
    const answer = await json<{ schema: string; decision: { statement: string } }>(
      ...['ask', 'Use PostgreSQL', '--as-of', '2023-06-01'],
    );
    expect(answer.schema).toBe('precedent.answer/1');
    expect(answer.decision.statement).toBe('Use SQLite');
  });

  it('is suggested where no topic is named', async () => {
    const { code, stdout } = await run('ask', 'Where do we keep thirty days of logs?');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Unknown {2}/);
    expect(stdout).toContain('Did you mean\n  Keep logs for thirty days  adr-0002-log-retention\n');
  });

  it('has a history', async () => {
    const { stdout } = await run('history', 'Use SQLite');
    const kinds = [...stdout.matchAll(/UTC {2}(\w+) +Use (\w+)/g)].map((m) => `${m[1]} ${m[2]}`);
    expect(kinds).toEqual([
      'proposed SQLite',
      'approved SQLite',
      'proposed PostgreSQL',
      'approved PostgreSQL',
      'superseded SQLite',
    ]);
    expect((await run('history', 'Nothing of it')).stdout).toContain('No topic bears this name.');
  });

  it('B19: is listed by when it was decided', async () => {
    const decided = async (...args: string[]): Promise<string[]> =>
      (await json<{ decisions: { statement: string }[] }>('decisions', ...args)).decisions.map(
        ({ statement }) => statement,
      );
    expect(await decided('--since', '2024-01-01')).toEqual(['Use PostgreSQL']);
    expect(await decided('--until', '2024-01-01', '--ended')).toEqual([
      'Keep logs for thirty days',
      'Use SQLite',
    ]);
    const shown = await run('decisions', '--since', 'yesterday');
    expect(shown.stdout).toMatch(
      /^0 decisions made since .* 00:00 UTC and before .* 00:00 UTC\ndays are those of UTC\n$/,
    );
    expect(await run('decisions', '--since', 'soon')).toMatchObject({ code: 1, stdout: '' });
    const timeline = async (...args: string[]): Promise<string> =>
      (await run('history', 'Use PostgreSQL', ...args)).stdout.split('Timeline')[1] ?? '';
    expect(await timeline('--until', '2024-01-01')).toMatch(/approved +Use SQLite/);
    expect(await timeline('--until', '2024-01-01')).not.toMatch(/approved +Use PostgreSQL/);
    const { stdout } = await run('history', 'Use PostgreSQL', '--until', '2000-01-01');
    expect(stdout).toContain('in the window asked for');
  });

  it('changes by a review, once', async () => {
    const { items } = await json<{ items: { id: string; content_hash: string }[] }>('pending');
    const [kafka] = items;
    expect(items).toHaveLength(1);
    const approve = ['review', kafka?.id ?? '', 'approve', '--reason', 'agreed'];
    const stale = await run(...approve, '--content-hash', '0'.repeat(64));
    expect(stale).toMatchObject({ code: 1, stdout: '' });
    const done = await run(...approve, '--content-hash', kafka?.content_hash ?? '');
    expect(done.stdout).toContain('is now approved\n');
    const twice = await run(...approve, '--json');
    expect(twice.code).toBe(1);
    expect(JSON.parse(twice.stdout)).toMatchObject({
      schema: 'precedent.problem/1',
      error: 'already_decided',
    });
    expect((await run('pending')).stdout).toBe('Nothing awaits a review.\n');
    expect((await run('ask', 'Use Kafka')).stdout).toMatch(/^Current {2}Use Kafka\n/);
  });

  it('is shown without a character that hides or moves', async () => {
    const unseen = ['\u001b', '\u200b', '\u202c', '\u202e'];
    const title = 'Use \u202eevil\u202c tools';
    const tricky = await folders.folder('tricky', {
      'a.md': record(`1. ${title}`, '2024-01-01', 'Accepted', 'We \u001b[31mpaint\u200b it.'),
    });
    await json<Result>('ingest', tricky);
    const asked = ['ask', 'tricky', '--topic', title];
    for (const args of [asked, [...asked, '--json'], ['history', title], ['pending']]) {
      const { stdout } = await run(...args);
      expect(unseen.filter((character) => stdout.includes(character))).toEqual([]);
    }
    expect((await run(...asked)).stdout).toContain('Use \\u{202e}evil\\u{202c} tools');
  });
});

describe('a wrong call', () => {
  it.each(WRONG_CALLS)('$what: exit code $code, nothing stored', async (wrong) => {
    const before = await position();
    const args = await wrong.args(folders);
    const { code, stdout, stderr } = await precedent(args, { ...here, ...wrong.env });
    expect({ code, stdout }).toEqual({ code: wrong.code, stdout: '' });
    for (const words of wrong.says) expect(stderr).toMatch(words);
    expect(await position()).toBe(before);
  });

  it('is a problem on stdout too with --json', async () => {
    const { code, stdout } = await run('ingest', folders.at('nowhere'), '--json');
    expect(code).toBe(2);
    expect(JSON.parse(stdout)).toMatchObject({
      schema: 'precedent.problem/1',
      error: 'no_such_folder',
      issues: [],
    });
  });

  it('is none: --help and --version', async () => {
    const help = await run('ingest', '--help');
    expect(help).toMatchObject({ code: 0, stderr: '' });
    expect(help.stdout).toContain('Examples:\n  precedent ingest docs/adr --dry-run');
    expect(await run('--version')).toEqual({
      code: 0,
      stderr: '',
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    });
  });
});
