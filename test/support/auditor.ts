import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import type { Receipt } from '#transparency/receipt.js';
import { precedent, type Ran } from './cli.js';

/** What is said of two trees of which neither continues the other. */
export const FORKED = /leaves differ|does not continue|not the one that was signed/;

/** Somebody with a folder, the public keys of a log in `keys.txt` there, and the command line. Counts what he is told. */
export class Auditor {
  readonly counted = { told: 0, caught: 0, 'false alarms': 0 };
  private readonly root = mkdtempSync(join(tmpdir(), 'precedent-auditor-'));

  at(...path: string[]): string {
    return join(this.root, ...path);
  }

  /** Path of a file that he has written down. */
  file(name: string, content: string | object): string {
    const path = this.at(name);
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
    return path;
  }

  run(...args: string[]): Promise<Ran> {
    return precedent([...args, '--quiet'], { NO_COLOR: '1' });
  }

  verify(dir: string, ...more: string[]): Promise<Ran> {
    return this.run('verify', '--data', dir, '--keys', this.at('keys.txt'), ...more);
  }

  receipt(path: string, ...more: string[]): Promise<Ran> {
    return this.run('receipt', 'verify', path, '--keys', this.at('keys.txt'), ...more);
  }

  consistency(older: string, newer: string, dir: string): Promise<Ran> {
    return this.run('consistency', older, newer, '--data', dir, '--keys', this.at('keys.txt'));
  }

  /** One that remembers what it saw, under a name of its own. It is served a folder of tiles, or a data folder. */
  witness(name: string, log: string): Promise<Ran> {
    const key = this.at(`${name}.pem`);
    const state = ['--state', this.at(`${name}-state`), '--log-keys', this.at('keys.txt')];
    return this.run('witness', log, '--key', key, '--name', `${name}.example/w1`, ...state);
  }

  newWitness(name: string): void {
    const { privateKey } = generateKeyPairSync('ed25519');
    this.file(`${name}.pem`, privateKey.export({ type: 'pkcs8', format: 'pem' }));
  }

  /** The lie is found out, and what is said of it names what is wrong. */
  async catches(lie: string, ran: Promise<Ran>, says: RegExp): Promise<void> {
    this.counted.told += 1;
    const { code, stderr } = await ran;
    expect([lie, code, stderr]).toEqual([lie, 1, expect.stringMatching(says)]);
    this.counted.caught += 1;
  }

  /** No alarm: it is true, or he who kept nothing cannot know. */
  async accepts(what: string, ran: Promise<Ran>): Promise<void> {
    const { code, stderr } = await ran;
    if (code !== 0) this.counted['false alarms'] += 1;
    expect([what, code, stderr]).toEqual([what, 0, '']);
  }

  leave(): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}

/** The signed checkpoint that a receipt brings along. */
export function checkpointIn({ tlog_proof }: Pick<Receipt, 'tlog_proof'>): string {
  return tlog_proof.slice(tlog_proof.indexOf('\n\n') + 2);
}
