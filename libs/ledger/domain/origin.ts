import { sha256 } from '#kernel/json.js';

/** What stands for a workspace in proofs: from it nobody learns the id. 32 hex digits. */
export function pseudonymOf(workspace: string): string {
  return sha256(`precedent-workspace\n${workspace}`).slice(0, 32);
}

/** Name of a workspace's log in checkpoints, and of the keys that sign them. */
export function originOfLog(name: string, workspace: string): string {
  return `${name}/${pseudonymOf(workspace)}`;
}
