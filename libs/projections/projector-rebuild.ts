import { existsSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import type { EventStore } from '#event-store/event-store.js';
import { sync } from '#event-store/sync.js';
import { Follower } from './follower.js';
import { lastPlace } from './place.js';
import type { Projection } from './projection.js';
import { isDamaged, ReadDatabase, setAside } from './read-database.js';

export interface Rebuild {
  store: Pick<EventStore, 'follow' | 'readStream' | 'end'>;
  path: string;
  projections: readonly Projection[];
  onProgress: ConstructorParameters<typeof Follower>[3];
  /** Read models that were there are made anew, and why. */
  onUnfit?: ((why: string) => void) | undefined;
  /** Cuts it short. */
  signal: AbortSignal;
}

/**
 * Makes the read models at `path` from the log as it is now, where there are none, or damaged ones, or those of another log. They get
 * their name only when they are whole and on the disk, so the draft needs neither journal nor syncs, which would take half of the
 * time. Cut short, even by a power cut, it leaves a draft that the next one begins anew; a full disk leaves the work to the follower,
 * which waits for room.
 */
export async function rebuildMissing(rebuild: Rebuild): Promise<void> {
  const { store, path, projections, onProgress, signal } = rebuild;
  if (existsSync(path)) await removeUnfit(rebuild);
  if (existsSync(path) || signal.aborted || (await store.end()) === 0) return;
  const draft = `${path}.new`;
  remove(draft);
  const db = ReadDatabase.openDraft(draft);
  const follower = new Follower(store, db, projections, onProgress);
  const stop = (): void => void follower.close();
  signal.addEventListener('abort', stop);
  let whole = false;
  try {
    whole = await follower.catchUp();
  } finally {
    signal.removeEventListener('abort', stop);
    db.close();
    if (!whole) remove(draft);
  }
  if (whole) publish(draft, path);
}

/** A ledger that was put back from a copy is shorter than what was read of it: new events would be taken for known ones. */
async function removeUnfit({ store, path, onUnfit }: Rebuild): Promise<void> {
  try {
    if (await isOfThisLog(store, path)) return;
    remove(path);
    onUnfit?.('they have seen events that are not in this ledger');
  } catch (error) {
    if (!isDamaged(error)) throw error;
    setAside(path);
    onUnfit?.(`they were damaged and are set aside as ${path}.damaged`);
  }
}

/** Whether the event that they saw last stands where they saw it. */
async function isOfThisLog(store: Rebuild['store'], path: string): Promise<boolean> {
  const db = ReadDatabase.openForWriting(path);
  try {
    const last = lastPlace(db);
    if (!last) return true;
    for await (const [event] of store.readStream(last.stream, last.revision))
      return event?.position === last.position && event.causation === last.causation;
    return false;
  } finally {
    db.close();
  }
}

function publish(draft: string, path: string): void {
  // What is left of deleted read models would be taken for changes to the new ones.
  remove(path);
  sync(draft);
  renameSync(draft, path);
  sync(dirname(path));
}

function remove(path: string): void {
  for (const part of ['', '-journal', '-wal', '-shm']) rmSync(`${path}${part}`, { force: true });
}
