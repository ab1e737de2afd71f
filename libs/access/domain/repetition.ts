import { t, type Static } from '#kernel/schema.js';
import { keyReused } from './refusals.js';

/** What makes a repeated command known: an id that depends on its request_id, and the SHA-256 of what was asked. */
export const request = t.Object({ id: t.String(), sha256: t.String() });
export type Request = Static<typeof request>;

/** Requests that were carried out, by id. */
export type Requests = Map<string, string>;

/** True for a request that was carried out; refused where its id came with other arguments. */
export function isRepeated(given: Request | undefined, done: Requests): boolean {
  const before = given && done.get(given.id);
  if (before === undefined) return false;
  if (before !== given?.sha256) throw keyReused();
  return true;
}

export function remember(done: Requests, given: Request | undefined): void {
  if (given) done.set(given.id, given.sha256);
}
