import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openSqliteReader } from '#event-store/sqlite.js';
import type { Projection } from '#projections/projection.js';
import { rebuildMissing } from '#projections/projector-rebuild.js';
import { FILES } from '../files.js';
import { serve } from './program.js';

// B5 and its reference, in one process. Both give events a second.
const { projections } = (await import(FILES.projections)) as { projections: Projection[] };

/** Every read model from the first event, as the projector thread does it at a start without `read.sqlite`. */
async function rebuild(dir: string): Promise<number> {
  const into = mkdtempSync(join(dirname(dir), 'precedent-bench-'));
  const reader = openSqliteReader(dir);
  const path = join(into, 'read.sqlite');
  const events = await reader.end();
  let reached = 0;
  const started = performance.now();
  await rebuildMissing({
    store: reader,
    path,
    projections,
    onProgress: (position) => {
      reached = position;
    },
    signal: new AbortController().signal,
  });
  const took = performance.now() - started;
  if (reached !== events || !existsSync(path)) throw new Error(`${reached} of ${events} applied`);
  await reader.close();
  rmSync(into, { recursive: true, force: true });
  return (events / took) * 1_000;
}

/** The log read in order, header and payload of each event parsed. */
function parse(dir: string): number {
  const db = new DatabaseSync(join(dir, 'ledger.sqlite'), { readOnly: true });
  const log = db.prepare('SELECT position, header, payload FROM event ORDER BY position');
  let [events, chars] = [0, 0];
  const started = performance.now();
  for (const { header, payload } of log.iterate()) {
    const event = JSON.parse(header as string) as { type: string };
    chars += event.type.length + Object.keys(JSON.parse(payload as string) as object).length;
    events += 1;
  }
  const took = performance.now() - started;
  db.close();
  if (chars === 0) throw new Error('the log is empty');
  return (events / took) * 1_000;
}

serve({ rebuild, parse });
