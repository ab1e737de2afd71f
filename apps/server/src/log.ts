import { pino } from 'pino';
import type { Settings } from './settings.js';

export type Log = ReturnType<typeof createLog>;

/** JSON lines on stderr: stdout belongs to the stdio protocol and to the start's own words. */
export function createLog(level: Settings['LOG_LEVEL']) {
  return pino(
    {
      level,
      redact: {
        paths: ['*.authorization', '*.key', 'headers.authorization'],
        censor: '[redacted]',
      },
    },
    pino.destination({ dest: 2, sync: true }),
  );
}
