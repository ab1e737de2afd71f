import type { Position, RecordedEvent } from '#event-store/event-store.js';
import type { Reads } from './read-database.js';

/** Where in the log an event stands: the recorded time that readers see of it, and its append so far. */
export interface Place {
  /** Writers with clocks of their own may interleave; readers see it never decrease. */
  recordedAt: string;
  stream: string;
  causation: string;
  revision: number;
  /** Position of the first event of the append. */
  first: Position;
}

/** Before the first event. */
export const NOWHERE: Place = { recordedAt: '', stream: '', causation: '', revision: -1, first: 0 };

/** Where an event stands that comes right after another one. */
export function placeOf(event: RecordedEvent, before: Place): Place {
  const { stream, causation, revision, position, recordedAt } = event;
  const isNext =
    stream === before.stream && causation === before.causation && revision === before.revision + 1;
  return {
    recordedAt: recordedAt > before.recordedAt ? recordedAt : before.recordedAt,
    stream,
    causation,
    revision,
    first: isNext ? before.first : position,
  };
}

/** Of the event that the read models saw last; undefined where they saw none, or do not say. */
export function lastPlace(
  db: Reads,
): (Pick<Place, 'stream' | 'revision' | 'causation'> & { position: Position }) | undefined {
  const columns = db.all(`SELECT name FROM pragma_table_info('checkpoint')`);
  if (!columns.some(({ name }) => name === 'place')) return undefined;
  const last = db.get('SELECT position, place FROM checkpoint ORDER BY position DESC LIMIT 1');
  const position = (last?.['position'] ?? 0) as Position;
  if (!last || position === 0) return undefined;
  return { ...(JSON.parse(last['place'] as string) as Place), position };
}
