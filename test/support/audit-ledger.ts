import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { TestApplication } from './application.js';
import { ADR_FOLDERS, adrDocuments, hasCorpora } from './corpora.js';
import { openSource, type SourceOptions } from '../../apps/cli/src/source.js';
import { verifySource, type VerifyOptions } from '../../apps/cli/src/verify.js';
import type { Report } from '../../apps/cli/src/verify-report.js';

export interface AuditLedger {
  dir: string;
  /** Files with receipts, in the order in which they were given out. */
  receipts: string[];
  /** Everything up to this position is covered by a checkpoint of its workspace. */
  signed: number;
  last: number;
}

const DOCUMENTS = 12;

/** Decision records of the corpus where it is there, else some that are made up. */
function records(n: number): { path: string; text: string }[] {
  if (hasCorpora)
    return adrDocuments(ADR_FOLDERS[n % ADR_FOLDERS.length] ?? '').slice(0, DOCUMENTS);
  return Array.from({ length: DOCUMENTS }, (_, i) => ({
    path: `000${i}-use-thing-${n}-${i}.md`,
    text: `# Use thing ${n} ${i}\n\n## Status\n\nAccepted\n\n## Decision\n\nWe use thing ${n} ${i} for “all”.\n`,
  }));
}

/**
 * A data folder that the real commands have made: two workspaces with decision records, each with several checkpoints, which receipts
 * brought about, and events in both that no checkpoint covers yet. The server is gone.
 */
export async function auditLedger(dir: string, engine = 'sqlite:'): Promise<AuditLedger> {
  mkdirSync(join(dir, 'receipts'), { recursive: true });
  const data = join(dir, 'data');
  const server = await TestApplication.start({
    PRECEDENT_EVENTSTORE: engine,
    PRECEDENT_DATA: data,
    ...(engine === 'sqlite:' ? {} : { PRECEDENT_LOG_KEY: keyFile(dir) }),
  });
  try {
    const created = await server.call<{ key: string }>('POST', '/v1/workspaces', { name: 'Other' });
    const receipts: string[] = [];
    let signed = 0;
    for (let round = 0; round < 4; round += 1)
      for (const key of [server.key, created.body.key]) {
        const texts = records(round * 2 + (key === server.key ? 0 : 1));
        const decided = await decide(server, key, texts, `round-${round}`);
        if (round === 3) continue;
        // The last receipt of the first workspace covers it up to here.
        if (key === server.key) signed = await server.end();
        const { body } = await server.call(
          'GET',
          `/v1/decisions/${decided}/receipt`,
          undefined,
          key,
        );
        const file = join(dir, 'receipts', `${receipts.length}.json`);
        writeFileSync(file, JSON.stringify(body));
        receipts.push(file);
      }
    return { dir: data, receipts, signed, last: await server.end() };
  } finally {
    await server.close();
  }
}

function keyFile(dir: string): string {
  const path = join(dir, 'log-key.pem');
  writeFileSync(path, KEY, { mode: 0o600 });
  return path;
}

/** Of tests alone. */
const KEY = `-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF
-----END PRIVATE KEY-----
`;

/** Hands the texts in and gives the id of a decision that came of it. */
async function decide(
  server: TestApplication,
  key: string,
  documents: readonly { path: string; text: string }[],
  collection: string,
): Promise<string> {
  const job = await server.ingest({ documents, collection }, key);
  const found = job['records'] as { decision_id?: string; outcome: string }[];
  const stored = found.find(({ decision_id, outcome }) => decision_id && outcome === 'approved');
  const id = stored?.decision_id ?? found.find(({ decision_id }) => decision_id)?.decision_id;
  if (id === undefined) throw new Error(`no decision in ${JSON.stringify(found)}`);
  return id;
}

export function copyOf(ledger: AuditLedger, to: string): string {
  rmSync(to, { recursive: true, force: true });
  cpSync(ledger.dir, to, { recursive: true });
  return to;
}

/** Changes a ledger's file behind its back: with the triggers gone, as somebody with the file in his hands would. */
export function tamper(
  dir: string,
  work: (db: DatabaseSync) => void,
  file = 'ledger.sqlite',
): void {
  const db = new DatabaseSync(join(dir, file));
  try {
    const triggers = db
      .prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
      .all() as { name: string; sql: string }[];
    for (const { name } of triggers) db.exec(`DROP TRIGGER ${name}`);
    work(db);
    // He puts them back, so that nothing but the change itself can give him away.
    for (const { sql } of triggers) db.exec(sql);
  } finally {
    db.close();
  }
}

export async function verified(
  source: SourceOptions,
  options: Partial<VerifyOptions> = {},
): Promise<Report> {
  const opened = await openSource({ quiet: true, ...source });
  try {
    return await verifySource(opened, { readModels: true, quiet: true, ...options });
  } finally {
    await opened.close();
  }
}
