import { randomUUID } from 'node:crypto';
import type { Answer, History } from '#decisions/contract.js';
import type { IngestReceipt } from '#decisions/contract-ingestion.js';
import { restOf, type Api } from './api.js';
import type { Connection } from './connection.js';
import { EXIT, Failure, unusable } from './failure.js';
import { lie } from './hammer-lie.js';
import { WatchedLog } from './hammer-log.js';
import { questionOn, told, valueOf, writeOn, type Acknowledged, type Line } from './hammer-line.js';
import { followJob } from './ingest-job.js';
import { interruption, pause } from './interruption.js';
import { allPages } from './pages.js';

export interface Load {
  seconds: number;
  writers: number;
  readers: number;
}

/** What was done and checked; `checkpoints` 0 where the server signs no log. */
export interface Hammered {
  run: string;
  seconds: number;
  acknowledged: number;
  answers: number;
  checked: {
    read_your_writes: number;
    present: number;
    past: number;
    acknowledged_found: number;
    checkpoints: number;
  };
  /** Requests that were sent again: the server was busy, away, or of unknown outcome. */
  retries: number;
}

/** Milliseconds without a reply that can be used, after which it is given up. */
const PATIENCE = 60_000;
const RETRY_PAUSE = 100;
const LOOK_PAUSE = 500;

/**
 * Writers and readers against a server for so many seconds. Rejects with the first lie: a write that is not read back, an acknowledged one
 * that is gone, an answer older than what was asked for, a past that changed, a log that does not continue.
 */
export async function hammer(connection: Connection, load: Load): Promise<Hammered> {
  const run = `hammer-${randomUUID().slice(0, 8)}`;
  return new Hammer(connection, run, load).run();
}

class Hammer {
  private readonly api: Api;
  private readonly log: WatchedLog;
  private readonly lines: Line[];
  private readonly done: Hammered;
  /** No further work is begun. */
  private isOver = false;
  /** Aborted: nothing is waited for any more. */
  private readonly abandoned = new AbortController();

  constructor(
    connection: Connection,
    private readonly name: string,
    private readonly load: Load,
  ) {
    this.api = restOf(connection);
    this.log = new WatchedLog(connection);
    this.lines = Array.from({ length: load.writers }, (_, i) => ({
      topic: `${name} ${i + 1}`,
      sent: 0,
      acknowledged: [],
    }));
    this.done = {
      run: name,
      seconds: load.seconds,
      acknowledged: 0,
      answers: 0,
      checked: { read_your_writes: 0, present: 0, past: 0, acknowledged_found: 0, checkpoints: 0 },
      retries: 0,
    };
  }

  async run(): Promise<Hammered> {
    // Refused or unreachable from the start is no matter of patience.
    await this.api.get(['workspace']);
    const timer = setTimeout(() => (this.isOver = true), this.load.seconds * 1000);
    try {
      const readers = Array.from({ length: this.load.readers }, () => this.read());
      await Promise.all([...this.lines.map((line) => this.write(line)), ...readers, this.watch()]);
      for (const line of this.lines) await this.assertKept(line);
    } finally {
      // One lie ends everybody's work.
      this.isOver = true;
      this.abandoned.abort();
      clearTimeout(timer);
    }
    if (interruption.aborted)
      throw new Failure(EXIT.interrupted, { error: 'interrupted', message: 'interrupted' });
    this.done.checked.checkpoints = this.log.checked;
    return this.done;
  }

  private async write(line: Line): Promise<void> {
    while (!this.isOver && !interruption.aborted) {
      const written = await this.writeNext(line);
      const input = { ...questionOn(line), at_least: String(written.position) };
      const answer = await this.ask(input);
      if (valueOf(answer) !== written.n || answer.decision?.id !== written.decision)
        throw lie({
          what: `a write that was acknowledged is not what is read after it (${line.topic})`,
          asked: JSON.stringify(input),
          expected: `value ${written.n}, decision ${written.decision}`,
          found: told(answer),
        });
      this.done.checked.read_your_writes += 1;
    }
  }

  /** Sent again with the same request_id until it is settled: it has one effect (P2, P7). */
  private async writeNext(line: Line): Promise<Acknowledged> {
    const before = line.acknowledged.at(-1);
    const n = line.sent + 1;
    line.sent = n;
    const body = writeOn(line, n, before?.decision);
    const receipt = await this.settled(() => this.api.post<IngestReceipt>(['ingestions'], body));
    const position = Number(receipt.position);
    if (before && position <= before.position)
      throw lie({
        what: `a later write has an earlier position (${line.topic})`,
        asked: JSON.stringify(body),
        expected: `a position after ${before.position}`,
        found: `position ${receipt.position ?? 'none'}`,
      });
    const { job, why } = await followJob(this.api, receipt, () => undefined, this.abandoned.signal);
    if (why !== undefined)
      throw new Failure(EXIT.incomplete, {
        error: 'write_unsettled',
        message: `the write ${body.request_id} did not end: ${why}`,
      });
    const [record] = job.records;
    if (record?.outcome !== 'stored' || record.decision_id === undefined)
      throw unusable(
        'write_refused',
        `the server did not approve what was handed in: ${record?.reason ?? 'no reason given'}`,
        { fix: 'use the key of a person who may govern decisions' },
      );
    const written = { n, decision: record.decision_id, position: Number(job.position) };
    line.acknowledged.push(written);
    this.done.acknowledged += 1;
    return written;
  }

  private async read(): Promise<void> {
    let seen = 0;
    while (!this.isOver && !interruption.aborted) {
      const line = anyOf(this.lines.filter((l) => l.acknowledged.length > 0));
      if (!line) await pause(RETRY_PAUSE, this.abandoned.signal);
      else if (Math.random() < 0.5) await this.readPast(line);
      else seen = await this.readPresent(line, seen);
    }
  }

  /** Never older than the last acknowledged write, nor than what this reader saw before; never what nobody wrote. */
  private async readPresent(line: Line, seen: number): Promise<number> {
    const floor = line.acknowledged.at(-1);
    if (!floor) return seen;
    const atLeast = Math.max(floor.position, seen);
    const input = { ...questionOn(line), at_least: String(atLeast) };
    const answer = await this.ask(input);
    const value = valueOf(answer);
    const known = line.acknowledged.find((a) => a.n === value);
    const right =
      value >= floor.n &&
      value <= line.sent &&
      Number(answer.position) >= atLeast &&
      (known === undefined || known.decision === answer.decision?.id);
    if (!right)
      throw lie({
        what: `an answer is older than what was acknowledged, or was never written (${line.topic})`,
        asked: JSON.stringify(input),
        expected: `value ${floor.n} to ${line.sent}, at position ${atLeast} or later`,
        found: told(answer),
      });
    this.done.checked.present += 1;
    return Number(answer.position);
  }

  /** What was known at a position never changes. */
  private async readPast(line: Line): Promise<void> {
    const past = anyOf(line.acknowledged);
    if (!past) return;
    const at = String(past.position);
    const input = { ...questionOn(line), known_at: at, at_least: at };
    const answer = await this.ask(input);
    if (valueOf(answer) !== past.n || answer.decision?.id !== past.decision)
      throw lie({
        what: `the past has changed (${line.topic})`,
        asked: JSON.stringify(input),
        expected: `value ${past.n}, decision ${past.decision}`,
        found: told(answer),
      });
    this.done.checked.past += 1;
  }

  private async watch(): Promise<void> {
    do {
      if (!(await this.settled(() => this.log.look()))) return;
      await pause(LOOK_PAUSE, this.abandoned.signal);
    } while (!this.isOver && !interruption.aborted);
  }

  /** In the end, everything that was acknowledged is in the history, in order. */
  private async assertKept(line: Line): Promise<void> {
    const last = line.acknowledged.at(-1);
    if (!last || interruption.aborted) return;
    const path = ['topics', line.topic, 'history'];
    const history = await allPages(
      (cursor) =>
        this.settled(() =>
          this.api.get<History>(path, { at_least: String(last.position), cursor, limit: '200' }),
        ),
      (all, page) => all.timeline.push(...page.timeline),
    );
    const approved = history.timeline
      .filter((e) => e.kind === 'approved')
      .map((e) => e.decision_id);
    for (const [i, { n, decision }] of line.acknowledged.entries()) {
      if (approved[i] === decision) {
        this.done.checked.acknowledged_found += 1;
        continue;
      }
      throw lie({
        what: `an acknowledged write is not in the history (${line.topic})`,
        asked: `GET /v1/${path.map(encodeURIComponent).join('/')}`,
        expected: `${decision}, value ${n}, approved as number ${i + 1}`,
        found: `${approved[i] ?? 'nothing'}, among ${history.timeline.length} entries at position ${history.position}, asked for ${last.position} or later`,
      });
    }
  }

  private async ask(input: object): Promise<Answer> {
    const answer = await this.settled(() => this.api.post<Answer>(['answers'], input));
    this.done.answers += 1;
    return answer;
  }

  private async settled<T>(request: () => Promise<T>): Promise<T> {
    for (const since = performance.now(); ;) {
      try {
        return await request();
      } catch (error) {
        const isLate = this.abandoned.signal.aborted || performance.now() - since > PATIENCE;
        if (isLate || !isPassing(error)) throw error;
        this.done.retries += 1;
        await pause(RETRY_PAUSE, this.abandoned.signal);
      }
    }
  }
}

const PASSING: ReadonlySet<string> = new Set(['rate_limited', 'busy', 'projection_lag']);

function isPassing(error: unknown): boolean {
  if (!(error instanceof Failure)) return false;
  const { exit, problem } = error;
  return exit === EXIT.unreachable || exit === EXIT.incomplete || PASSING.has(problem.error);
}

function anyOf<T>(items: readonly T[]): T | undefined {
  return items[Math.floor(Math.random() * items.length)];
}
