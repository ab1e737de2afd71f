import { Injectable } from '@nestjs/common';
import { Streams } from '#event-store/streams.js';
import type { Caller } from '#kernel/context.js';
import { Refusal, invalid, wrongCursor } from '#kernel/refusal.js';
import { subjectKey } from '#kernel/sealing.js';
import type { Reads } from '#projections/read-database.js';
import { ReadModels } from '#projections/read-models.js';
import { sealsAnything, subjectOfSource } from './projections/subject-queries.js';

/** What a caller may name. */
interface Named {
  subject?: string | undefined;
  source_id?: string | undefined;
}

@Injectable()
export abstract class SubjectHandler {
  constructor(
    protected readonly streams: Streams,
    protected readonly models: ReadModels,
  ) {}

  /** The key of what the caller names; refused where nothing is recorded under it, so that a slip of the pen holds and erases nothing. */
  protected keyOf(caller: Caller, input: Named): Promise<string> {
    const { workspace } = caller;
    const { subject, source_id } = input;
    if ((subject === undefined) === (source_id === undefined))
      throw invalid(
        'subject',
        'give `subject` or `source_id`, and not both',
        'give one of the two',
      );
    return this.models.read((reads) => {
      if (source_id !== undefined) return keyOfSource(reads, workspace, source_id);
      const key = subjectKey(workspace, subject ?? '');
      if (sealsAnything(reads, workspace, key)) return key;
      throw nothingOf('subject', 'subject', 'give the id under which its texts were ingested');
    });
  }
}

function keyOfSource(reads: Reads, workspace: string, id: string): string {
  const source = subjectOfSource(reads, workspace, id);
  if (!source) throw nothingOf('source', 'source_id', 'take the id from an answer or a history');
  if (source.subject !== undefined)
    throw new Refusal('conflict', 'source_of_subject', 'the source belongs to a subject', {
      path: 'source_id',
      issues: [{ path: 'source_id', problem: `is one text of subject ${source.subject}` }],
      fix: 'give `subject` instead: one key seals all of its texts, so they go together',
    });
  const key = subjectKey(workspace, id);
  if (sealsAnything(reads, workspace, key)) return key;
  throw new Refusal('conflict', 'not_sealed', 'the source was recorded without a key', {
    path: 'source_id',
    issues: [{ path: 'source_id', problem: 'was captured before texts were sealed' }],
    fix: 'see "Older ledgers" in docs/guide/erasure.md',
  });
}

export function nothingOf(what: string, path: string, fix: string): Refusal {
  return new Refusal('not_found', `unknown_${what}`, `nothing is recorded of such a ${what}`, {
    path,
    issues: [{ path, problem: `is no ${what} of this workspace` }],
    fix,
  });
}

/** A page of a list in the order of the log: a cursor is a position, so that writes in between neither repeat nor hide an item. */
export function page<T>(
  models: ReadModels,
  {
    cursor = '0',
    limit = 50,
    at_least = '0',
  }: { cursor?: string; limit?: number; at_least?: string },
  list: (reads: Reads, after: number, limit: number, at: string) => { at: number; item: T }[],
): Promise<{ items: T[]; next_cursor?: string; position: string }> {
  if (!/^\d{1,15}$/.test(cursor)) throw wrongCursor();
  return models.read((reads, at) => {
    const found = list(reads, Number(cursor), limit + 1, String(at));
    const shownHere = found.slice(0, limit);
    const last = shownHere.at(-1);
    return {
      items: shownHere.map(({ item }) => item),
      ...(found.length > limit && last ? { next_cursor: String(last.at) } : {}),
      position: String(at),
    };
  }, Number(at_least));
}
