import type { IngestReceipt, Ingestion } from '#decisions/contract-ingestion.js';
import type { Api } from './api.js';
import { EXIT, Failure } from './failure.js';
import { interruption, pause } from './interruption.js';

/** Milliseconds between two looks: often at first, for most jobs are short. */
const FIRST_PAUSE = 25;
const LONGEST_PAUSE = 1_000;
/** Milliseconds without progress, and without a reply, after which the end is no longer waited for. */
const STALLED = 60_000;
const LOST = 15_000;

export interface Followed {
  /** As it was last seen. */
  job: Ingestion;
  /** Why it is followed no longer although it is not completed. */
  why?: string;
}

/**
 * Looks at a job until it is completed, nothing moves any more, the server is gone, the user has had enough, or `abandoned` says that
 * nobody wants to know.
 */
export async function followJob(
  api: Api,
  receipt: IngestReceipt,
  onProgress: (done: number, total: number) => void,
  abandoned?: AbortSignal,
): Promise<Followed> {
  let job = justSubmitted(receipt);
  let wait = FIRST_PAUSE;
  let seenAt = performance.now();
  let movedAt = seenAt;
  for (;;) {
    const next = await look(api, receipt);
    const now = performance.now();
    if (next) {
      if (doneOf(next) > doneOf(job)) movedAt = now;
      [job, seenAt] = [next, now];
      onProgress(doneOf(job), job.records_total);
    }
    if (job.status === 'completed') return { job };
    if (abandoned?.aborted) return { job, why: 'abandoned' };
    const why = reasonToStop(job, now - seenAt, now - movedAt);
    if (why !== undefined) return { job, why };
    await pause(wait, abandoned);
    wait = Math.min(wait * 1.5, LONGEST_PAUSE);
  }
}

/** Undefined where nobody answers: a server that starts again goes on with the job. */
async function look(api: Api, { job_id = '', position }: IngestReceipt) {
  try {
    return await api.get<Ingestion>(['ingestions', job_id], { at_least: position });
  } catch (error) {
    const gone = error instanceof Failure && GONE.has(error.exit);
    if (gone) return undefined;
    throw error;
  }
}

const GONE: ReadonlySet<number> = new Set([EXIT.unreachable, EXIT.interrupted]);

function reasonToStop(job: Ingestion, unseen: number, unmoved: number): string | undefined {
  if (interruption.aborted) return 'interrupted';
  if (job.status !== 'running') return `the job is ${job.status}`;
  if (unseen > LOST) return 'the server does not answer any more';
  return unmoved > STALLED ? `nothing has moved for ${STALLED / 1000} s` : undefined;
}

function doneOf({ counts }: Ingestion): number {
  return counts.stored + counts.skipped + counts.queued;
}

function justSubmitted({ job_id = '', position = '0', records_total }: IngestReceipt): Ingestion {
  const counts = { stored: 0, skipped: 0, queued: 0 };
  const nothing = { counts, records_total, records: [], findings: [], submitted_at: '' };
  return { job_id, status: 'running', position, ...nothing };
}
