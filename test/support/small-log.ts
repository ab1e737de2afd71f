import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { formatCheckpoint } from '#transparency/checkpoint.js';
import {
  inclusionProof,
  leafHash,
  nodeHash,
  rootOf,
  type Hash,
  type HashReader,
} from '#transparency/merkle.js';
import { ed25519Vkey, noteSigner, signNote, type Signer } from '#transparency/note.js';
import {
  receiptStatement,
  signReceipt,
  type Receipt,
  type ReceiptPredicate,
} from '#transparency/receipt.js';
import { encodeEntries, encodeTile, parseTilePath, TILE_WIDTH } from '#transparency/tile.js';
import { formatTlogProof } from '#transparency/tlog-proof.js';

/** A log in memory that signs like the ledger does, and whatever it is told to. */
export class SmallLog {
  readonly records: string[] = [];
  readonly leaves: Hash[] = [];
  privateKey: KeyObject = generateKeyPairSync('ed25519').privateKey;

  constructor(readonly origin = 'precedent/0123456789abcdef0123456789abcdef') {}

  /** One with so many records. */
  static of(count: number): SmallLog {
    return new SmallLog().append(...Array.from({ length: count }, (_, i) => `{"record":${i}}`));
  }

  append(...records: readonly string[]): this {
    this.records.push(...records);
    this.leaves.push(...records.map(leafHash));
    return this;
  }

  /** A new key; what the old one signed stays as it is. */
  rotate(): void {
    this.privateKey = generateKeyPairSync('ed25519').privateKey;
  }

  /** Another history under the same key: a lie stands in place of one record. */
  forkedAt(index: number): SmallLog {
    const { origin, privateKey, records } = this;
    const forked = new SmallLog(origin).append(...records.with(index, 'a lie'));
    forked.privateKey = privateKey;
    return forked;
  }

  vkey(): string {
    return ed25519Vkey(this.origin, createPublicKey(this.privateKey));
  }

  read(): HashReader {
    const read: HashReader = (level, index) => {
      const leaf = this.leaves[index];
      if (level > 0) return nodeHash(read(level - 1, 2 * index), read(level - 1, 2 * index + 1));
      if (!leaf) throw new Error(`no leaf ${index}`);
      return leaf;
    };
    return read;
  }

  root(size = this.leaves.length): Hash {
    return rootOf(size, this.read());
  }

  checkpoint(size = this.leaves.length, ...more: readonly Signer[]): string {
    const text = formatCheckpoint({ origin: this.origin, size, root: this.root(size) });
    return signNote(text, [noteSigner(this.origin, this.privateKey), ...more]);
  }

  /** `proven`: of which record it is the proof, where that is not the one that it names. */
  proof(
    index: number,
    size = this.leaves.length,
    checkpoint = this.checkpoint(size),
    proven = index,
  ): string {
    const hashes = inclusionProof(proven, size, this.read());
    return formatTlogProof({ index, hashes, checkpoint });
  }

  predicate(index: number, more: Partial<ReceiptPredicate> = {}): ReceiptPredicate {
    return {
      kind: 'answer',
      origin: this.origin,
      workspace: this.origin.split('/')[1] ?? '',
      index,
      event_id: '0b7c6c5e-0000-8000-b000-000000000000',
      event_type: 'AnswerGiven',
      recorded_at: '2026-03-01T12:00:00.000Z',
      ...more,
    };
  }

  receipt(
    index: number,
    { size, ...more }: Partial<ReceiptPredicate> & { size?: number } = {},
  ): Receipt {
    const statement = receiptStatement(this.predicate(index, more), this.leaves[index] as Hash);
    return { ...signReceipt(statement, this.privateKey), tlog_proof: this.proof(index, size) };
  }

  /** What the log serves under a path of C2SP tlog-tiles, at `size` entries; undefined for what it has not. */
  resource(path: string, size = this.leaves.length): Buffer | undefined {
    if (path === 'checkpoint') return Buffer.from(this.checkpoint(size));
    const { level, index, width } = parseTilePath(path) ?? { level: 0, index: size, width: 1 };
    const span = level === 'entries' ? 1 : TILE_WIDTH ** level;
    const start = index * TILE_WIDTH;
    if ((start + width) * span > size) return undefined;
    if (level === 'entries') return encodeEntries(this.records.slice(start, start + width));
    const read = this.read();
    return encodeTile(Array.from({ length: width }, (_, i) => read(8 * level, start + i)));
  }
}
