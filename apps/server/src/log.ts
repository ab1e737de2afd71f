import { pino } from 'pino';
import type { Settings } from './settings.js';

export type Log = ReturnType<typeof createLog>;

const SECRETS = ['authorization', 'cookie', 'key', 'password', 'pepper', 'secret', 'token'];
/** Wherever a line holds one, up to two levels deep. */
const REDACTED = SECRETS.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]);

/** JSON lines on stderr: stdout belongs to the stdio protocol and to the start's own words. */
export function createLog(level: Settings['LOG_LEVEL']) {
  return pino(
    {
      level,
      redact: {
        paths: REDACTED,
        censor: '[redacted]',
      },
    },
    pino.destination({ dest: 2, sync: true }),
  );
}
