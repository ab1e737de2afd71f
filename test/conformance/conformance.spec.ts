import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { FastifyInstance } from 'fastify';
import { conformanceServer } from '../support/mcp-conformance.js';

// The protocol's own suite, against the product's edge, mount and perimeter. Needs no network.

const CLI = join(
  dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json')),
  'dist/index.js',
);
const expectedIn = (revision: string) => `test/conformance/expected-${revision}.yaml`;

/** The suite counts a warning as a failure. */
const FAILS = new Set(['FAILURE', 'WARNING']);

interface Check {
  id: string;
  status: string;
}

let app: FastifyInstance;
let url: string;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'precedent-conformance-'));
  ({ app, url } = await conformanceServer());
});
afterAll(async () => {
  await app.close();
  rmSync(folder, { recursive: true });
});

async function run(revision: string): Promise<{ code: number | null; said: string }> {
  const args = ['server', '--url', url, '--requirements', revision];
  const files = ['--expected-failures', expectedIn(revision), '-o', join(folder, revision)];
  const child = spawn(process.execPath, [CLI, ...args, ...files]);
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return { code, said };
}

/** By scenario, the checks of a run. */
function checksOf(revision: string): Map<string, Check[]> {
  const runs = readdirSync(join(folder, revision)).map((name) => {
    const scenario = /^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(name)?.[1] ?? name;
    const text = readFileSync(join(folder, revision, name, 'checks.json'), 'utf8');
    return [scenario, JSON.parse(text) as Check[]] as const;
  });
  return new Map(runs);
}

function table(revision: string, expected: ReadonlySet<string>): string {
  const lines = [...checksOf(revision)].map(([scenario, checks]) => {
    const passed = checks.filter(({ status }) => status === 'SUCCESS').length;
    const failed = checks.filter(({ status }) => FAILS.has(status)).length;
    const known = checks.filter(({ id }) => expected.has(`${scenario}:${id}`)).length;
    const row = [passed, failed, known].map((n) => String(n).padStart(4));
    return `${scenario.padEnd(48)}${row.join('')}`;
  });
  return [`${revision.padEnd(44)}passed failed listed`, ...lines, ''].join('\n');
}

describe.each(['2026-07-28', '2025-11-25'])('the conformance suite for %s', (revision) => {
  const text = readFileSync(expectedIn(revision), 'utf8');
  const entries = [...text.matchAll(/^ {2}(#.+)\n {2}- (.+)$/gm)];

  it('every listed failure has a reason', () => {
    expect(entries.length).toBe([...text.matchAll(/^ {2}- /gm)].length);
    for (const [, reason = ''] of entries) expect(reason.length).toBeGreaterThan(15);
  });

  it('passes but for what is listed, and all that is listed fails', async () => {
    const { code, said } = await run(revision);
    const expected = new Set(entries.map(([, , entry = '']) => entry));
    process.stdout.write(`${table(revision, expected)}\n`);
    if (code !== 0) process.stdout.write(said.slice(said.indexOf('=== SUMMARY ===')));
    expect(code).toBe(0);
    const failed = [...checksOf(revision)].flatMap(([scenario, checks]) =>
      checks.filter((c) => FAILS.has(c.status)).map((c) => `${scenario}:${c.id}`),
    );
    for (const entry of expected) expect(failed).toContain(entry);
    // Scenarios that score: what is not an extension, later than the revision or pending.
    expect(checksOf(revision).size).toBeGreaterThan(30);
  }, 240_000);
});
