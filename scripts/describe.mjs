/**
 * The end of a build: lays the description of the API, as the application that was just built gives it, beside the module that serves
 * it (`libs/http/openapi.ts`). Runs that application in this process, on a ledger in memory.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { assemble } from '../dist/apps/server/src/application.js';
import { createLog } from '../dist/apps/server/src/log.js';
import { readSettings } from '../dist/apps/server/src/settings.js';

const FOLDER = new URL('../dist/libs/http/', import.meta.url);
const NAMES = ['openapi.json', 'openapi.yaml'];

// Of an earlier run: they would be served instead of made.
for (const name of NAMES) rmSync(new URL(name, FOLDER), { force: true });
const data = mkdtempSync(join(tmpdir(), 'precedent-describe-'));
try {
  const settings = readSettings({
    PRECEDENT_EVENTSTORE: 'memory:',
    PRECEDENT_DATA: data,
    PRECEDENT_CHECKPOINT_SECONDS: '0',
  });
  const { app, close } = await assemble(settings, createLog('error'));
  const replies = [];
  for (const name of NAMES) replies.push(await app.inject({ method: 'GET', url: `/${name}` }));
  await close();
  for (const { statusCode, body } of replies)
    if (statusCode !== 200) throw new Error(`no description: ${statusCode} ${body}`);
  NAMES.forEach((name, i) => writeFileSync(new URL(name, FOLDER), replies[i].rawPayload));
} finally {
  rmSync(data, { recursive: true, force: true });
}
