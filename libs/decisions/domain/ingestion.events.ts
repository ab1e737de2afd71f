import type { Json } from '#kernel/json.js';
import { t } from '#kernel/schema.js';
import { codec, type EventOf } from '#kernel/vocabulary.js';

const outcome = { index: t.Integer(), path: t.Optional(t.String()), topic: t.Optional(t.String()) };

/** Ids of the keys that seal the personal text of an event; absent in version 1, and where nothing is sealed. */
const keys = t.Optional(t.Array(t.String()));
/** Version 1 had no keys, and nothing was sealed. */
const upcasts = { 1: (data: Json) => data };

/** Stream `ingestion-<workspace>-<job>`: what was handed in, and what became of each record. */
const vocabulary = {
  IngestionSubmitted: {
    version: 2,
    schema: t.Object({
      job_id: t.String(),
      /** SHA-256 over everything that was handed in: what a request_id is bound to. */
      content_sha256: t.String(),
      /** Blob with the canonical JSON of everything that was handed in but the texts, which are blobs themselves. */
      manifest_sha256: t.String(),
      /** SHA-256 of that blob where it is sealed, with all of the `keys`. */
      manifest_blob: t.Optional(t.String()),
      keys,
      records_total: t.Integer(),
      /** Whether the submitter governed decisions at that moment. */
      governor: t.Boolean(),
      /** True: the organisation wanted another person than the proposer to approve. */
      four_eyes: t.Optional(t.Boolean()),
      /** Zone in which dates without a time are read. */
      zone: t.String(),
      request_id: t.Optional(t.String()),
    }),
    upcasts,
  },
  /** A further reader took candidates from the text, beside those that were handed in or marked. */
  IngestionExtracted: {
    version: 2,
    schema: t.Object({
      /** The reader, as its candidates name it. */
      by: t.String(),
      /** Blob with what it found, as records, and what there is to say of it. */
      reading_sha256: t.String(),
      /** SHA-256 of that blob where it is sealed, with the keys of the manifest. */
      reading_blob: t.Optional(t.String()),
      records: t.Integer(),
    }),
    upcasts,
  },
  IngestionRecordStored: {
    version: 2,
    schema: t.Object({ ...outcome, decision_id: t.String(), note: t.Optional(t.String()), keys }),
    upcasts,
    personal: ['path'],
  },
  IngestionRecordSkipped: {
    version: 2,
    schema: t.Object({ ...outcome, reason: t.String(), decision_id: t.Optional(t.String()), keys }),
    upcasts,
    personal: ['path', 'reason'],
  },
  IngestionRecordQueued: {
    version: 2,
    schema: t.Object({ ...outcome, decision_id: t.String(), reasons: t.Array(t.String()), keys }),
    upcasts,
    personal: ['path'],
  },
  IngestionCompleted: {
    version: 2,
    schema: t.Object({
      /** Those of the documents that the findings name. */
      keys,
      stored: t.Integer(),
      skipped: t.Integer(),
      queued: t.Integer(),
      findings: t.Array(
        t.Object({ kind: t.String(), documents: t.Array(t.String()), detail: t.String() }),
      ),
    }),
    upcasts,
    personal: ['findings'],
  },
} as const;

export const ingestionCodec = codec(vocabulary);
export type IngestionEvent = EventOf<typeof vocabulary>;
export type Submitted = Extract<IngestionEvent, { type: 'IngestionSubmitted' }>['data'];
export type OutcomeEvent = Extract<
  IngestionEvent,
  { type: 'IngestionRecordStored' | 'IngestionRecordSkipped' | 'IngestionRecordQueued' }
>;
export type FindingData = Extract<
  IngestionEvent,
  { type: 'IngestionCompleted' }
>['data']['findings'][number];
