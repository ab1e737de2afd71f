import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { askEverything, commands, STOPS } from '../support/model-commands.js';
import { ModelLedger, type Engine } from '../support/model-ledger.js';
import { proved } from '../support/proved.js';
import { Model } from './model.js';

/** Another one each time; fixed under CI, so that a red build is about the change. */
const SEED = Number(
  process.env['MODEL_SEED'] ?? (process.env['CI'] ? 71_183_505 : Date.now() % 1_000_000_000),
);
const PLANS: Record<Engine, { histories: number; size: number; calm: number }> = {
  memory: { histories: 35, size: 120, calm: 8 },
  sqlite: { histories: 6, size: 80, calm: 10 },
  eventstoredb: { histories: 4, size: 80, calm: 8 },
};
const NAMES = [
  ...['ingest', 'approve', 'reject', 'retract', 'revoke', 'resolve', 'repeat'],
  ...['restart', 'rebuild', 'kill', 'disturb'],
];
/** What must have occurred, or the test said little. */
const USUAL = ['verified', 'contested', 'insufficient_evidence', 'unknown', 'stored', 'approved'];
const EXPECTED: Record<Engine, string[]> = {
  memory: [
    ...USUAL,
    ...['head_moved', 'not_approved', 'already_decided', 'supersession_cycle', 'unknown_target'],
    ...['requires_governor', 'invalid_arguments', 'unknown_decision', 'request_id_conflict'],
    ...['confirming', 'conflict opened', 'revoked', 'rejected', 'retracted', 'the same again'],
    ...['verified as known before', 'insufficient_evidence as known before', 'rebuild'],
  ],
  sqlite: ['verified', 'insufficient_evidence', 'stored', 'restart', 'rebuild', 'kill'],
  eventstoredb: ['verified', 'stored', 'restart', 'rebuild', 'kill', 'disturb'],
};

describe.each(['memory', 'sqlite', 'eventstoredb'] as const)('on %s', (engine) => {
  let ledger: ModelLedger;
  beforeAll(async () => {
    ledger = await ModelLedger.start(engine);
  });
  afterAll(() => ledger.close());

  it(`P1 P2 P3 P5, QO-2, QO-3, QO-10, QO-24, QO-27, O-13, O-32: answers as the model does (MODEL_SEED=${SEED})`, async () => {
    const plan = PLANS[engine];
    await fc.assert(
      fc.asyncProperty(commands(engine, plan.size, plan.calm), async (sequence) => {
        ledger.history += 1;
        const model = new Model();
        model.remember(await ledger.end());
        await fc.asyncModelRun(() => ({ model, real: ledger }), sequence);
        await STOPS[engine][ledger.history % STOPS[engine].length]?.run(model, ledger);
        await askEverything(model, ledger);
      }),
      // Shrinking on a slow engine would end in the time limit, which says nothing.
      { seed: SEED, numRuns: plan.histories, endOnFailure: engine !== 'memory' },
    );
    const counts = [...ledger.counts].sort(([, a], [, b]) => b - a);
    const commandsRun = NAMES.reduce((sum, name) => sum + (ledger.counts.get(name) ?? 0), 0);
    const kills = ['kill', 'kill during an ingestion'].map((name) => ledger.counts.get(name) ?? 0);
    proved(
      `model on ${engine}`,
      {
        'histories checked': ledger.history,
        commands: commandsRun,
        'crash cycles': kills.reduce((a, b) => a + b),
        'faults injected': ledger.faultsInjected,
      },
      `MODEL_SEED=${SEED}; ${counts.map(([what, n]) => `${what} ${n}`).join(', ')}`,
    );
    expect(EXPECTED[engine].filter((what) => !ledger.counts.has(what))).toEqual([]);
  }, 240_000);
});
