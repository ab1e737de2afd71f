import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { DatabaseSync } from 'node:sqlite';
import { QueryBus } from '@nestjs/cqrs';
import { ResolveDecisionState } from '#decisions/messages.js';
import type { Application, assemble as Assemble } from '../../apps/server/src/application.js';
import type { createLog as CreateLog } from '../../apps/server/src/log.js';
import type { readSettings as ReadSettings } from '../../apps/server/src/settings.js';
import { FILES, OWNER_KEY } from '../files.js';
import { quantile } from '../measure.js';
import { serve } from './program.js';

// B3b: the whole server but its doors' sockets, and beside it the same words in SQLite's own full text index.
const { assemble } = (await import(FILES.application)) as { assemble: typeof Assemble };
const { createLog } = (await import(FILES.log)) as { createLog: typeof CreateLog };
const { readSettings } = (await import(FILES.settings)) as { readSettings: typeof ReadSettings };

export interface Asked {
  p50: number;
  p99: number;
  loopDelayP99: number;
}

let application: Application | undefined;
let plain: DatabaseSync | undefined;

function opened(): Application {
  if (!application) throw new Error('not open');
  return application;
}

/** Opens the ledger and asks until nothing is left to be indexed; the seconds that took and the megabytes it added. */
async function open(dir: string): Promise<{ seconds: number; megabytes: number }> {
  const settings = { PRECEDENT_DATA: dir, PRECEDENT_BOOTSTRAP_KEY: OWNER_KEY };
  application = await assemble(readSettings(settings), createLog('warn'));
  await application.ledger.models.settled();
  const before = process.memoryUsage().rss;
  const started = performance.now();
  for (;;) {
    const { reason } = await answer('anything at all');
    if (!reason.includes('indexed yet')) break;
  }
  const megabytes = (process.memoryUsage().rss - before) / 1e6;
  return { seconds: (performance.now() - started) / 1_000, megabytes };
}

async function answer(question: string) {
  const { app, authenticate } = opened();
  const caller = await authenticate(OWNER_KEY);
  if (!caller) throw new Error('no caller');
  return app.get(QueryBus).execute(new ResolveDecisionState(caller, { question }));
}

async function ask(questions: readonly string[]): Promise<Asked> {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const took: number[] = [];
  for (const question of questions) {
    const started = performance.now();
    const { state, candidate_topics } = await answer(question);
    took.push(performance.now() - started);
    if (state !== 'unknown' || candidate_topics.length === 0)
      throw new Error(`no candidates for "${question}"`);
  }
  delay.disable();
  return {
    p50: quantile(took, 0.5),
    p99: quantile(took, 0.99),
    loopDelayP99: delay.percentile(99) / 1e6,
  };
}

/** The words of every claim, as the read models have them, in an FTS5 table of the bench's own. */
function index(dir: string): void {
  const file = join(dir, 'bench-fts.sqlite');
  rmSync(file, { force: true });
  plain = new DatabaseSync(file);
  plain.exec(`PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-262144;
    ATTACH '${join(dir, 'read.sqlite')}' AS models;
    CREATE VIRTUAL TABLE plain USING fts5 (words, tokenize = 'porter unicode61');
    INSERT INTO plain (words) SELECT t.name || ' ' || json_extract(c.body, '$.statement')
      FROM models.claim c JOIN models.topic t ON t.workspace = c.workspace AND t.id = c.topic;
    INSERT INTO plain (plain) VALUES ('optimize')`);
}

function match(questions: readonly string[]): Asked {
  if (!plain) throw new Error('no index');
  const query = plain.prepare(
    'SELECT rowid FROM plain WHERE plain MATCH ? ORDER BY bm25(plain) LIMIT 10',
  );
  const took = questions.map((question) => {
    const started = performance.now();
    const found = query.all(question.split(' ').join(' OR '));
    if (found.length === 0) throw new Error(`nothing for "${question}"`);
    return performance.now() - started;
  });
  // It holds its thread all the while.
  return {
    p50: quantile(took, 0.5),
    p99: quantile(took, 0.99),
    loopDelayP99: quantile(took, 0.99),
  };
}

async function close(): Promise<void> {
  plain?.close();
  await opened().close();
}

serve({ open, ask, index, match, close });
