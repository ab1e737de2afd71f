import { unreachable, type Decider } from '#kernel/decider.js';
import { derivedId } from '#kernel/json.js';
import { Refusal } from '#kernel/refusal.js';
import type { ErasureReason, SubjectData, SubjectEvent, Touched } from './subject.events.js';

export interface Grounds {
  reason: ErasureReason;
  reference?: string;
}

export interface Subject {
  /** Matters by hold. */
  holds: Map<string, string>;
  /** Holds that were released. */
  released: Set<string>;
  request: (Grounds & { by: string; atMs: number }) | undefined;
  /** With every key that is to be destroyed. */
  erased: { keys: string[] } | undefined;
}

export type SubjectCommand =
  | { type: 'Hold'; hold: string; key: string; matter: string; whose?: { of: 'principal' } }
  | { type: 'Release'; hold: string; key: string }
  | {
      type: 'Erase';
      erasure: string;
      key: string;
      grounds: Grounds;
      touched: Touched;
      /** Of very many the first ones. */
      sources: readonly string[];
      /** Where it is somebody who acts; with the keys of his own words. */
      whose?: { of: 'principal'; also: string[] };
      by: string;
      /** Nobody erases alone. */
      fourEyes: boolean;
      nowMs: number;
    };

/** A request that nobody confirmed in this time is void: whoever confirms must still mean it. */
export const REQUEST_VALID_MS = 30 * 86_400_000;
/** Ids of sources that one erasure lists. */
export const SOURCES_LISTED = 1_000;

/** A key is erased at most once, so that its erasure has an id before it is there: asked for again, it is the same. */
export function erasureId(workspace: string, key: string): string {
  return `era_${derivedId('erasure', workspace, key).replaceAll('-', '').slice(0, 20)}`;
}

/** One hold for each matter. */
export function holdId(workspace: string, key: string, matter: string): string {
  return `hold_${derivedId('legal-hold', workspace, key, matter).replaceAll('-', '').slice(0, 20)}`;
}

export const subjectDecider: Decider<Subject, SubjectCommand, SubjectEvent> = {
  initial: () => ({ holds: new Map(), released: new Set(), request: undefined, erased: undefined }),
  decide(command, subject) {
    switch (command.type) {
      case 'Hold':
        return place(command, subject);
      case 'Release':
        return release(command, subject);
      case 'Erase':
        return erase(command, subject);
      default:
        return unreachable(command);
    }
  },
  evolve(subject, event, recordedAt) {
    switch (event.type) {
      case 'LegalHoldPlaced':
        subject.holds.set(event.data.hold, event.data.matter);
        break;
      case 'LegalHoldReleased':
        subject.holds.delete(event.data.hold);
        subject.released.add(event.data.hold);
        break;
      case 'ErasureRequested':
        subject.request = { ...event.data, atMs: recordedAt };
        break;
      case 'SubjectErased':
        subject.erased = { keys: keysOf(event.data) };
        break;
      default:
        unreachable(event);
    }
    return subject;
  },
};

/** Every key that an erasure destroys. */
export function keysOf({ key, also = [] }: SubjectData<'SubjectErased'>): string[] {
  return [...new Set([key, ...also])];
}

function place(
  { hold, key, matter, whose }: Extract<SubjectCommand, { type: 'Hold' }>,
  { holds, erased }: Subject,
): SubjectEvent[] {
  if (erased)
    throw new Refusal('conflict', 'subject_erased', 'it was erased: nothing is left to hold', {
      fix: 'GET /v1/erasures says when and why',
    });
  return holds.has(hold)
    ? []
    : [{ type: 'LegalHoldPlaced', data: { hold, key, matter, ...whose } }];
}

function release(
  { hold, key }: Extract<SubjectCommand, { type: 'Release' }>,
  { holds, released }: Subject,
): SubjectEvent[] {
  if (holds.has(hold)) return [{ type: 'LegalHoldReleased', data: { hold, key } }];
  if (released.has(hold)) return [];
  throw new Refusal('not_found', 'unknown_hold', `no legal hold ${hold}`, { path: 'hold_id' });
}

function erase(
  command: Extract<SubjectCommand, { type: 'Erase' }>,
  { holds, request, erased }: Subject,
): SubjectEvent[] {
  if (erased) return [];
  if (holds.size > 0) throw held([...holds.values()]);
  const { erasure, key, grounds, by, touched, sources, whose, fourEyes, nowMs } = command;
  const valid = request && nowMs - request.atMs < REQUEST_VALID_MS ? request : undefined;
  if (fourEyes && valid?.by === by) return [];
  if (fourEyes && !valid)
    return [{ type: 'ErasureRequested', data: { erasure, key, ...grounds, by } }];
  const requested = fourEyes && valid ? { requested_by: valid.by } : {};
  return [
    {
      type: 'SubjectErased',
      data: {
        erasure,
        key,
        ...grounds,
        ...requested,
        touched,
        sources: [...sources],
        ...whose,
      },
    },
  ];
}

/** Refusal of an erasure while a matter needs the texts. */
function held(matters: readonly string[]): Refusal {
  return new Refusal('conflict', 'legal_hold', `a legal hold keeps it: ${matters.join(', ')}`, {
    issues: matters.map((matter) => ({ path: 'matter', problem: `${matter} needs these texts` })),
    fix: 'erase once every hold is released; GET /v1/legal-holds lists them',
  });
}
