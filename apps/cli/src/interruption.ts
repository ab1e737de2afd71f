import { setTimeout as delay } from 'node:timers/promises';
import { EXIT } from './failure.js';

const controller = new AbortController();

/** Aborted by the first Ctrl-C: what waits gives up, says what it knows, and the process ends with 130. */
export const interruption = controller.signal;

/** The second Ctrl-C ends the process at once. */
export function heedInterrupts(): void {
  process.on('SIGINT', () => {
    if (interruption.aborted) process.exit(EXIT.interrupted);
    controller.abort();
  });
}

/** Ends early when interrupted, or when `signal` says so. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  const ended = signal ? AbortSignal.any([interruption, signal]) : interruption;
  await delay(ms, undefined, { signal: ended }).catch(() => undefined);
}
