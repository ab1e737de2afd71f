import { QueryBus } from '@nestjs/cqrs';
import { ResolveDecisionState } from '#decisions/messages.js';
import type { Application, assemble as Assemble } from '../../apps/server/src/application.js';
import type { createLog as CreateLog } from '../../apps/server/src/log.js';
import type { readSettings as ReadSettings } from '../../apps/server/src/settings.js';
import { FILES, OWNER_KEY } from '../files.js';
import { quantile } from '../measure.js';
import { serve } from './program.js';

// B4: questions go onto the Nest bus as any door puts them there, one after the other.
const { assemble } = (await import(FILES.application)) as { assemble: typeof Assemble };
const { createLog } = (await import(FILES.log)) as { createLog: typeof CreateLog };
const { readSettings } = (await import(FILES.settings)) as { readSettings: typeof ReadSettings };

/** What to ask about: a topic's id and a scope in which something is decided. */
export interface Asked {
  topic: string;
  scope: Record<string, string>;
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

/** The median, in microseconds. */
async function run(asked: readonly Asked[]): Promise<number> {
  const { app, authenticate } = opened();
  const caller = await authenticate(OWNER_KEY);
  if (!caller) throw new Error('no caller');
  const bus = app.get(QueryBus);
  const took: number[] = [];
  for (const about of asked) {
    const query = new ResolveDecisionState(caller, { question: 'What is decided?', ...about });
    const started = performance.now();
    const { state } = await bus.execute(query);
    took.push((performance.now() - started) * 1_000);
    if (state !== 'verified') throw new Error(`${about.topic}: ${state}`);
  }
  return quantile(took, 0.5);
}

async function close(): Promise<void> {
  await opened().close();
}

serve({ open, run, close });
