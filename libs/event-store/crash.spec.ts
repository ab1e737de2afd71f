import { afterAll, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { threadOf } from '#kernel/thread.js';
import { log } from './conformance-support.js';
import type { RecordedEvent } from './event-store.js';
import { openForWriting, pragma } from './sqlite-file.js';
import { openSqliteReader, openSqliteStore } from './sqlite.js';
import { proved } from '../../test/support/proved.js';

const CYCLES = 20;
const dir = mkdtempSync(join(tmpdir(), 'ledger-crash-'));
afterAll(() => {
  rmSync(dir, { recursive: true });
});

/** Runs the writer, kills it at a random moment after its first acknowledgement, and returns all that it acknowledged. */
async function crash(): Promise<[id: string, position: number][]> {
  const { url, execArgv } = threadOf(import.meta.url, '../../test/support/crash-writer');
  const child = spawn(process.execPath, [...execArgv, fileURLToPath(url), dir], {
    env: { ...process.env, NODE_OPTIONS: '' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    if (output === '') setTimeout(() => child.kill('SIGKILL'), randomInt(1, 300));
    output += text;
  });
  const signal = await new Promise((resolve) => child.once('close', (_, name) => resolve(name)));
  expect(signal).toBe('SIGKILL');
  const lines = output.slice(0, output.lastIndexOf('\n')).split('\n');
  return lines.map((line) => {
    const [id = '', position] = line.split(' ');
    return [id, Number(position)];
  });
}

function assertWhole(events: readonly RecordedEvent[], acknowledged: Map<string, number>): void {
  const revisions = new Map<string, number>();
  const stored = new Map<string, number>();
  for (const [i, { position, stream, revision, id }] of events.entries()) {
    if (position !== i + 1) throw new Error(`position ${position} stands where ${i + 1} should`);
    if (revision !== (revisions.get(stream) ?? -1) + 1)
      throw new Error(`${stream}: revision ${revision} after ${revisions.get(stream)}`);
    revisions.set(stream, revision);
    stored.set(id, position);
  }
  const lost = [...acknowledged].filter(([id, position]) => stored.get(id) !== position);
  expect(lost).toEqual([]);
}

it(`P1 P6: ${CYCLES} times kill -9 under eight writers: nothing acknowledged is lost, nothing needs repair`, async () => {
  const acknowledged = new Map<string, number>();
  for (let cycle = 0; cycle < CYCLES; cycle++) {
    for (const [id, position] of await crash()) acknowledged.set(id, position);
    // The dead ledger as the CLI reads it; the next writer then opens it to go on.
    const reader = openSqliteReader(dir);
    assertWhole(await log(reader), acknowledged);
    await reader.close();
  }
  const store = await openSqliteStore(dir, { clock: Date.now });
  assertWhole(await log(store), acknowledged);
  await store.close();
  const db = openForWriting(dir);
  expect(pragma(db, 'integrity_check')).toBe('ok');
  db.close();
  proved('kill -9 under the store', {
    'crash cycles': CYCLES,
    acknowledged: acknowledged.size,
    lost: 0,
  });
}, 180_000);
