/** Several runs of one figure. `worst` is the lowest of a rate and the highest of a duration. */
export interface Figure {
  median: number;
  worst: number;
  runs: number[];
}

export type Bar = {
  /** `atLeast`: more is better. */
  kind: 'atLeast' | 'atMost';
} & (
  | { /** Of the reference. */ ratio: number }
  | { /** In the row's own unit; the reference is only shown beside it. */ value: number }
);

/** One line of the table: a figure of the product beside the same figure of its reference. */
export interface Result {
  id: string;
  work: string;
  against: string;
  unit: string;
  subject: Figure;
  reference: Figure;
  /** Subject by reference, run by run; the median decides. */
  ratio: Figure;
  bar: Bar;
  met: boolean;
}

/** A line that this machine cannot measure, which is no failure. */
export interface Unmeasured {
  id: string;
  work: string;
  why: string;
}

export type Line = Result | Unmeasured;

export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? NaN;
}

function figure(runs: readonly number[], kind: Bar['kind']): Figure {
  const worst = kind === 'atLeast' ? Math.min(...runs) : Math.max(...runs);
  return { median: quantile(runs, 0.5), worst, runs: [...runs] };
}

export function compare(
  line: Pick<Result, 'id' | 'work' | 'against' | 'unit' | 'bar'>,
  subject: readonly number[],
  reference: readonly number[],
): Result {
  const { bar } = line;
  const figures = {
    subject: figure(subject, bar.kind),
    reference: figure(reference, bar.kind),
    ratio: figure(
      subject.map((value, i) => value / (reference[i] ?? NaN)),
      bar.kind,
    ),
  };
  const [found, limit] =
    'ratio' in bar ? [figures.ratio.median, bar.ratio] : [figures.subject.median, bar.value];
  return { ...line, ...figures, met: bar.kind === 'atLeast' ? found >= limit : found <= limit };
}

/** Runs subject and reference in turn, so that what else the machine does falls on both. */
export async function inTurn<T>(
  rounds: number,
  subject: (round: number) => Promise<T>,
  reference: (round: number) => Promise<T>,
): Promise<{ subject: T[]; reference: T[] }> {
  const runs: { subject: T[]; reference: T[] } = { subject: [], reference: [] };
  for (let round = 0; round < rounds; round++) {
    runs.subject.push(await subject(round));
    runs.reference.push(await reference(round));
  }
  return runs;
}

/** Works through `items` with `width` at a time; the milliseconds that each took, in the order of completion. */
export async function concurrently<T>(
  items: Iterable<T>,
  width: number,
  work: (item: T) => Promise<unknown>,
): Promise<number[]> {
  const rest = items[Symbol.iterator]();
  const took: number[] = [];
  const worker = async (): Promise<void> => {
    for (let next = rest.next(); next.done !== true; next = rest.next()) {
      const started = performance.now();
      await work(next.value);
      took.push(performance.now() - started);
    }
  };
  await Promise.all(Array.from({ length: width }, worker));
  return took;
}
