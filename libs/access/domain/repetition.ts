import type { Json } from '#kernel/json.js';
import { t, type Static } from '#kernel/schema.js';
import { isHidden } from '#kernel/sealing.js';
import { keyReused } from './refusals.js';

/** Ids of the keys that seal the personal text of an event; absent in version 1. */
export const keys = t.Optional(t.Array(t.String()));
/** Version 1 had no keys, and nothing was sealed. */
export const unsealed = { 1: (payload: Json): Json => payload };

/**
 * What makes a repeated command known: an id that depends on its request_id, and the SHA-256 of what was asked. The latter is sealed
 * where a name was asked for: it would confirm a guess of it.
 */
export const request = t.Object({ id: t.String(), sha256: t.String() });
export type Request = Static<typeof request>;

/** Requests that were carried out, by id. */
export type Requests = Map<string, string>;

/** True for a request that was carried out; refused where its id came with other arguments, as long as these are known. */
export function isRepeated(given: Request | undefined, done: Requests): boolean {
  const before = given && done.get(given.id);
  if (before === undefined) return false;
  if (before !== given?.sha256 && !isHidden(before)) throw keyReused();
  return true;
}

export function remember(done: Requests, given: Request | undefined): void {
  if (given) done.set(given.id, given.sha256);
}
