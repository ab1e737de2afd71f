import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { precedent, type Ran } from '../support/cli.js';
import { startServer, type RunningServer } from '../support/server.js';

let server: RunningServer;
let scratch: string;
beforeAll(async () => {
  server = await startServer();
  scratch = await mkdtemp(join(tmpdir(), 'precedent-ontology-'));
});
afterAll(async () => {
  await server.stop();
  await rm(server.dir, { recursive: true });
  await rm(scratch, { recursive: true });
});

const ontology = (...args: string[]): Promise<Ran> =>
  precedent(['ontology', ...args], { PRECEDENT_DATA: server.dir });

async function file(name: string, text: string): Promise<string> {
  const path = join(scratch, name);
  await writeFile(path, text);
  return path;
}

it('O-34 to O-36: start, look, approve, propose, roll back, each a command of its own', async () => {
  const none = await ontology();
  expect([none.code, none.stdout]).toEqual([0, expect.stringContaining('No ontology is active')]);
  const description = await file('o.md', '# Topics\n- Terms (aliases: net days)\n');
  const started = await ontology('start', description, '--json');
  const proposal = JSON.parse(started.stdout) as { schema: string; content_hash: string };
  expect([started.code, proposal.schema]).toEqual([0, 'precedent.ontology-proposal/1']);
  const waiting = await ontology();
  expect(waiting.stdout).toContain(proposal.content_hash);
  expect(waiting.stdout).toContain('added    topic terms: aliases: net days; name: Terms');

  const wrong = await ontology('approve', 'ontology-1', '--content-hash', 'x');
  expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('stale_revision')]);
  const approved = await ontology('approve', 'ontology-1', '--content-hash', proposal.content_hash);
  expect(approved.stdout).toContain('ontology-1 is approved: version 1 is active');

  const change = await file(
    'c.json',
    '[{"op": "rename_topic", "topic": "net days", "name": "Payment terms"}]',
  );
  const changed = await ontology('propose', change, '--reason', 'clearer', '--json');
  const { content_hash } = JSON.parse(changed.stdout) as { content_hash: string };
  expect((await ontology('approve', 'ontology-2', '--content-hash', content_hash)).code).toBe(0);
  const back = await ontology('rollback', '1', '--reason', 'too early');
  expect(back.stdout).toContain('changed  topic terms, name: Payment terms → Terms');
  const rejected = await ontology('reject', 'ontology-3', '--reason', 'no');
  expect(rejected.stdout).toContain('ontology-3 is rejected');
  expect((await ontology('1')).stdout).toContain('Ontology, version 1 (past; 2 is active)');
});

it('says what is wrong with files and arguments before anything is sent', async () => {
  const broken = await ontology('propose', await file('x.json', '{'));
  expect([broken.code, broken.stderr]).toEqual([2, expect.stringContaining('invalid_json')]);
  expect((await ontology('start', join(scratch, 'none.md'))).code).toBe(2);
  expect((await ontology('approve', 'ontology-1')).code).toBe(2);
  expect((await ontology('rollback', 'one')).code).toBe(2);
});
