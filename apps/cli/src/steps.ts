/** What long work tells: which step it is at, and how much of it is done of how much. */
export interface Steps<S extends string> {
  onProgress: (step: S, done: number, total?: number) => void;
  stop: () => void;
}

/** A step by the title of its bar, or with what it counts where that is not events. */
type Titles<S extends string> = Readonly<Record<S, string | readonly [title: string, of: string]>>;

/** A bar for each step on a terminal that somebody watches, else nothing. `expected`: how much a step has that does not say it. */
export async function bars<S extends string>(
  watched: boolean,
  titles: Titles<S>,
  expected = 0,
): Promise<Steps<S>> {
  if (!watched) return { onProgress: () => undefined, stop: () => undefined };
  const { progressBar } = await import('./progress.js');
  let step: S | undefined;
  let bar: ReturnType<typeof progressBar> | undefined;
  const stop = (): void => bar?.stop();
  return {
    stop,
    onProgress: (next, done, total = Math.max(expected, done)) => {
      if (next !== step) {
        stop();
        const title = titles[next];
        bar = typeof title === 'string' ? progressBar(title, 'events') : progressBar(...title);
        step = next;
      }
      bar?.update(done, total);
    },
  };
}
