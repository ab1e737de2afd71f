import { existsSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import type { EventStore } from '#event-store/event-store.js';
import { sync } from '#event-store/sync.js';
import { Follower } from './follower.js';
import type { Projection } from './projection.js';
import { ReadDatabase } from './read-database.js';

export interface Rebuild {
  store: Pick<EventStore, 'follow' | 'end'>;
  path: string;
  projections: readonly Projection[];
  onProgress: ConstructorParameters<typeof Follower>[3];
  /** Cuts it short. */
  signal: AbortSignal;
}

/**
 * Makes the read models at `path` from the log as it is now, where there are none. They get their name only when they are whole
 * and on the disk, so the draft needs neither journal nor syncs, which would take half of the time. Cut short, even by a power
 * cut, it leaves a draft that the next one begins anew; a full disk leaves the work to the follower, which waits for room.
 */
export async function rebuildMissing(rebuild: Rebuild): Promise<void> {
  const { store, path, projections, onProgress, signal } = rebuild;
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
