import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Position } from '#event-store/event-store.js';
import { factsOf } from '#event-store/header-facts.js';
import { LedgerDamage, type LedgerSource, type StoredEvent } from '#event-store/ledger-check.js';
import { sync } from '#event-store/sync.js';
import { Refusal } from '#kernel/refusal.js';
import { summarise } from './bundle-summary.js';
import { BUNDLE_FILES, LineWriter, linesOf, STATE_FILE, type BundledEvent } from './bundle.js';
import type { BundleManifest } from './bundle.js';

export interface ExportOptions {
  /** Name and version of the program, for the manifest. */
  tool: string;
  /** Only the events of this one. */
  workspace: string | undefined;
  /** The last position that is exported; what was chosen at the first start stays. */
  to: Position;
  /** Keys that open sealed texts, for a file of their own; only where they were asked for. */
  keyOf?: (id: string) => Uint8Array | 'erased' | undefined;
  signal: AbortSignal;
  onProgress: (step: 'events' | 'texts' | 'proof', done: number) => void;
}

interface State {
  schema: 'precedent.export-state/1';
  workspace: string | null;
  to: Position;
  with_keys: boolean;
}

/**
 * Writes a bundle of a ledger into a folder. Cut short anywhere it leaves no manifest, and the same call goes on where it was; the files
 * are the same bytes in the end. Each file gets its name once it is whole. Memory does not grow with the ledger.
 * Refuses `folder_not_empty` and `other_export`; throws `LedgerDamage` for what could not be exported as it was recorded.
 */
export async function writeBundle(
  source: LedgerSource,
  dir: string,
  options: ExportOptions,
): Promise<BundleManifest> {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const state = stateOf(dir, options);
  await step(dir, BUNDLE_FILES.events, (path) =>
    writeEvents(source, path, { ...options, to: state.to }),
  );
  await step(dir, BUNDLE_FILES.blobs, (path) => writeBlobs(source, dir, path, options));
  const { keyOf } = options;
  if (keyOf) await step(dir, BUNDLE_FILES.textKeys, (path) => writeKeys(dir, path, keyOf, options));
  const files = [BUNDLE_FILES.checkpoints, BUNDLE_FILES.keys, BUNDLE_FILES.manifest];
  for (const name of files) rmSync(partial(dir, name), { force: true });
  const manifest = await summarise(dir, options, state.workspace);
  for (const name of files) giveName(dir, name);
  rmSync(join(dir, STATE_FILE));
  sync(dir);
  return manifest;
}

function partial(dir: string, name: string): string {
  return join(dir, `${name}.partial`);
}

function stateOf(dir: string, options: ExportOptions): State {
  const wanted: State = {
    schema: 'precedent.export-state/1',
    workspace: options.workspace ?? null,
    to: options.to,
    with_keys: options.keyOf !== undefined,
  };
  const path = join(dir, STATE_FILE);
  if (!existsSync(path)) {
    const draft = `${STATE_FILE}.new`;
    // All that one leaves which was killed right here.
    if (readdirSync(dir).some((name) => name !== draft)) throw notEmpty(dir);
    writeFileSync(join(dir, draft), JSON.stringify(wanted));
    renameSync(join(dir, draft), path);
    return wanted;
  }
  const state = JSON.parse(readFileSync(path, 'utf8')) as State;
  const same =
    state.workspace === wanted.workspace &&
    state.with_keys === wanted.with_keys &&
    state.to <= wanted.to;
  if (same) return state;
  throw new Refusal(
    'conflict',
    'other_export',
    `${dir} holds an export of other events, unfinished`,
    {
      fix: 'give the same options and ledger again, or another folder',
    },
  );
}

function notEmpty(dir: string): Refusal {
  return new Refusal('conflict', 'folder_not_empty', `${dir} is not an empty folder`, {
    fix: 'give a folder that is empty or does not exist, or one in which an export was cut short',
  });
}

async function step(
  dir: string,
  name: string,
  write: (path: string) => Promise<void>,
): Promise<void> {
  if (existsSync(join(dir, name))) return;
  await write(partial(dir, name));
  giveName(dir, name);
}

function giveName(dir: string, name: string): void {
  renameSync(partial(dir, name), join(dir, name));
  sync(dir);
}

interface Written {
  lines: number;
  last: string | undefined;
}

/** Cuts off what a killed writer left of a line, and says what is there. */
async function wholeLines(path: string): Promise<Written> {
  const written: Written = { lines: 0, last: undefined };
  if (!existsSync(path)) return written;
  let end = 0;
  for await (const line of linesOf(path)) {
    if (!line.whole) break;
    written.lines += 1;
    written.last = line.text;
    ({ end } = line);
  }
  truncateSync(path, end);
  return written;
}

async function writeEvents(
  source: LedgerSource,
  path: string,
  options: ExportOptions,
): Promise<void> {
  const { last } = await wholeLines(path);
  const goesOn = last === undefined ? undefined : (JSON.parse(last) as BundledEvent);
  if (goesOn) await assertSame(source, goesOn);
  const writer = new LineWriter(path);
  try {
    const after = goesOn === undefined ? undefined : Number(goesOn.position);
    for await (const batch of source.log(after)) {
      options.signal.throwIfAborted();
      const end = batch.at(-1)?.position ?? 0;
      for (const line of wanted(batch, options)) writer.write(line);
      options.onProgress('events', end);
      if (end >= options.to) break;
    }
    writer.close();
  } catch (error) {
    writer.abandon();
    throw error;
  }
}

function wanted(
  batch: readonly StoredEvent[],
  { workspace, to }: Pick<ExportOptions, 'workspace' | 'to'>,
): BundledEvent[] {
  return batch
    .filter(({ position }) => position <= to)
    .map(bundled)
    .filter((line) => workspace === undefined || line.workspace === workspace)
    .map(({ event }) => event);
}

function bundled(event: StoredEvent): { event: BundledEvent; workspace: string } {
  const { position, header, payload, unreadable } = event;
  const facts = factsOf(header);
  if (unreadable || !facts)
    throw new LedgerDamage({
      at: `position ${position}`,
      what: unreadable ?? 'header',
      expected: unreadable ? 'UTF-8' : 'the members of a header as JSON',
      found: 'other bytes',
      first: position,
      last: position,
    });
  return {
    event: { position: String(position), header, payload },
    workspace: facts.workspace,
  };
}

/** The event that an unfinished export ends with is where it was: it is the same ledger. */
async function assertSame(source: LedgerSource, { position, header }: BundledEvent): Promise<void> {
  const facts = factsOf(header);
  const [event] = facts ? await source.stream(facts.stream, facts.revision) : [];
  if (event && String(event.position) === position && event.header === header) return;
  throw new Refusal('conflict', 'other_export', 'the unfinished export is of another ledger', {
    fix: 'give the ledger that it was begun with, or another folder',
  });
}

const HASH = /"([0-9a-f]{64})"/g;
const KEY_ID = /\bk_[0-9a-f]{24}\b/g;
/** Names of which it is remembered that they were written, in two halves; what comes again later is written again and does no harm. */
const REMEMBERED = 50_000;

/** Every blob that an exported event names, in the order in which they are named. */
function writeBlobs(
  source: LedgerSource,
  dir: string,
  path: string,
  options: ExportOptions,
): Promise<void> {
  return writeNamed(dir, path, HASH, options, async (quoted) => {
    const hash = quoted.slice(1, -1);
    if (!(await source.hasBlob(hash))) return undefined;
    return async () => {
      const bytes = await source.blob(hash);
      return { hash, base64: Buffer.from(bytes ?? []).toString('base64') };
    };
  });
}

/** Every key of a sealed text that an exported event names and that is there, or was destroyed. */
function writeKeys(
  dir: string,
  path: string,
  keyOf: NonNullable<ExportOptions['keyOf']>,
  options: ExportOptions,
): Promise<void> {
  return writeNamed(dir, path, KEY_ID, options, (id) => {
    const key = keyOf(id);
    if (key === undefined) return undefined;
    return () =>
      key === 'erased' ? { id, erased: true } : { id, key: Buffer.from(key).toString('base64') };
  });
}

type Maybe<T> = T | Promise<T>;

/**
 * A line for each thing that the payloads name by `pattern` and that is there. What an earlier attempt wrote is counted off: the names come
 * in the same order again.
 */
async function writeNamed(
  dir: string,
  path: string,
  pattern: RegExp,
  { signal, onProgress }: ExportOptions,
  find: (name: string) => Maybe<(() => Maybe<object>) | undefined>,
): Promise<void> {
  const { lines: done } = await wholeLines(path);
  const writer = new LineWriter(path);
  let [recent, older] = [new Set<string>(), new Set<string>()];
  let [found, read] = [0, 0];
  try {
    for await (const { text } of linesOf(join(dir, BUNDLE_FILES.events))) {
      signal.throwIfAborted();
      read += 1;
      if (read % 1_000 === 0) onProgress('texts', read);
      const { payload } = JSON.parse(text) as BundledEvent;
      for (const [name] of payload.matchAll(pattern)) {
        if (recent.has(name) || older.has(name)) continue;
        const line = await find(name);
        if (!line) continue;
        if (recent.add(name).size >= REMEMBERED) [recent, older] = [new Set(), recent];
        if (found++ >= done) writer.write(await line());
      }
    }
    writer.close();
  } catch (error) {
    writer.abandon();
    throw error;
  }
}
