import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { precedent, type Ran } from '../support/cli.js';
import { CORPORA, hasCorpora } from '../support/corpora.js';
import { outcomes, type Read } from '../support/evaluation.js';
import { startServer, type RunningServer } from '../support/server.js';

const EXAMPLE = resolve('examples/evaluation/alphagov-forms.json');

let server: RunningServer;
let scratch: string;
beforeAll(async () => {
  server = await startServer();
  scratch = await mkdtemp(join(tmpdir(), 'precedent-eval-'));
});
afterAll(async () => {
  await server.stop();
  await rm(server.dir, { recursive: true });
  await rm(scratch, { recursive: true });
});

const run = (...args: string[]): Promise<Ran> => precedent(args, { PRECEDENT_DATA: server.dir });
const evaluate = (...args: string[]): Promise<Ran> => run('eval', ...args);
const parsed = ({ stdout }: Ran): unknown => JSON.parse(stdout);

async function file(name: string, content: unknown): Promise<string> {
  const path = join(scratch, name);
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

describe('precedent eval', () => {
  const SET = { name: 'Lunch', cases: [{ question: 'lunch', expect: { state: 'unknown' } }] };
  let id: string;
  let hash: string;

  it('O-40 to O-52: prepare, show, review, run, compare, export, each a command of its own', async () => {
    const set = await file('lunch.json', SET);
    const prepared = await evaluate('prepare', set, '--json');
    const receipt = parsed(prepared) as {
      schema: string;
      dataset_id: string;
      dataset_hash: string;
    };
    ({ dataset_id: id, dataset_hash: hash } = receipt);
    expect([prepared.code, receipt.schema]).toEqual([0, 'precedent.eval-dataset/1']);
    const draft = await evaluate('run', set);
    expect([draft.code, draft.stderr]).toEqual([
      1,
      expect.stringContaining('dataset_not_approved'),
    ]);
    const shown = await evaluate('show', id);
    for (const part of ['draft', 'Lunch', '1. lunch', 'expects', hash])
      expect(shown.stdout).toContain(part);
    const approved = await evaluate('review', id, 'approve', '--hash', hash, '--reason', 'read');
    expect(approved.stdout).toContain('approved');

    const passed = await evaluate('run', id);
    expect([passed.code, passed.stderr]).toEqual([0, '']);
    expect(passed.stdout).toContain('1 of 1 case as expected');
    expect(passed.stdout).toContain('1 passed, 0 failed; 4 had nothing to measure');
    const folder = join(scratch, 'minutes');
    const text = '# Minutes\n\nPlain words.\n';
    await run('ingest', await folderOf(folder, { 'a.md': text }));
    const exported = await evaluate('export', id);
    const lines = exported.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect(lines).toMatchObject([
      { purpose: 'evaluation_only', dataset_id: id },
      { purpose: 'evaluation_only', ...SET.cases[0] },
    ]);
    expect((await evaluate()).stdout).toContain('1 dataset');
  });

  it('O-50: exit code 1 when a check failed or got worse, so that it fits into CI', async () => {
    const adr =
      '# 1. Lunch\n\nDate: 2024-01-01\n\n## Status\n\nAccepted\n\n## Decision\n\nLunch is at noon.\n';
    const before = parsed(await evaluate('run', id, '--json')) as Read;
    expect(
      (await run('ingest', await folderOf(join(scratch, 'adr'), { '0001-lunch.md': adr }))).code,
    ).toBe(0);
    const failed = await evaluate('run', await file('same.json', SET));
    expect([failed.code, failed.stderr]).toEqual([1, expect.stringContaining('checks_failed')]);
    expect(failed.stdout).toMatch(
      /fail {2}1\. lunch\n.*state +it is verified\n.*observed +verified: /,
    );
    const after = (parsed(await evaluate('show', id, '--json')) as Read).runs?.[0]?.run_id ?? '';
    const earlier = before.run?.run_id ?? '';
    const worse = await evaluate('compare', earlier, after);
    expect([worse.code, worse.stderr]).toEqual([1, expect.stringContaining('checks_got_worse')]);
    expect(worse.stdout).toContain('state pass → fail');
    expect((await evaluate('compare', after, earlier)).code).toBe(0);
    const retired = await evaluate('review', id, 'retire', '--hash', hash, '--reason', 'old');
    expect(retired.stdout).toContain('retired');
    expect((await evaluate('export', id)).stderr).toContain('dataset_retired');
  });

  it('says what is wrong with files and arguments before anything is sent', async () => {
    const broken = await evaluate('prepare', await file('x.json', '{'));
    expect([broken.code, broken.stderr]).toEqual([2, expect.stringContaining('invalid_json')]);
    expect((await evaluate('prepare', await file('y.json', '3'))).code).toBe(2);
    expect((await evaluate('run', join(scratch, 'none.json'))).code).toBe(2);
    expect((await evaluate('run', id, '--approve', 'read')).code).toBe(2);
    expect((await evaluate('review', id, 'approve', '--reason', 'read')).code).toBe(2);
    const strange = await evaluate('prepare', await file('z.json', { ...SET, case: [] }));
    expect([strange.code, strange.stderr]).toEqual([1, expect.stringContaining('case')]);
  });
});

(hasCorpora ? it : it.skip)(
  'the example dataset passes over the folder of the quick start, in one command',
  async () => {
    const folder = join(CORPORA, 'adr', 'alphagov__forms');
    expect((await run('ingest', folder)).code).toBe(0);
    const ran = await evaluate('run', EXAMPLE, '--approve', 'I read its cases', '--json');
    const { run: of, results } = parsed(ran) as Read;
    expect([outcomes(results).filter((one) => one.includes('f')), ran.code]).toEqual([[], 0]);
    process.stdout.write(`example dataset: ${JSON.stringify(of?.summary)}\n`);
  },
);

async function folderOf(folder: string, files: Readonly<Record<string, string>>): Promise<string> {
  await mkdir(folder, { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  return folder;
}
