import { expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { threadOf } from '#kernel/thread.js';
import { openForWriting, pragma } from '#event-store/sqlite-file.js';
import { openSqliteStore, type SqliteStore } from '#event-store/sqlite.js';
import type { RecordedEvent } from '#event-store/event-store.js';
import { appendAll, eventsOf, STREAMS, total, type Told, type Work } from './fault-appends.js';

export const works = (command: string, ...args: string[]): boolean =>
  spawnSync(command, args).status === 0;

/** `it` where the machine can do what the test needs, else one loud line and a skipped test. */
export function itWith(able: boolean, what: string): typeof it | typeof it.skip {
  if (able) return it;
  process.stderr.write(`SKIPPED fault test: it needs ${what}\n`);
  return it.skip;
}

export const canTrace = works('strace', '-f', '-qq', '-o', '/dev/null', 'true');
export const canMount = works('unshare', '-m', 'mount', '-t', 'tmpfs', 'tmpfs', tmpdir());

const folders: string[] = [];
process.once('exit', cleanUp);

/** Where a sync costs nothing: enough for faults of the process, whose file system lives on. */
export const MEMORY = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

/** A folder that `cleanUp` removes, with what is mounted on it. */
export function folder(parent = tmpdir()): string {
  const dir = mkdtempSync(join(parent, 'precedent-fault-'));
  folders.push(dir);
  return dir;
}

export function mounted(dir: string, ...how: string[]): void {
  const { status, stderr } = spawnSync('mount', [...how, dir], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`mount ${how.join(' ')}: ${stderr}`);
}

export function unmount(dir: string): void {
  // A process that is being killed may hold it a moment longer.
  const { stderr } = spawnSync('bash', [
    '-c',
    'for i in {1..200}; do umount "$1" && exit 0; sleep 0.05; done; exit 1',
    '-',
    dir,
  ]);
  if (works('mountpoint', '-q', dir)) throw new Error(`cannot unmount ${dir}: ${String(stderr)}`);
}

export function cleanUp(): void {
  for (const dir of folders.splice(0)) {
    if (process.getuid?.() === 0 && works('mountpoint', '-q', dir)) works('umount', '-l', dir);
    rmSync(dir, { recursive: true, force: true });
  }
}

/** A line of `fault-run.ts`. */
export type Line =
  Told | { kind: 'opened' } | { kind: 'read'; events: number } | { kind: 'closed' };

export interface Run {
  lines: Line[];
  signal: NodeJS.Signals | null;
  code: number | null;
}

const { url, execArgv } = threadOf(import.meta.url, './fault-run');
export const node = (dir: string, work: Work): string[] => [
  process.execPath,
  ...execArgv,
  fileURLToPath(url),
  dir,
  JSON.stringify(work),
];

/** The whole work in a process of its own, under `wrap`; a failure to open is in its stderr and an outcome like any other. */
export function runWork(wrap: readonly string[], dir: string, work: Work): Run {
  const [command = '', ...args] = [...wrap, ...node(dir, work)];
  const { stdout, signal, status } = spawnSync(command, args, {
    env: { ...process.env, NODE_OPTIONS: '' },
    encoding: 'utf8',
    maxBuffer: 1 << 28,
    timeout: 60_000,
    killSignal: 'SIGTERM',
  });
  return { lines: parse(stdout), signal, code: status };
}

/** Whole lines only: a kill may cut the last one. */
export function parse(stdout: string): Line[] {
  const lines = stdout.slice(0, stdout.lastIndexOf('\n') + 1).split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Line);
}

export function strace(log: string, calls: string, inject?: string): string[] {
  const fault = inject === undefined ? [] : ['-e', `inject=${calls}:${inject}`];
  return ['strace', '-f', '-qq', '-o', log, '-e', `trace=${calls}`, ...fault];
}

/** Calls of the thread that made the most of them, in a log of `strace`, which counts N in each thread. */
export function callsOf(log: string, call: string): number {
  const counts = new Map<string, number>();
  for (const line of readFileSync(log, 'utf8').split('\n')) {
    const [, thread = '', name] = /^(\d+) +(\w+)\(/.exec(line) ?? [];
    if (name === call) counts.set(thread, (counts.get(thread) ?? 0) + 1);
  }
  return Math.max(0, ...counts.values());
}

/** `count` whole numbers from `min` to `max`, evenly spread. */
export function spread(min: number, max: number, count: number): number[] {
  const step = (max - min) / Math.max(1, count - 1);
  return [...new Set(Array.from({ length: count }, (_, i) => Math.round(min + i * step)))];
}

export const acks = (lines: readonly Line[]) => lines.filter((line) => line.kind === 'ack');

/**
 * P1 P7: opens what a fault left behind, without any repair, and does the whole work once more with the same ids. All that was
 * acknowledged must be there at once, where the acknowledgement said; after it each append is stored once and whole.
 */
export async function settle(dir: string, work: Work, told: readonly Line[]): Promise<void> {
  const store = await openSqliteStore(dir, { clock: Date.now });
  try {
    await settleOn(store, work, told);
  } finally {
    await store.close();
  }
  const db = openForWriting(dir);
  expect(pragma(db, 'integrity_check')).toBe('ok');
  db.close();
  rmSync(dir, { recursive: true });
}

async function settleOn(store: SqliteStore, work: Work, told: readonly Line[]): Promise<void> {
  const left = await whole(store);
  expectAcknowledged(left, work, told);
  for (const line of told)
    if (line.kind === 'blob') expect(await store.getBlob(line.hash)).toBeDefined();
  const again: Told[] = [];
  await appendAll(store, work, (line) => again.push(line));
  expect(again.filter((line) => line.kind === 'no')).toEqual([]);
  const log = await whole(store);
  expect(log).toHaveLength(total(work));
  expect(log.slice(0, left.length)).toEqual(left);
  expectAcknowledged(log, work, [...told, ...again]);
}

/** The log: no gap in positions and revisions, no id twice, no append half there, time never going back. */
async function whole(store: SqliteStore): Promise<RecordedEvent[]> {
  const log: RecordedEvent[] = [];
  const options = { signal: new AbortController().signal, live: false };
  for await (const batch of store.follow(0, options)) log.push(...batch);
  expectWhole(log);
  return log;
}

export function expectWhole(log: readonly RecordedEvent[]): void {
  const revisions = new Map<string, number>();
  const ids = new Set<string>();
  let time = '';
  for (const [i, { position, stream, revision, id, recordedAt }] of log.entries()) {
    if (position !== i + 1) throw new Error(`position ${position} stands where ${i + 1} should`);
    if (revision !== (revisions.get(stream) ?? -1) + 1)
      throw new Error(`${stream}: revision ${revision} after ${revisions.get(stream)}`);
    if (ids.has(id)) throw new Error(`event ${id} is stored twice`);
    if (recordedAt < time) throw new Error(`${recordedAt} at position ${position} after ${time}`);
    revisions.set(stream, revision);
    ids.add(id);
    time = recordedAt;
  }
}

function expectAcknowledged(
  log: readonly RecordedEvent[],
  work: Work,
  told: readonly Line[],
): void {
  const stored = new Map(log.map((event) => [event.id, event.position]));
  const lost = acks(told).filter(({ stream, n, position }) => {
    const events = eventsOf(work, stream, n);
    return events.some(({ id }, i) => stored.get(id) !== position - events.length + 1 + i);
  });
  expect(lost).toEqual([]);
  for (const stream of STREAMS)
    for (let n = 0; n < work.appends; n++) {
      const found = eventsOf(work, stream, n).filter(({ id }) => stored.has(id)).length;
      if (found !== 0 && found !== eventsOf(work, stream, n).length)
        throw new Error(`append ${n} to ${stream} is stored in part`);
    }
}
