import { sha256, type Json } from '#kernel/json.js';
import { Refusal } from '#kernel/refusal.js';
import {
  keysNamed,
  openedText,
  Opener,
  plainPayload,
  principalKey,
  sealedPayload,
  sealedText,
  subjectKey,
  type Personal,
} from '#kernel/sealing.js';
import type { BlobStore } from './event-store.js';
import type { KeyVault } from './key-vault.js';

/** How a text is named by what holds it. `blob`: the SHA-256 of the stored bytes, where they are sealed; else that of the text. */
export interface TextName {
  sha256: string;
  blob?: string | undefined;
}

/** Seals personal text before it is stored, and opens it where it is read. One for a process; without keys it seals nothing. */
export class Sealing {
  readonly opener: Opener;
  private readonly listeners: (() => void)[] = [];

  constructor(readonly keys: KeyVault | undefined) {
    this.opener = new Opener((id) => keys?.key(id));
  }

  /** Ids of the keys of one subject: one where this ledger seals, else none. */
  keysOf(workspace: string, subject: string): string[] {
    return this.keys ? [subjectKey(workspace, subject)] : [];
  }

  /** True where one of the keys was destroyed. */
  erased(ids: readonly string[]): boolean {
    return ids.some((id) => this.keys?.key(id) === 'erased');
  }

  /** Resolves once all of the keys are durable. */
  async ensure(ids: readonly string[]): Promise<void> {
    await this.keys?.ensure(ids);
  }

  /**
   * Canonical JSON of an event's data, its personal text sealed: with the keys that it names, else with that of the principal who acts.
   * Resolves once every key used is durable. Refuses what `sealedPayload` refuses.
   */
  async payload(
    data: Json,
    fields: Personal,
    event: { workspace: string; id: string; principal: string },
  ): Promise<string> {
    const { keys } = this;
    if (!keys) return plainPayload(data);
    if (fields.personal.length + fields.remarks.length === 0) return plainPayload(data);
    const { workspace, id, principal } = event;
    const actor = principalKey(workspace, principal);
    const named = keysNamed(data, fields);
    await this.ensure(named.length === 0 || this.erased(named) ? [...named, actor] : named);
    return sealedPayload(data, fields, { workspace, id, actor }, (key) => keys.key(key));
  }

  /** What to store of a text, and under which name events must know it. The keys must be durable. */
  text(
    workspace: string,
    ids: readonly string[],
    text: { bytes: Uint8Array; sha256: string },
  ): { stored: { hash: string; bytes: Uint8Array }; name: TextName } {
    const { keys } = this;
    if (!keys)
      return { stored: { hash: text.sha256, bytes: text.bytes }, name: { sha256: text.sha256 } };
    const bytes = sealedText(text, workspace, ids, (key) => keys.key(key));
    const hash = sha256(bytes);
    return { stored: { hash, bytes }, name: { sha256: text.sha256, blob: hash } };
  }

  /** The text of stored bytes; undefined where they or a key are missing. */
  opened({ blob }: TextName, stored: Uint8Array | undefined): Uint8Array | 'erased' | undefined {
    if (blob === undefined || stored === undefined) return stored;
    return openedText(stored, (key) => this.keys?.key(key));
  }

  async read(blobs: BlobStore, name: TextName): Promise<Uint8Array | 'erased' | undefined> {
    return this.opened(name, await blobs.getBlob(name.blob ?? name.sha256));
  }

  /**
   * Destroys a key for good and has everything in this process forget what was opened with it. Resolves once no file of the keys
   * holds it. Refuses `erasure_unavailable` where this ledger seals nothing.
   */
  async destroy(id: string): Promise<void> {
    if (!this.keys)
      throw new Refusal('unavailable', 'erasure_unavailable', 'this ledger seals no texts', {
        fix: 'texts of a ledger on a cluster are stored as they are; docs/operations.md says what can be done',
      });
    await this.keys.destroy(id);
    this.opener.forget();
    for (const listener of this.listeners) listener();
  }

  /** Registers what must forget texts, whenever a key was destroyed. */
  onDestroyed(listener: () => void): void {
    this.listeners.push(listener);
  }
}
