import { Injectable } from '@nestjs/common';
import { assertAdministers } from '#access/index.js';
import { Streams } from '#event-store/streams.js';
import type { Caller } from '#kernel/context.js';
import { Refusal, invalid, wrongCursor } from '#kernel/refusal.js';
import { subjectKey } from '#kernel/sealing.js';
import type { Reads } from '#projections/read-database.js';
import { ReadModels } from '#projections/read-models.js';
import { assertOwner, principalTarget, type Target } from './handlers-principals.js';
import { sealsAnything, subjectOfSource } from './projections/subject-queries.js';

/** What a caller may name. */
interface Named {
  subject?: string | undefined;
  source_id?: string | undefined;
  principal?: string | undefined;
}

@Injectable()
export abstract class SubjectHandler {
  constructor(
    protected readonly streams: Streams,
    protected readonly models: ReadModels,
  ) {}

  /**
   * What the caller names, where he may decide about it; refused where nothing is recorded under it, so that a slip of the pen holds and
   * erases nothing.
   */
  protected targetOf(caller: Caller, input: Named): Promise<Target> {
    const { workspace } = caller;
    const { subject, source_id, principal } = input;
    if ([subject, source_id, principal].filter((name) => name !== undefined).length !== 1)
      throw invalid(
        'subject',
        'give `subject`, `source_id` or `principal`, and only one of them',
        'give one of the three',
      );
    if (principal === undefined) assertAdministers(caller);
    return this.models.read((reads) => {
      if (principal !== undefined) return principalNamed(reads, caller, principal);
      const key =
        source_id === undefined
          ? keyOfSubject(reads, workspace, subject ?? '')
          : keyOfSource(reads, workspace, source_id);
      return { workspace, key, uses: [[workspace, key]] };
    });
  }
}

/** Refused as well for who does not own the organisation. */
export function principalNamed(reads: Reads, caller: Caller, id: string): Target {
  assertOwner(reads, caller);
  const target = principalTarget(reads, caller, id);
  if (target) return target;
  throw nothingOf('principal', 'principal', 'GET /v1/principals lists them');
}

function keyOfSubject(reads: Reads, workspace: string, subject: string): string {
  const key = subjectKey(workspace, subject);
  if (sealsAnything(reads, workspace, key)) return key;
  throw nothingOf('subject', 'subject', 'give the id under which its texts were ingested');
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
    issues: [{ path, problem: `is no ${what} that you can see` }],
    fix,
  });
}

/** Which list a caller is shown: that of his workspace, or what there is of one subject or principal. */
export function listedOf(
  reads: Reads,
  caller: Caller,
  { subject, principal }: Omit<Named, 'source_id'>,
): { workspace: string; key: string | undefined } {
  if (principal !== undefined && subject === undefined)
    return principalNamed(reads, caller, principal);
  assertAdministers(caller);
  if (principal !== undefined)
    throw invalid('subject', 'give `subject` or `principal`, not both', 'give one of the two');
  const { workspace } = caller;
  const key = subject === undefined ? undefined : subjectKey(workspace, subject);
  return { workspace, key };
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
