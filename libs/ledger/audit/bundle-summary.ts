import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { factsOf, type HeaderFacts } from '#event-store/header-facts.js';
import { HeadersDigest } from '#event-store/headers-digest.js';
import { LedgerDamage } from '#event-store/ledger-check.js';
import { sync } from '#event-store/sync.js';
import { sha256 } from '#kernel/json.js';
import { CompactRange, leafHash } from '#transparency/merkle.js';
import { BUNDLE_FILES, BUNDLE_SCHEMA, LineWriter, linesOf } from './bundle.js';
import type { BundledCheckpoint, BundledEvent, BundledLog, BundleManifest } from './bundle.js';
import { checkpointStream } from '../streams.js';

interface SummaryOptions {
  tool: string;
  signal: AbortSignal;
  onProgress: (step: 'proof', done: number) => void;
}

/**
 * Reads a bundle's events and texts back from the disk, as whoever gets it will, and writes what is said of them: checkpoints, keys and
 * the manifest, each under its partial name. Throws `LedgerDamage` where a payload or text has another hash than is written of it.
 */
export async function summarise(
  dir: string,
  { tool, signal, onProgress }: SummaryOptions,
  workspace: string | null,
): Promise<BundleManifest> {
  const summary = new Summary(dir);
  const files: BundleManifest['files'] = {};
  files[BUNDLE_FILES.events] = await readOut(join(dir, BUNDLE_FILES.events), (text) => {
    signal.throwIfAborted();
    summary.event(JSON.parse(text) as BundledEvent);
    if (summary.coverage.events % 1_000 === 0) onProgress('proof', summary.coverage.events);
  });
  files[BUNDLE_FILES.blobs] = await readOut(join(dir, BUNDLE_FILES.blobs), (text) => {
    signal.throwIfAborted();
    summary.blob(JSON.parse(text) as { hash: string; base64: string });
  });
  files[BUNDLE_FILES.checkpoints] = await summary.end();
  const keys = Buffer.from(summary.vkeys.map((vkey) => `${vkey}\n`).join(''));
  writeWhole(partialOf(dir, BUNDLE_FILES.keys), keys);
  files[BUNDLE_FILES.keys] = { bytes: keys.length, sha256: sha256(keys) };
  if (existsSync(join(dir, BUNDLE_FILES.textKeys)))
    files[BUNDLE_FILES.textKeys] = await readOut(join(dir, BUNDLE_FILES.textKeys), () => undefined);
  const manifest: BundleManifest = {
    schema: BUNDLE_SCHEMA,
    tool,
    workspace,
    coverage: { ...summary.coverage, headers_sha256: summary.headersSha256() },
    logs: summary.logs(),
    files,
  };
  const text = Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`);
  writeWhole(partialOf(dir, BUNDLE_FILES.manifest), text);
  return manifest;
}

const partialOf = (dir: string, name: string): string => join(dir, `${name}.partial`);

interface Summed {
  tree: CompactRange;
  origin: string | null;
  vkey: string | null;
  signedSize: number;
}

class Summary {
  readonly coverage = {
    events: 0,
    last_position: '0',
    last_recorded_at: null as string | null,
    headers_sha256: '',
    blobs: 0,
  };
  readonly vkeys: string[] = [];
  readonly #logs = new Map<string, Summed>();
  readonly #headers = new HeadersDigest();
  readonly #checkpoints: LineWriter;

  constructor(private readonly dir: string) {
    this.#checkpoints = new LineWriter(partialOf(dir, BUNDLE_FILES.checkpoints));
  }

  event({ position, header, payload }: BundledEvent): void {
    const facts = factsOf(header);
    const found = sha256(payload);
    if (facts?.payload_sha256 !== found)
      throw damage(`position ${position}`, 'payload_sha256', facts?.payload_sha256 ?? '', found);
    this.coverage.events += 1;
    this.coverage.last_position = position;
    this.coverage.last_recorded_at = facts.recorded_at;
    this.#headers.add(header);
    const log = this.#logOf(facts.workspace);
    log.tree.append(leafHash(header));
    if (facts.stream === checkpointStream(facts.workspace))
      this.#signed(log, facts, position, payload);
  }

  #logOf(workspace: string): Summed {
    const known = this.#logs.get(workspace);
    if (known) return known;
    const log = { tree: CompactRange.from(0, []), origin: null, vkey: null, signedSize: 0 };
    this.#logs.set(workspace, log);
    return log;
  }

  #signed(log: Summed, { type, workspace }: HeaderFacts, position: string, payload: string): void {
    const data = JSON.parse(payload) as Partial<
      BundledCheckpoint & { vkey: string; origin: string }
    >;
    if (type === 'CheckpointSigned') {
      const { size = 0, root = '', note = '' } = data;
      log.signedSize = size;
      this.#checkpoints.write({
        workspace,
        position,
        size,
        root,
        note,
      } satisfies BundledCheckpoint);
      return;
    }
    if (data.origin !== undefined) log.origin = data.origin;
    if (data.vkey === undefined) return;
    log.vkey = data.vkey;
    this.vkeys.push(data.vkey);
  }

  blob({ hash, base64 }: { hash: string; base64: string }): void {
    const found = sha256(Buffer.from(base64, 'base64'));
    if (found !== hash) throw damage(`blob ${hash}`, 'SHA-256', hash, found);
    this.coverage.blobs += 1;
  }

  headersSha256(): string {
    return this.#headers.hex();
  }

  async end(): Promise<{ bytes: number; sha256: string }> {
    this.#checkpoints.close();
    return readOut(partialOf(this.dir, BUNDLE_FILES.checkpoints), () => undefined);
  }

  logs(): BundledLog[] {
    return [...this.#logs].map(([workspace, { tree, origin, vkey, signedSize }]) => ({
      workspace,
      origin,
      size: tree.size,
      root: Buffer.from(tree.root()).toString('base64'),
      vkey,
      signed_size: signedSize,
    }));
  }
}

function damage(at: string, what: string, expected: string, found: string): LedgerDamage {
  const position = Number(/^position (\d+)$/.exec(at)?.[1] ?? NaN);
  const place = Number.isNaN(position) ? {} : { first: position, last: position };
  return new LedgerDamage({ at, what, expected, found, ...place });
}

async function readOut(
  path: string,
  take: (line: string) => void,
): Promise<{ bytes: number; sha256: string }> {
  const lines = linesOf(path);
  for (;;) {
    const { done, value } = await lines.next();
    if (done) return value;
    take(value.text);
  }
}

function writeWhole(path: string, bytes: Uint8Array): void {
  writeFileSync(path, bytes, { mode: 0o600 });
  sync(path);
}
