import { mkdir, mkdtemp, open, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { precedent, type Ran } from '../support/cli.js';
import { startServer, type RunningServer } from '../support/server.js';

const record = (title: string, date: string, status: string, decision: string): string =>
  `# ${title}\n\nDate: ${date}\n\n## Status\n\n${status}\n\n## Context\n\nWe had to.\n\n## Decision\n\n${decision}\n`;

const RECORDS: Readonly<Record<string, string>> = {
  '0001-use-sqlite.md': record(
    '1. Use SQLite',
    '2023-01-10',
    'Superseded by [3. Use PostgreSQL](0003-use-postgresql.md)',
    'We will keep all data in one SQLite file.',
  ),
  '0002-log-retention.markdown': record(
    '2. Keep logs for thirty days',
    '2023-02-01',
    'Accepted',
    'We will keep logs for thirty days.',
  ),
  '0003-use-postgresql.md': record(
    '3. Use PostgreSQL',
    '2024-03-01',
    'Accepted\n\nSupersedes [1. Use SQLite](0001-use-sqlite.md)',
    'We will run PostgreSQL for all services.',
  ),
  'later/0004-use-kafka.md': record(
    '4. Use Kafka',
    '2024-05-01',
    'Proposed',
    'We will use Kafka for events.',
  ),
  'README.md': '# Decisions\n\nHere we keep them.\n',
};

/** Reserved, and not among the ports that `fetch` refuses itself. */
const NOBODY = 'http://127.0.0.1:59';

let server: RunningServer;
let scratch: string;
let adr: string;
/** Everything the command line needs to know: where the data folder is. */
let here: Record<string, string>;

beforeAll(async () => {
  server = await startServer();
  here = { PRECEDENT_DATA: server.dir };
  scratch = await mkdtemp(join(tmpdir(), 'precedent-cli-'));
  adr = await folder('adr', RECORDS);
});
afterAll(async () => {
  await server.stop();
  await rm(server.dir, { recursive: true });
  await rm(scratch, { recursive: true });
});

async function folder(name: string, files: Readonly<Record<string, string | Buffer>>) {
  const dir = join(scratch, name);
  await mkdir(join(dir, 'later'), { recursive: true });
  for (const [path, content] of Object.entries(files)) await writeFile(join(dir, path), content);
  return dir;
}

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
    const fork = await folder('fork', {
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
    const mixed = await folder('mixed', { 'one.md': RECORDS['0002-log-retention.markdown'] ?? '' });
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
    const tricky = await folder('tricky', {
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
  interface Wrong {
    what: string;
    args: () => Promise<string[]> | string[];
    env?: Record<string, string>;
    code: number;
    says: (string | RegExp)[];
  }

  const huge = async (): Promise<string> => {
    const dir = await folder('huge', RECORDS);
    const file = await open(join(dir, 'later', 'huge.md'), 'w');
    await file.truncate(50_000_000);
    await file.close();
    return dir;
  };

  const broken = (): Promise<string> =>
    folder('broken', {
      ...RECORDS,
      'fine.md': 'An honest \ufffd.',
      'later/latin1.md': Buffer.from('Entscheidung f\u00fcr', 'latin1'),
    });

  const cases: Wrong[] = [
    {
      what: 'broken UTF-8',
      args: async () => ['ingest', await broken()],
      code: 2,
      says: ['later/latin1.md is not UTF-8 at byte 14', 'error  invalid_encoding', 'fix'],
    },
    {
      what: 'a file of 50 MB',
      args: async () => ['ingest', await huge()],
      code: 2,
      says: ['later/huge.md has 50000000 bytes; at most 2000000', 'error  text_too_large', 'fix'],
    },
    {
      what: 'an empty folder',
      args: async () => ['ingest', await folder('empty', {})],
      code: 2,
      says: ['holds no Markdown', 'error  no_documents', 'fix'],
    },
    {
      what: 'a missing folder',
      args: () => ['ingest', join(scratch, 'nowhere')],
      code: 2,
      says: ['does not exist', 'error  no_such_folder', 'fix'],
    },
    {
      what: 'a file for a folder',
      args: () => ['ingest', join(adr, 'README.md')],
      code: 2,
      says: ['is not a folder', 'error  not_a_folder', 'fix'],
    },
    {
      what: 'a wrong key',
      args: () => ['ingest', adr],
      env: { PRECEDENT_KEY: 'prec_AAAAAAAA_wrongwrongwrongwrongwrongwrong00' },
      code: 5,
      says: ['no valid credential', 'error  unauthenticated', 'the key came from PRECEDENT_KEY'],
    },
    {
      what: 'a wrong key over MCP',
      args: () => ['ask', 'Use PostgreSQL'],
      env: { PRECEDENT_KEY: 'wrong' },
      code: 5,
      says: ['no valid credential', 'error  unauthenticated', 'the key came from PRECEDENT_KEY'],
    },
    {
      what: 'no server there',
      args: () => ['ingest', adr],
      env: { PRECEDENT_URL: NOBODY, PRECEDENT_KEY: 'any' },
      code: 3,
      says: [`no server answers at ${NOBODY}`, 'error  unreachable', 'npm start'],
    },
    {
      what: 'no server there over MCP',
      args: () => ['ask', 'Use PostgreSQL'],
      env: { PRECEDENT_URL: NOBODY, PRECEDENT_KEY: 'any' },
      code: 3,
      says: [`no server answers at ${NOBODY}`, 'error  unreachable', 'npm start'],
    },
    {
      what: 'no server known',
      args: () => ['context'],
      env: { PRECEDENT_DATA: '/nowhere' },
      code: 3,
      says: ['no server is known', '/nowhere/client.json', 'npm start'],
    },
    {
      what: 'the key of this server for another',
      args: () => ['context'],
      env: { PRECEDENT_URL: 'http://localhost:59' },
      code: 5,
      says: ['there is no key for http://localhost:59', 'PRECEDENT_KEY'],
    },
    {
      what: 'a key that cannot be one',
      args: () => ['context'],
      env: { PRECEDENT_KEY: 'prec_ä' },
      code: 2,
      says: ['characters that no key has', 'path   PRECEDENT_KEY'],
    },
    {
      what: 'an address that is none',
      args: () => ['context'],
      env: { PRECEDENT_URL: 'localhost:4600' },
      code: 2,
      says: ['"localhost:4600" is no address', 'path   PRECEDENT_URL', 'http://127.0.0.1:4600'],
    },
    {
      what: 'an unknown setting',
      args: () => ['context'],
      env: { PRECEDENT_COLOR: 'yes' },
      code: 2,
      says: ['PRECEDENT_COLOR is no setting', 'error  invalid_settings'],
    },
    {
      what: 'an unknown option',
      args: () => ['ingest', adr, '--colection', 'x'],
      code: 2,
      says: ["unknown option '--colection'", '--collection', 'see precedent ingest --help'],
    },
    {
      what: 'an unknown action',
      args: () => ['review', 'x', 'frobnicate', '--reason', 'x'],
      code: 2,
      says: ['approve, reject, revoke, retract', 'see precedent review --help'],
    },
    {
      what: 'a scope without a value',
      args: () => ['ask', 'Use PostgreSQL', '--scope', 'region'],
      code: 2,
      says: ['Give it as key=value'],
    },
    {
      what: 'a question that says nothing',
      args: () => ['ask', ' '],
      code: 2,
      says: ['It is empty'],
    },
    {
      what: 'no verb',
      args: () => [],
      code: 2,
      says: ['Usage: precedent', 'a command is missing'],
    },
    {
      what: 'a date that the server refuses',
      args: () => ['ask', 'Use PostgreSQL', '--as-of', 'yesterday'],
      code: 1,
      says: ['error  invalid_arguments', 'path   as_of', 'fix'],
    },
    {
      what: 'a document that the server refuses',
      args: () => ['ingest', adr, '--collection', 'x'.repeat(101)],
      code: 1,
      says: ['error  invalid_arguments', 'path   collection'],
    },
  ];

  it.each(cases)('$what: exit code $code, nothing stored', async (wrong) => {
    const before = await position();
    const args = await wrong.args();
    const { code, stdout, stderr } = await precedent(args, { ...here, ...wrong.env });
    expect({ code, stdout }).toEqual({ code: wrong.code, stdout: '' });
    for (const words of wrong.says) expect(stderr).toMatch(words);
    expect(await position()).toBe(before);
  });

  it('is a problem on stdout too with --json', async () => {
    const { code, stdout } = await run('ingest', join(scratch, 'nowhere'), '--json');
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
