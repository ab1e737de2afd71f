import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout } from 'node:timers/promises';
import { CommandBus } from '@nestjs/cqrs';
import { Refusal } from '#kernel/refusal.js';
import { ReviewDecision } from '#decisions/messages.js';
import type { Application, assemble as Assemble } from '../../apps/server/src/application.js';
import type { createLog as CreateLog } from '../../apps/server/src/log.js';
import type { readSettings as ReadSettings } from '../../apps/server/src/settings.js';
import { FILES, OWNER_KEY } from '../files.js';
import { concurrently } from '../measure.js';
import { reviewAt, STALE } from '../seed.js';
import { serve } from './program.js';

// B1a: the whole server but its doors' sockets; approvals go onto the Nest bus as any door puts them there.
const { assemble } = (await import(FILES.application)) as { assemble: typeof Assemble };
const { createLog } = (await import(FILES.log)) as { createLog: typeof CreateLog };
const { readSettings } = (await import(FILES.settings)) as { readSettings: typeof ReadSettings };

export interface Ran {
  perSecond: number;
  /** Of the main thread, for each command. */
  cpuUs: number;
  /** Of all threads of the process, read models included. */
  allCpuUs: number;
  /** Position of the log before the first command. */
  from: number;
  /** Milliseconds. */
  loopDelayP99: number;
  /** Until the read models had seen everything, after the last acknowledgement. */
  settleMs: number;
}

let application: Application | undefined;

function opened(): Application {
  if (!application) throw new Error('not open');
  return application;
}

async function open(dir: string): Promise<void> {
  const settings = { PRECEDENT_DATA: dir, PRECEDENT_BOOTSTRAP_KEY: OWNER_KEY };
  application = await assemble(readSettings(settings), createLog('warn'));
  await application.ledger.models.settled();
}

interface Input {
  first: number;
  count: number;
  width: number;
  /** Whether this process has met the streams before. */
  met: boolean;
}

async function run(input: Input): Promise<Ran> {
  const { app, ledger, authenticate } = opened();
  const caller = await authenticate(OWNER_KEY);
  if (!caller) throw new Error('no caller');
  const bus = app.get(CommandBus);
  const reviews = Array.from({ length: input.count }, (_, i) => reviewAt(input.first + i));
  if (input.met)
    await concurrently(reviews, input.width, (review) =>
      refused(bus.execute(new ReviewDecision(caller, { ...review, content_hash: STALE }))),
    );
  const commands = reviews.map((review) => new ReviewDecision(caller, review));
  const from = await ledger.store.end();
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const [before, allBefore] = [process.threadCpuUsage(), process.cpuUsage()];
  const started = performance.now();
  await concurrently(commands, input.width, (command) => bus.execute(command));
  const took = performance.now() - started;
  const cpu = process.threadCpuUsage(before);
  delay.disable();
  await ledger.projector.reach(await ledger.store.end(), 120_000);
  const allCpu = process.cpuUsage(allBefore);
  return {
    perSecond: (input.count / took) * 1_000,
    cpuUs: (cpu.user + cpu.system) / input.count,
    allCpuUs: (allCpu.user + allCpu.system) / input.count,
    from,
    loopDelayP99: delay.percentile(99) / 1e6,
    settleMs: performance.now() - started - took,
  };
}

/** p99 of the event-loop delay in milliseconds while nothing is asked. */
async function idle(ms: number): Promise<number> {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  await setTimeout(ms);
  delay.disable();
  return delay.percentile(99) / 1e6;
}

/** A stale review reads the stream, decides, and appends nothing. */
async function refused(command: Promise<unknown>): Promise<void> {
  try {
    await command;
  } catch (error) {
    if (error instanceof Refusal && error.error === 'stale_revision') return;
    throw error;
  }
  throw new Error('a stale review was taken');
}

async function close(): Promise<void> {
  await opened().close();
}

serve({ open, run, idle, close });
