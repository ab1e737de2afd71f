import type { RecordedEvent } from '#event-store/event-store.js';
import type { Sealing } from '#event-store/sealing.js';
import type { Json } from '#kernel/json.js';
import { reaction, type Reaction } from '#projections/reaction.js';
import type { ReadModels } from '#projections/read-models.js';
import { keysOf } from '../domain/subject.js';
import { subjectCodec } from '../domain/subject.events.js';
import { erasedKeys } from '../projections/subject-queries.js';

/**
 * Destroys keys whose erasure is recorded; of no other may this be asked. The record comes first: whoever dies in between finds it at the
 * next start, so that no recorded erasure stays without effect and no key is destroyed without a record. Does nothing the second time.
 */
export async function destroyKeys(sealing: Sealing, keys: readonly string[]): Promise<void> {
  for (const key of keys) if (!sealing.erased([key])) await sealing.destroy(key);
}

/** Before anything is served: finishes what a crash cut short, and erases again what a restored file of keys brought back. */
export async function finishErasures({ sealing, models }: Erasing): Promise<void> {
  if (sealing.keys) await destroyKeys(sealing, models.now(erasedKeys));
}

interface Erasing {
  sealing: Sealing;
  models: ReadModels;
}

/**
 * On a cluster, before anybody sees these events: whoever reads at or after an erasure that another server recorded is shown no text of it.
 */
export async function followErasures(
  sealing: Sealing,
  events: readonly RecordedEvent[],
): Promise<void> {
  for (const { type, version, payload } of events) {
    if (type !== 'SubjectErased') continue;
    const known = subjectCodec.decode(type, version, JSON.parse(payload) as Json);
    if (known?.type === 'SubjectErased') await destroyKeys(sealing, keysOf(known.data));
  }
}

/** Tries again, until there is room on the disk, what was recorded here and could not be finished. */
export function erasureReaction({ sealing }: Pick<Erasing, 'sealing'>): Reaction {
  return reaction('erasure', subjectCodec, 'SubjectErased', async (erased) => {
    if (sealing.keys) await destroyKeys(sealing, keysOf(erased));
  });
}
