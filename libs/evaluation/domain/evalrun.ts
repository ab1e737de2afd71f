import type { Decider } from '#kernel/decider.js';
import type { CompletedRun, EvalRunEvent } from './evalrun.events.js';
import { SCORER_VERSION, summaryOf } from './scoring.js';

export type EvalRun = { status: 'absent' } | { status: 'completed'; run: CompletedRun };

export interface EvalRunCommand {
  type: 'Complete';
  run: Omit<CompletedRun, 'scorer_version' | 'summary'>;
}

/** QO-20: a run is one event or nothing. */
export const evalrunDecider: Decider<EvalRun, EvalRunCommand, EvalRunEvent> = {
  initial: () => ({ status: 'absent' }),
  decide({ run }, { status }) {
    if (status === 'completed') return [];
    const data = { ...run, scorer_version: SCORER_VERSION, summary: summaryOf(run.cases) };
    return [{ type: 'EvalRunCompleted', data }];
  },
  evolve: (_run, event) => ({ status: 'completed', run: event.data }),
};
