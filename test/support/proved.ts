import { appendFileSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

const FILE = 'node_modules/.cache/precedent/proved.jsonl';

/**
 * Records what a test has proved, in counts such as `{ cycles: 20, acknowledged: 512, lost: 0 }`, and says it in one line.
 * `npm test` prints all of it in the end, counts of the same name added up (scripts/proved.mjs).
 */
export function proved(what: string, numbers: Readonly<Record<string, number>>, more = ''): void {
  mkdirSync(dirname(FILE), { recursive: true });
  // One write of one line: other test files may be at it in processes of their own.
  appendFileSync(FILE, `${JSON.stringify({ what, numbers })}\n`);
  const counts = Object.entries(numbers).map(([name, n]) => `${n} ${name}`);
  process.stdout.write(`${what}: ${counts.join(', ')}${more === '' ? '' : `; ${more}`}\n`);
}
