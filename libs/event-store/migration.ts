/** From layout `from` of `ledger.sqlite` to the next. Steps only go forward; a released one is never changed. */
export interface MigrationStep {
  from: number;
  /** For a person who decides whether to run it. */
  what: string;
  /**
   * Runs in one transaction with all other steps. Header and payload of no event may change: the whole history is read before and
   * after, and a difference undoes everything. Definitions must end up worded as `SCHEMA` of `sqlite-file.ts` words them.
   */
  sql: string;
}

/** Every step there is, in order. None yet: layout 1 is the only one. */
export const STEPS: readonly MigrationStep[] = [];

/** The steps that bring a layout to `to`, in order. A gap in the list is a defect of this program. */
export function stepsFrom(
  layout: number,
  to: number,
  steps: readonly MigrationStep[],
): MigrationStep[] {
  return Array.from({ length: Math.max(0, to - layout) }, (_, i) => {
    const step = steps.find(({ from }) => from === layout + i);
    if (!step) throw new Error(`no migration leads from layout ${layout + i} to the next`);
    return step;
  });
}
