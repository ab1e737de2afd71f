import type { RecordedEvent } from '#event-store/event-store.js';
import type { Json } from '#kernel/json.js';
import type { Reads } from '#projections/read-database.js';
import { subjectCodec } from '../domain/subject.events.js';

/** An erasure or a legal hold, as an auditor reads it. Nothing in it tells who the subject is. */
export interface SubjectChange {
  position: string;
  recorded_at: string;
  kind: 'erasure_requested' | 'erased' | 'hold_placed' | 'hold_released';
  actor: string;
  /** Id of the erasure or of the hold. */
  id: string;
  /** Of an erasure the ground, of a hold its matter. */
  reason?: string;
  reference?: string;
  sources?: string[];
}

/** The streams of all subjects that were erased or held. */
export function subjectStreamsOf(reads: Reads, workspace: string): string[] {
  return reads
    .all(
      `SELECT key FROM subject_erased WHERE workspace = ?1
        UNION SELECT key FROM legal_hold WHERE workspace = ?1 ORDER BY key`,
      workspace,
    )
    .map((row) => `subject-${workspace}-${row['key'] as string}`);
}

/** What an event of such a stream says; undefined for one that this build does not know. */
export function subjectChange(event: RecordedEvent): SubjectChange | undefined {
  const { type, version, payload, recordedAt, actor } = event;
  const known = subjectCodec.decode(type, version, JSON.parse(payload) as Json);
  if (!known) return undefined;
  const frame = {
    position: String(event.position),
    recorded_at: recordedAt,
    actor: actor.principal,
  };
  const grounds = ({ reason, reference }: { reason: string; reference?: string }) => ({
    reason,
    ...(reference === undefined ? {} : { reference }),
  });
  switch (known.type) {
    case 'LegalHoldPlaced':
      return { ...frame, kind: 'hold_placed', id: known.data.hold, reason: known.data.matter };
    case 'LegalHoldReleased':
      return { ...frame, kind: 'hold_released', id: known.data.hold };
    case 'ErasureRequested':
      return {
        ...frame,
        kind: 'erasure_requested',
        id: known.data.erasure,
        ...grounds(known.data),
      };
    case 'SubjectErased': {
      const { erasure, sources } = known.data;
      return { ...frame, kind: 'erased', id: erasure, ...grounds(known.data), sources };
    }
  }
}
