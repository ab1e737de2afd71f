import type { KeyObject } from 'node:crypto';
import { Refusal } from '#kernel/refusal.js';

/** The private keys of the ledger's log (Ed25519), and where their public halves are laid down. */
export interface LogKeys {
  /** First part of every log's name. */
  readonly name: string;
  /** The first one signs. The others signed before; with them logs are led on to the first. None: nothing is signed. */
  readonly held: readonly KeyObject[];
  /** Puts a new key first, on the disk before it resolves. Absent where a setting gives the keys. */
  readonly renew?: () => Promise<void>;
  /** Forgets all but the first. Absent where a setting gives the keys. */
  readonly forgetFormer?: () => Promise<void>;
  /** Lays down the public keys for auditors, one a line. A failure costs nothing but the file. */
  publish(vkeys: readonly string[]): Promise<void>;
}

export function noLogKey(): Refusal {
  return new Refusal('unavailable', 'no_log_key', 'this server has no key to sign the log with', {
    fix: 'set PRECEDENT_LOG_KEY to the file of the key, the same on all servers of the ledger',
  });
}

export function givenKey(): Refusal {
  return new Refusal(
    'conflict',
    'log_key_given',
    'the key of the log is in the file that PRECEDENT_LOG_KEY names',
    {
      fix: 'put a new key first in that file, before the one that signs now, and restart all servers of the ledger',
    },
  );
}
