import { expect } from '@jest/globals';
import type { Decider } from './decider.js';
import { Refusal } from './refusal.js';

/** given(events).when(command).then(events) or .thenRefused(error): a decider's whole behaviour, no store needed. */
export function specification<S, C, E>(decider: Decider<S, C, E>) {
  return (...given: readonly E[]) => ({
    when(command: C) {
      const run = () =>
        decider.decide(
          command,
          given.reduce((s, e, i) => decider.evolve(s, e, i), decider.initial()),
        );
      return {
        then(...expected: readonly E[]) {
          expect(run()).toEqual(expected);
        },
        thenMatches(check: (events: readonly E[]) => void) {
          check(run());
        },
        thenRefused(error: string) {
          let thrown: unknown;
          try {
            run();
          } catch (e) {
            thrown = e;
          }
          expect(thrown).toBeInstanceOf(Refusal);
          expect((thrown as Refusal).error).toBe(error);
          return thrown as Refusal;
        },
      };
    },
  });
}
