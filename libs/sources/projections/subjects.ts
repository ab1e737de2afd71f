import type { RecordedEvent } from '#event-store/event-store.js';
import type { Json } from '#kernel/json.js';
import { projection, when, type Meta, type Projection } from '#projections/projection.js';
import type { Writes } from '#projections/read-database.js';
import { subjectCodec, type SubjectData } from '../domain/subject.events.js';

/** What the texts that a key seals belong to. */
export type UseKind = 'source' | 'decision' | 'answer' | 'job' | 'other';

const handlers = when(subjectCodec, {
  LegalHoldPlaced(tables, data, meta) {
    tables.run(
      'INSERT OR REPLACE INTO legal_hold VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL)',
      meta.workspace,
      data.hold,
      data.key,
      data.matter,
      data.of ?? null,
      meta.position,
      meta.actor.principal,
      meta.recordedAt,
    );
  },
  LegalHoldReleased(tables, data, meta) {
    tables.run(
      'UPDATE legal_hold SET released_by = ?, released_at = ? WHERE workspace = ? AND id = ?',
      meta.actor.principal,
      meta.recordedAt,
      meta.workspace,
      data.hold,
    );
  },
  SubjectErased(tables, data, meta) {
    erased(tables, data, meta);
  },
});

/**
 * What every key seals, what was erased and what may not be. The uses are read off the events themselves, of whatever kind: one
 * that begins to seal texts is found by the next erasure without a line here.
 */
export const subjects: Projection = {
  ...projection(
    'subjects',
    2,
    {
      subject_use: `CREATE TABLE subject_use (
        workspace TEXT NOT NULL, key TEXT NOT NULL, kind TEXT NOT NULL, ref TEXT NOT NULL, position INTEGER NOT NULL,
        PRIMARY KEY (workspace, key, kind, ref)) WITHOUT ROWID;
        CREATE INDEX subject_use_ref ON subject_use (workspace, kind, ref)`,
      subject_erased: `CREATE TABLE subject_erased (
        workspace TEXT NOT NULL, key TEXT NOT NULL, id TEXT NOT NULL, position INTEGER NOT NULL, recorded_at TEXT NOT NULL,
        actor TEXT NOT NULL, body TEXT NOT NULL,
        PRIMARY KEY (workspace, key)) WITHOUT ROWID;
        CREATE INDEX subject_erased_id ON subject_erased (workspace, id);
        CREATE INDEX subject_erased_order ON subject_erased (workspace, position)`,
      legal_hold: `CREATE TABLE legal_hold (
        workspace TEXT NOT NULL, id TEXT NOT NULL, key TEXT NOT NULL, matter TEXT NOT NULL, of TEXT,
        position INTEGER NOT NULL, placed_by TEXT NOT NULL, placed_at TEXT NOT NULL, released_by TEXT, released_at TEXT,
        PRIMARY KEY (workspace, id)) WITHOUT ROWID;
        CREATE INDEX legal_hold_order ON legal_hold (workspace, position);
        CREATE INDEX legal_hold_key ON legal_hold (workspace, key)`,
    },
    handlers,
  ),
  every(tables, events) {
    for (const event of events) noteUses(tables, event);
  },
};

/** In a sealed text, and where an event names keys of what it does not hold itself. */
const KEYS = /\bk_[0-9a-f]{24}\b/g;

function noteUses(tables: Writes, event: RecordedEvent): void {
  const { payload, stream } = event;
  if (!payload.includes('k_') || stream.startsWith('subject-')) return;
  const keys = new Set(payload.match(KEYS));
  if (keys.size === 0) return;
  const { kind, ref } = useOf(event);
  for (const key of keys)
    tables.run(
      'INSERT OR IGNORE INTO subject_use VALUES (?, ?, ?, ?, ?)',
      event.workspace,
      key,
      kind,
      ref,
      event.position,
    );
}

/** A topic's event is about one decision or conflict; any other about its stream. */
function useOf({ stream, workspace, payload }: RecordedEvent): { kind: UseKind; ref: string } {
  const name = stream.slice(0, stream.indexOf('-'));
  const ref = stream.slice(`${name}-${workspace}-`.length);
  switch (name) {
    case 'source':
    case 'answer':
      return { kind: name, ref };
    case 'ingestion':
      return { kind: 'job', ref };
    case 'topic': {
      const about = (JSON.parse(payload) as Readonly<Record<string, Json>>)['decision_id'];
      if (typeof about === 'string') return { kind: 'decision', ref: about };
      return { kind: 'other', ref: stream };
    }
    default:
      return { kind: 'other', ref: stream };
  }
}

function erased(tables: Writes, data: SubjectData<'SubjectErased'>, meta: Meta): void {
  tables.run(
    'INSERT OR IGNORE INTO subject_erased VALUES (?, ?, ?, ?, ?, ?, ?)',
    meta.workspace,
    data.key,
    data.erasure,
    meta.position,
    meta.recordedAt,
    meta.actor.principal,
    JSON.stringify(data),
  );
}
