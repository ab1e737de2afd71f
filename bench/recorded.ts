import type { NewEvent, RecordedEvent } from '#event-store/event-store.js';
import { openSqliteReader } from '#event-store/sqlite.js';

/** An event and the place that it has in a ledger. */
export interface Placed {
  stream: string;
  revision: number;
  event: NewEvent;
}

/** What stands in the ledger `dir` after a position, ready to be appended elsewhere. */
export async function eventsAfter(dir: string, after: number): Promise<Placed[]> {
  const reader = openSqliteReader(dir);
  const found: Placed[] = [];
  const options = { signal: new AbortController().signal, live: false };
  for await (const batch of reader.follow(after, options))
    for (const event of batch)
      found.push({ stream: event.stream, revision: event.revision, event: asNew(event) });
  await reader.close();
  return found;
}

function asNew(event: RecordedEvent): NewEvent {
  const { id, type, version, workspace, actor, causation, correlation, payload } = event;
  return { id, type, version, workspace, actor, causation, correlation, payload };
}
