import { hash } from 'node:crypto';

/**
 * A number in place of names that are too long for an index: 48 bits of their SHA-256. Rows of other names may share it, however
 * rarely: who seeks by it compares the names as well.
 */
export function rowKey(...names: readonly string[]): number {
  return Number.parseInt(hash('sha256', names.join('\n'), 'hex').slice(0, 12), 16);
}
