import { join } from 'node:path';
import { factsOf, type HeaderFacts } from '#event-store/header-facts.js';
import { LedgerDamage, type Finding } from '#event-store/ledger-check.js';
import { LedgerDraft } from '#event-store/sqlite-draft.js';
import { BUNDLE_FILES, linesOf, type BundledBlob, type BundledEvent } from './bundle.js';
import type { BundleManifest } from './bundle.js';

export interface LoadOptions {
  signal: AbortSignal;
  /** Lines of events so far. */
  onProgress: (events: number) => void;
  /** True: positions count from 1 without gaps, as an embedded ledger has them. False: as the bundle has them. */
  renumber: boolean;
}

export interface Loaded {
  events: number;
  /** What ended the loading, or is wrong with the files as such. What was loaded before it may have something earlier. */
  damage: Finding | undefined;
}

/** Makes a ledger file of a bundle at `path`. It holds the bundle's bytes, of which nothing is proved yet. */
export async function loadBundle(
  dir: string,
  manifest: BundleManifest,
  path: string,
  options: LoadOptions,
): Promise<Loaded> {
  const draft = LedgerDraft.create(path);
  try {
    const loading = new Loading(dir, manifest, draft, options);
    const damage = await loading.run();
    draft.finish();
    return { events: loading.events, damage };
  } catch (error) {
    draft.discard();
    throw error;
  }
}

class Loading {
  events = 0;
  #position = 0;

  constructor(
    private readonly dir: string,
    private readonly manifest: BundleManifest,
    private readonly draft: LedgerDraft,
    private readonly options: LoadOptions,
  ) {}

  /** Texts first, so that none is missed in a log that ends early. */
  async run(): Promise<Finding | undefined> {
    const blobs = await this.#file(BUNDLE_FILES.blobs, (text, line) => {
      this.#blob(text, line);
    });
    const events = await this.#file(BUNDLE_FILES.events, (text, line) => {
      this.#event(text, line);
      this.options.onProgress(this.events);
    });
    return (events?.first === undefined ? this.#cutShort() : undefined) ?? events ?? blobs;
  }

  /** Reads a file out, as far as it can be read: what is wrong with a line, else with the file as a whole. */
  async #file(
    name: string,
    take: (text: string, line: number) => void,
  ): Promise<Finding | undefined> {
    const lines = linesOf(join(this.dir, name));
    try {
      for (let line = 1; ; line += 1) {
        this.options.signal.throwIfAborted();
        const { done, value } = await lines.next();
        if (done) return this.#fileFinding(name, value);
        if (!value.whole) return atLine(name, line, 'a whole line', 'the end of the file');
        take(value.text, line);
      }
    } catch (error) {
      if (error instanceof LedgerDamage) return error.finding;
      throw error;
    }
  }

  #fileFinding(name: string, found: { bytes: number; sha256: string }): Finding | undefined {
    const expected = this.manifest.files[name];
    if (expected?.sha256 === found.sha256) return undefined;
    return {
      at: name,
      what: 'SHA-256 of the file',
      expected: expected?.sha256 ?? 'a file that the manifest names',
      found: found.sha256,
    };
  }

  #cutShort(): Finding | undefined {
    const { events, last_position } = this.manifest.coverage;
    if (this.events >= events) return undefined;
    const next = this.#position + 1;
    return {
      at: `after position ${this.#position}`,
      what: 'events',
      expected: `${events}, up to position ${last_position}`,
      found: String(this.events),
      first: next,
      last: Number(last_position),
    };
  }

  #event(text: string, line: number): void {
    const event = parsed(text) as Partial<BundledEvent> | undefined;
    const { position: written, header, payload } = event ?? {};
    const position = Number(written);
    const readable = Number.isSafeInteger(position) && typeof header === 'string';
    const facts = readable ? factsOf(header) : undefined;
    if (!facts || typeof header !== 'string' || typeof payload !== 'string')
      throw this.#unreadable(line, position, text);
    if (position <= this.#position) throw this.#backwards(position);
    this.#add(position, facts, header, payload);
  }

  #add(position: number, facts: HeaderFacts, header: string, payload: string): void {
    this.events += 1;
    this.draft.add(this.options.renumber ? this.events : position, facts, header, payload);
    this.#position = position;
  }

  #blob(text: string, line: number): void {
    const { hash, base64 } = (parsed(text) ?? {}) as Partial<BundledBlob>;
    if (typeof hash !== 'string' || typeof base64 !== 'string')
      throw new LedgerDamage(atLine(BUNDLE_FILES.blobs, line, 'a blob as JSON', clipped(text)));
    this.draft.addBlob(hash, Buffer.from(base64, 'base64'));
  }

  #unreadable(line: number, position: number, text: string): LedgerDamage {
    const at = atLine(BUNDLE_FILES.events, line, 'an event as JSON', clipped(text));
    const after = this.#position + 1;
    // A position that can be read and fits names the event; otherwise it is the next one.
    const first = Number.isSafeInteger(position) && position > this.#position ? position : after;
    return new LedgerDamage({ ...at, at: `position ${first}, ${at.at}`, first, last: first });
  }

  #backwards(position: number): LedgerDamage {
    return new LedgerDamage({
      at: `position ${position}`,
      what: 'position',
      expected: `${this.#position + 1} or later`,
      found: String(position),
      first: position,
      last: this.#position,
    });
  }
}

function atLine(file: string, line: number, expected: string, found: string): Finding {
  return { at: `line ${line} of ${file}`, what: 'line', expected, found };
}

function clipped(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
}

function parsed(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
