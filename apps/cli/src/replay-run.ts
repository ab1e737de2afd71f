import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EventStore, RecordedEvent } from '#event-store/event-store.js';
import { whenMs } from '#kernel/time.js';
import { Follower } from '#projections/follower.js';
import { ReadDatabase } from '#projections/read-database.js';
import { EXIT, Failure, unusable } from './failure.js';
import { interruption } from './interruption.js';
import { onLedger } from './ledger.js';
import { isPosition, times } from './on-record.js';
import { inline, outputFor, type Output, type OutputOptions, type Paint } from './output.js';
import { openSource, type SourceOptions } from './source.js';
import { counted } from './words.js';

export interface ReplayOptions extends OutputOptions, SourceOptions {
  to?: string;
  out?: string;
}

interface TableDigest {
  table: string;
  rows: number;
  sha256: string;
}

interface Replayed {
  events: number;
  /** Of the last event that was counted, in the log it came from. */
  position: string;
  recorded_at: string | null;
  models: { name: string; version: number; tables: TableDigest[] }[];
}

export async function replay(options: ReplayOptions): Promise<void> {
  const output = outputFor(options);
  times({}, { '--to': options.to });
  const target = options.out === undefined ? undefined : await freeFile(options.out);
  const folder = target?.folder ?? (await mkdtemp(join(tmpdir(), 'precedent-replay-')));
  const draft = join(folder, 'read.sqlite.new');
  try {
    const replayed = await onLedger('ledger', () => rebuilt(options, draft, output));
    if (target) await rename(draft, target.file);
    if (output.readable) output.say(replayedLines(replayed, options.out, output.paint));
    else
      output.json('precedent.replay/1', {
        ...(options.to === undefined ? {} : { to: options.to }),
        ...replayed,
      });
  } finally {
    await rm(draft, { force: true });
    if (!target) await rm(folder, { recursive: true, force: true });
  }
}

async function freeFile(folder: string): Promise<{ folder: string; file: string }> {
  const file = join(folder, 'read.sqlite');
  if (existsSync(file))
    throw unusable('file_exists', `${file} exists already`, {
      path: '--out',
      fix: 'name another folder, or move the file away',
    });
  await mkdir(folder, { recursive: true });
  return { folder, file };
}

async function rebuilt(options: ReplayOptions, draft: string, output: Output): Promise<Replayed> {
  const { projections } = await import('../../server/src/projections.js');
  const source = await openSource(options);
  const log = new LogUpTo(source.store, limitOf(options.to), paced(output));
  const db = ReadDatabase.openDraft(draft);
  const follower = new Follower(log, db, projections);
  const stop = (): void => void follower.close();
  interruption.addEventListener('abort', stop);
  try {
    if (!(await follower.catchUp())) throw interrupted();
    assertWhole(follower);
    return {
      events: log.events,
      position: String(log.last?.position ?? 0),
      recorded_at: log.last?.recordedAt ?? null,
      models: projections
        .map(({ name, version, tables }) => ({
          name,
          version,
          tables: Object.keys(tables)
            .sort()
            .map((table) => ({ table, ...db.tableDigest(table) })),
        }))
        .sort((a, b) => (a.name < b.name ? -1 : 1)),
    };
  } finally {
    interruption.removeEventListener('abort', stop);
    db.close();
    await source.close();
  }
}

function interrupted(): Failure {
  return interruption.aborted
    ? new Failure(EXIT.interrupted, { error: 'interrupted', message: 'interrupted' })
    : new Failure(EXIT.incomplete, {
        error: 'unfinished',
        message: 'the disk did not take all of the read models',
        fix: 'see that there is room, then run the command again',
      });
}

function assertWhole({ statuses }: Follower): void {
  const parked = statuses.find((status) => status.parked);
  if (!parked?.parked) return;
  const { name } = parked;
  const { position, reason } = parked.parked;
  throw new Failure(EXIT.refused, {
    error: 'indigestible_event',
    message: `the read model ${name} cannot take event ${position}: ${reason}`,
    path: `event ${position}`,
    fix: 'run precedent verify to see whether the log is damaged',
  });
}

interface Limit {
  position: number;
  ms: number;
}

function limitOf(to: string | undefined): Limit {
  if (to === undefined) return { position: Infinity, ms: Infinity };
  return isPosition(to)
    ? { position: Number(to), ms: Infinity }
    : { position: Infinity, ms: whenMs(to, 'UTC') };
}

/** The beginning of a log, its events counted from 1 whatever positions the engine gave them. */
class LogUpTo {
  events = 0;
  last: RecordedEvent | undefined;
  #latest = -Infinity;

  constructor(
    private readonly store: Pick<EventStore, 'follow'>,
    private readonly limit: Limit,
    private readonly onProgress: (events: number) => void,
  ) {}

  async *follow(...[after, options]: Parameters<EventStore['follow']>) {
    for await (const batch of this.store.follow(after, options)) {
      const taken = batch.filter((event) => this.#counts(event));
      const first = this.events;
      this.events += taken.length;
      this.last = taken.at(-1) ?? this.last;
      if (taken.length > 0) yield taken.map((event, i) => ({ ...event, position: first + i + 1 }));
      this.onProgress(this.events);
      if (taken.length < batch.length) return;
    }
  }

  /** Recorded time never decreases along the log, as readers see it. */
  #counts({ position, recordedAt }: RecordedEvent): boolean {
    this.#latest = Math.max(this.#latest, Date.parse(recordedAt));
    return position <= this.limit.position && this.#latest <= this.limit.ms;
  }
}

const PACE = 100_000;

/** Tells somebody who watches how long each 100,000 events took. */
function paced(output: Output): (events: number) => void {
  let told = 0;
  let since = performance.now();
  return (events) => {
    if (events - told < PACE) return;
    const now = performance.now();
    output.note(
      `${events} events; the last ${events - told} took ${((now - since) / 1000).toFixed(1)} s`,
    );
    told = events;
    since = now;
  };
}

function replayedLines(
  { events, position, recorded_at, models }: Replayed,
  out: string | undefined,
  paint: Paint,
): string[] {
  const at = recorded_at === null ? '' : `, recorded ${recorded_at}`;
  return [
    paint.bold(`${counted(events, 'event')} up to position ${position}${at}`),
    ...models.flatMap(({ name, version, tables }) => [
      '',
      `${name} ${paint.dim(`version ${version}`)}`,
      ...tables.map(
        ({ table, rows, sha256 }) => `  ${sha256}  ${table}  ${paint.dim(counted(rows, 'row'))}`,
      ),
    ]),
    ...(out === undefined ? [] : ['', `kept in ${inline(join(out, 'read.sqlite'))}`]),
  ];
}
