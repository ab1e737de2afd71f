import { SingleBar } from 'cli-progress';

/** A bar on stderr. It leaves the cursor and the signals alone, so that nothing is to be put right when the process ends. */
export function progressBar(
  doing = 'Ingesting',
  unit = 'documents',
): { update(done: number, total: number): void; stop(): void } {
  const bar = new SingleBar({
    stream: process.stderr,
    format: `${doing} {bar} {value}/{total} ${unit}`,
    barCompleteChar: '█',
    barIncompleteChar: '░',
    barsize: 30,
    clearOnComplete: true,
    linewrap: true,
    gracefulExit: false,
  });
  let started = false;
  return {
    update: (done, total) => {
      if (started) bar.update(done);
      else bar.start(total, done);
      started = true;
    },
    stop: () => {
      if (started) bar.stop();
    },
  };
}
