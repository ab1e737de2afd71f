import { CommandBus, QueryBus } from '@nestjs/cqrs';
import { ResolveDecisionState } from '#decisions/messages.js';
import { PrepareDataset, ReviewDataset, RunEval } from '#evaluation/messages.js';
import type { Caller } from '#kernel/context.js';
import type { Application, assemble as Assemble } from '../../apps/server/src/application.js';
import type { createLog as CreateLog } from '../../apps/server/src/log.js';
import type { readSettings as ReadSettings } from '../../apps/server/src/settings.js';
import { FILES, OWNER_KEY } from '../files.js';
import { quantile } from '../measure.js';
import { topicAt } from '../seed.js';
import { serve } from './program.js';

// Runs of datasets go onto the Nest bus as any door puts them there, and so do the same questions one by one.
const { assemble } = (await import(FILES.application)) as { assemble: typeof Assemble };
const { createLog } = (await import(FILES.log)) as { createLog: typeof CreateLog };
const { readSettings } = (await import(FILES.settings)) as { readSettings: typeof ReadSettings };

let application: Application | undefined;
let owner: Caller | undefined;

function opened(): { app: Application['app']; caller: Caller } {
  if (!application || !owner) throw new Error('not open');
  return { app: application.app, caller: owner };
}

async function open(dir: string): Promise<void> {
  const settings = { PRECEDENT_DATA: dir, PRECEDENT_BOOTSTRAP_KEY: OWNER_KEY };
  application = await assemble(readSettings(settings), createLog('warn'));
  await application.ledger.models.settled();
  owner = await application.authenticate(OWNER_KEY);
}

const asked = (n: number) => {
  const { topic, claim } = topicAt(n);
  return { question: 'What is decided?', topic, scope: claim.scope };
};

/** An approved dataset about these topics. */
async function prepare(topics: readonly number[]): Promise<string> {
  const { app, caller } = opened();
  const bus = app.get(CommandBus);
  const cases = topics.map((n) => ({
    ...asked(n),
    expect: { state: 'verified' as const, decision_id: topicAt(n).claim.decision_id },
  }));
  const name = `topics ${topics[0] ?? ''}`;
  const { dataset_id, dataset_hash } = await bus.execute(
    new PrepareDataset(caller, { name, cases }),
  );
  const review = { dataset_id, dataset_hash, action: 'approve' as const, reason: 'read' };
  await bus.execute(new ReviewDataset(caller, review));
  return dataset_id;
}

/** Each dataset once; the median, in microseconds. */
async function run(datasets: readonly string[]): Promise<number> {
  const { app, caller } = opened();
  const bus = app.get(CommandBus);
  return median(datasets, async (dataset_id) => {
    const { summary } = await bus.execute(new RunEval(caller, { dataset_id }));
    // State and decision; the seeded sources have no text in which an excerpt could stand.
    if (summary.checks.pass !== 2 * summary.cases) throw new Error(JSON.stringify(summary));
  });
}

/** The questions of each dataset, one after the other; the median, in microseconds. */
async function single(sets: readonly (readonly number[])[]): Promise<number> {
  const { app, caller } = opened();
  const bus = app.get(QueryBus);
  return median(sets, async (topics) => {
    for (const n of topics) {
      const { state } = await bus.execute(new ResolveDecisionState(caller, asked(n)));
      if (state !== 'verified') throw new Error(`${n}: ${state}`);
    }
  });
}

async function median<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<number> {
  const took: number[] = [];
  for (const item of items) {
    const started = performance.now();
    await work(item);
    took.push((performance.now() - started) * 1_000);
  }
  return quantile(took, 0.5);
}

async function close(): Promise<void> {
  await application?.close();
}

serve({ open, prepare, run, single, close });
