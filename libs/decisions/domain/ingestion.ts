import { unreachable, type Decider } from '#kernel/decider.js';
import { Refusal } from '#kernel/refusal.js';
import type { FindingData, IngestionEvent, OutcomeEvent, Submitted } from './ingestion.events.js';

export type Ingestion =
  | { status: 'absent' }
  | {
      status: 'running' | 'completed';
      content: string;
      total: number;
      /** Blob with what a further reader found, once it has read. */
      reading?: { sha256: string; blob?: string | undefined };
      /** Records whose outcome is known, each in its topic. */
      done: Set<string>;
      counts: { stored: number; skipped: number; queued: number };
    };

export type IngestionCommand =
  | { type: 'Submit'; submission: Submitted }
  | {
      type: 'Extract';
      by: string;
      reading: { sha256: string; blob?: string | undefined };
      records: number;
    }
  | { type: 'Report'; outcomes: readonly OutcomeEvent[] }
  | { type: 'Complete'; findings: readonly FindingData[]; keys: readonly string[] };

type Extract = IngestionCommand & { type: 'Extract' };

function decide(command: IngestionCommand, job: Ingestion): IngestionEvent[] {
  if (command.type === 'Submit') return submit(command.submission, job);
  if (job.status !== 'running') return [];
  switch (command.type) {
    case 'Extract':
      return job.reading === undefined ? [extracted(command)] : [];
    case 'Report':
      return command.outcomes.filter((o) => !job.done.has(keyOf(o.data)));
    case 'Complete':
      return [
        {
          type: 'IngestionCompleted',
          data: { ...job.counts, findings: [...command.findings], keys: [...command.keys] },
        },
      ];
    default:
      return unreachable(command);
  }
}

function extracted({ by, reading, records }: Extract): IngestionEvent {
  const { sha256, blob } = reading;
  const sealed = blob === undefined ? {} : { reading_blob: blob };
  return { type: 'IngestionExtracted', data: { by, reading_sha256: sha256, ...sealed, records } };
}

/** The same content under the same key is the same job (B01); other content is refused (B02). */
function submit(submission: Submitted, job: Ingestion): IngestionEvent[] {
  if (job.status === 'absent') return [{ type: 'IngestionSubmitted', data: submission }];
  assertSameContent(job, submission.content_sha256);
  return [];
}

/** Throws where the job's key is bound to other content. */
export function assertSameContent(job: Ingestion, content: string): void {
  if (job.status === 'absent' || job.content === content) return;
  throw new Refusal(
    'key_reused',
    'request_id_conflict',
    'this request_id was used for other content',
    {
      path: 'request_id',
      issues: [{ path: 'request_id', problem: `bound to the content with hash ${job.content}` }],
      fix: 'use a new request_id for new content',
    },
  );
}

function evolve(job: Ingestion, event: IngestionEvent): Ingestion {
  if (event.type === 'IngestionSubmitted')
    return {
      status: 'running',
      content: event.data.content_sha256,
      total: event.data.records_total,
      done: new Set(),
      counts: { stored: 0, skipped: 0, queued: 0 },
    };
  if (job.status === 'absent') return job;
  switch (event.type) {
    case 'IngestionExtracted':
      job.reading = { sha256: event.data.reading_sha256, blob: event.data.reading_blob };
      job.total += event.data.records;
      return job;
    case 'IngestionRecordStored':
      return counted(job, keyOf(event.data), 'stored');
    case 'IngestionRecordSkipped':
      return counted(job, keyOf(event.data), 'skipped');
    case 'IngestionRecordQueued':
      return counted(job, keyOf(event.data), 'queued');
    case 'IngestionCompleted':
      job.status = 'completed';
      return job;
    default:
      return unreachable(event);
  }
}

function keyOf(record: { index: number; topic?: string }): string {
  return `${record.index} ${record.topic ?? ''}`;
}

function counted(
  job: Exclude<Ingestion, { status: 'absent' }>,
  key: string,
  outcome: 'stored' | 'skipped' | 'queued',
): Ingestion {
  job.done.add(key);
  job.counts[outcome] += 1;
  return job;
}

export const ingestionDecider: Decider<Ingestion, IngestionCommand, IngestionEvent> = {
  initial: () => ({ status: 'absent' }),
  decide,
  evolve,
};
