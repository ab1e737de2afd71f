import { hash } from 'node:crypto';
import { openSnapshot } from '#event-store/sqlite-backup.js';
import { openSqliteStore } from '#event-store/sqlite.js';
import { verifyLedger } from '#ledger/index.js';
import { serve } from './program.js';

// B6 and its reference, in one process. Both give milliseconds.

/** The log part of `precedent verify`: chain, texts, trees, checkpoints and their signatures; reading included. */
async function verify(dir: string): Promise<number> {
  const started = performance.now();
  const snapshot = openSnapshot(dir);
  const { finding, coverage, logs } = await verifyLedger(snapshot, {
    contiguous: true,
    wholeStreams: true,
    signal: new AbortController().signal,
    onProgress: () => undefined,
  });
  snapshot.close();
  const took = performance.now() - started;
  if (finding) throw new Error(`${finding.at}: ${finding.what}`);
  if (coverage.events === 0 || logs.every(({ checkpoints }) => checkpoints === 0))
    throw new Error('nothing was signed');
  return took;
}

/** SHA-256 of every header and every payload, one call for each; the time of the calls alone, reading left out. */
async function hashes(dir: string): Promise<number> {
  const snapshot = openSnapshot(dir);
  let took = 0;
  for await (const page of snapshot.log()) {
    const bytes = page.flatMap(({ header, payload }) => [
      Buffer.from(header),
      Buffer.from(payload),
    ]);
    const started = performance.now();
    for (const each of bytes) hash('sha256', each);
    took += performance.now() - started;
  }
  snapshot.close();
  return took;
}

/** The texts that seeded sources name, `count` of them. */
async function texts({ dir, count }: { dir: string; count: number }): Promise<void> {
  const store = await openSqliteStore(dir, { clock: Date.now });
  const titles = Array.from({ length: count }, (_, i) => `Minutes ${i}`);
  await store.putBlobs(
    titles.map((title) => ({ hash: hash('sha256', title), bytes: Buffer.from(title) })),
  );
  await store.close();
}

serve({ verify, hashes, texts });
