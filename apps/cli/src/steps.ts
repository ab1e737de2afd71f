/** What long work on a log tells: which step it is at, and how many events of it are done. */
export interface Steps<S extends string> {
  onProgress: (step: S, done: number) => void;
  stop: () => void;
}

/** A bar for each step on a terminal that somebody watches, else nothing. `total`: events expected in each. */
export async function bars<S extends string>(
  watched: boolean,
  total: number,
  titles: Readonly<Record<S, string>>,
): Promise<Steps<S>> {
  if (!watched) return { onProgress: () => undefined, stop: () => undefined };
  const { progressBar } = await import('./progress.js');
  let step: S | undefined;
  let bar: ReturnType<typeof progressBar> | undefined;
  const stop = (): void => bar?.stop();
  return {
    stop,
    onProgress: (next, done) => {
      if (next !== step) {
        stop();
        bar = progressBar(titles[next], 'events');
        step = next;
      }
      bar?.update(done, Math.max(total, done));
    },
  };
}
