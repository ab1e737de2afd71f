import type { Decider } from '#kernel/decider.js';
import { Refusal } from '#kernel/refusal.js';
import type { CheckpointEvent } from './checkpoint.events.js';

/** What one workspace's log has signed last, and who may sign next. */
export interface CheckpointLog {
  origin: string;
  /** The key that signs. */
  vkey: string;
  /** Every key that ever signed, that one included. */
  vkeys: readonly string[];
  /** Of the last checkpoint; 0 before the first. */
  size: number;
  /** Base64; empty before the first. */
  root: string;
  note: string;
}

export type CheckpointCommand =
  | { type: 'Open'; origin: string; vkey: string }
  /** `after`: size of the last checkpoint, which the tree was found to continue. */
  | { type: 'Sign'; vkey: string; after: number; size: number; root: string; note: string }
  | { type: 'Rotate'; from: string; vkey: string; note: string }
  | { type: 'Replace'; from: string; vkey: string; reason: string };

/**
 * Signers that race meet here: a checkpoint counts only where it follows the one that its tree was compared with and is signed with the
 * key that the log names. So two of them, or two keys, cannot fork the log.
 */
export const checkpointDecider: Decider<
  CheckpointLog | undefined,
  CheckpointCommand,
  CheckpointEvent
> = {
  initial: () => undefined,
  decide(command, log) {
    if (command.type === 'Open') return open(command, log);
    if (!log) throw moved('the log is not open yet');
    switch (command.type) {
      case 'Sign':
        return sign(command, log);
      case 'Rotate': {
        const { vkey, note } = command;
        if (log.vkey === vkey) return [];
        assertNext(command, log);
        return [{ type: 'LogKeyRotated', data: { vkey, note } }];
      }
      case 'Replace': {
        const { vkey, reason } = command;
        if (log.vkey === vkey) return [];
        assertNext(command, log);
        const { origin, vkey: replaces } = log;
        return [{ type: 'LogOpened', data: { origin, vkey, replaces, reason } }];
      }
    }
  },
  evolve(log, event) {
    switch (event.type) {
      case 'LogOpened': {
        const { origin, vkey } = event.data;
        const before = log ?? { vkeys: [], size: 0, root: '', note: '' };
        return { ...before, origin, vkey, vkeys: [...before.vkeys, vkey] };
      }
      case 'CheckpointSigned':
        return log && { ...log, ...event.data };
      case 'LogKeyRotated': {
        const { vkey } = event.data;
        return log && { ...log, vkey, vkeys: [...log.vkeys, vkey] };
      }
    }
  },
};

function open(
  { origin, vkey }: { origin: string; vkey: string },
  log: CheckpointLog | undefined,
): CheckpointEvent[] {
  if (!log) return [{ type: 'LogOpened', data: { origin, vkey } }];
  if (log.origin !== origin)
    throw new Refusal('conflict', 'foreign_log_name', `the log is named ${log.origin}`, {
      fix: `set PRECEDENT_LOG_NAME to the part of ${log.origin} before its last slash`,
    });
  if (log.vkey !== vkey) throw foreignKey(log.vkey);
  return [];
}

function sign(
  command: { vkey: string; after: number; size: number; root: string; note: string },
  log: CheckpointLog,
): CheckpointEvent[] {
  const { vkey, after, size, root, note } = command;
  if (log.vkey !== vkey) throw foreignKey(log.vkey);
  if (log.size !== after) throw moved(`the log was signed at size ${log.size} meanwhile`);
  if (size <= log.size) throw moved(`the log is signed at size ${log.size} already`);
  return [{ type: 'CheckpointSigned', data: { size, root, note } }];
}

/** A key that signed before never comes back: what was signed with it stays before what came after. */
function assertNext({ from, vkey }: { from: string; vkey: string }, log: CheckpointLog): void {
  if (log.vkey !== from) throw moved(`the log is signed with ${log.vkey} meanwhile`);
  if (log.vkeys.includes(vkey))
    throw new Refusal('conflict', 'former_log_key', `${vkey} signed this log before`, {
      fix: 'use a new key',
    });
}

/** Another signer was faster; look at the log again. */
function moved(problem: string): Refusal {
  return new Refusal('conflict', 'checkpoint_moved', problem, { fix: 'look at the log again' });
}

export function foreignKey(vkey: string): Refusal {
  return new Refusal(
    'unavailable',
    'foreign_log_key',
    `the log is signed with ${vkey}, whose private key this server does not have`,
    {
      fix: 'give this server the key file of the log; docs/operations.md says what to do where it is lost',
    },
  );
}

/** The events are not those that were signed. */
export function inconsistent({ origin, size }: { origin: string; size: number }): Refusal {
  return new Refusal(
    'unavailable',
    'log_inconsistent',
    `the events of ${origin} are not those of its checkpoint of size ${size}`,
    { fix: 'keep the data folder as it is and run "precedent verify"; nothing more is signed' },
  );
}
