import type { DecisionView } from '#decisions/contract.js';
import type { Coverage } from '#event-store/ledger-check.js';
import type { Json } from '#kernel/json.js';
import { inline, type Paint } from './output.js';

/** A date as it was written; a recorded instant to the minute, in UTC, so that every machine prints the same. */
export function when(text: string): string {
  const instant = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2})(?::\d{2}(?:\.\d+)?)?Z$/.exec(text);
  return instant ? `${instant[1] ?? ''} ${instant[2] ?? ''} UTC` : inline(text);
}

export function scopeText(scope: Readonly<Record<string, string>>): string {
  const parts = Object.entries(scope).map(([name, value]) => `${inline(name)}=${inline(value)}`);
  return parts.length === 0 ? 'everything' : parts.join(', ');
}

export function valueText(value: Json): string {
  return inline(typeof value === 'string' ? value : JSON.stringify(value));
}

export function counted(n: number, one: string, many = `${one}s`): string {
  return `${n} ${n === 1 ? one : many}`;
}

/** A name and what it stands for, in columns. */
export function field(paint: Paint, name: string, text: string, indent = '  '): string {
  return `${indent}${paint.dim(name.padEnd(11))}${text}`;
}

interface Extent extends Pick<Coverage, 'events' | 'last_recorded_at' | 'headers_sha256'> {
  last_position: number | string;
}

/** How far a history goes, and the digest of it. */
export function extentLines(
  { events, last_position, last_recorded_at, headers_sha256 }: Extent,
  paint: Paint,
): string[] {
  return [
    field(paint, 'events', `${events}, until position ${last_position}`),
    field(paint, 'recorded', `until ${last_recorded_at ?? 'never'}`),
    field(paint, 'headers', `SHA-256 ${headers_sha256}`),
  ];
}

/** A title over groups of lines; nothing where there are none. */
export function section(
  paint: Paint,
  title: string,
  groups: readonly (readonly string[])[],
): string[] {
  return groups.length === 0 ? [] : ['', paint.bold(title), ...groups.flat()];
}

/** A verbatim quote: every line of it is marked as one. */
export function quoted(paint: Paint, text: readonly string[], indent = '  '): string[] {
  return text.map((line) => `${indent}${paint.dim('│')} ${line}`.trimEnd());
}

/** `2023-01-01 to 2024-03-01`, as far as it is stated. */
export function validityText(decision: DecisionView): string {
  const { effective_from: from, effective_to, ended_at } = decision;
  const to = ended_at?.replace(/T00:00:00(?:\.0+)?Z$/, '') ?? effective_to;
  const start = from === undefined ? `its approval (${when(decision.approved_at)})` : when(from);
  return to === undefined ? `since ${start}` : `${start} to ${when(to)}`;
}

/** Reason words of the server, for people. What is not listed is shown as it comes. */
const REASONS: Readonly<Record<string, string>> = {
  awaiting_review: 'proposed as a candidate',
  confirms_head: 'says the same as the decision in force: added as its evidence',
  empty: 'no text in it',
  evidence_unverified: 'no verified quote supports it',
  index: 'an index',
  no_decision_text: 'no text of it states what was decided',
  readme: 'a readme',
  requires_governor: 'needs the approval of somebody who may govern',
  status_deprecated: 'its status is deprecated',
  status_draft: 'its status is draft',
  status_proposed: 'its status is proposed',
  status_rejected: 'its status is rejected',
  status_unrecognised: 'its status is not one that is known',
  status_unstated: 'it states no status',
  superseded_without_approved_successor: 'superseded, but nothing approved replaces it',
  supersession_ring: 'supersedes itself by a ring of links',
  template: 'a template',
  topic_unassigned: 'names no topic',
};

const DUPLICATE = /^duplicate of \S+, which is (\w+)$/;

/** One or more reason words, joined as the server joins them. */
export function reasonText(reason: string): string {
  const duplicate = DUPLICATE.exec(reason);
  if (duplicate) return `already in the ledger, ${duplicate[1] ?? ''}`;
  if (reason.startsWith('conflict_opened '))
    return 'contradicts a decision in force: a conflict is open';
  const parts = reason.split(', ').map(partText);
  if (parts.every((part) => part !== undefined)) return parts.join('; ');
  // A word with an explanation of its own.
  return inline(reason.replace(/^[a-z_]+: /, ''));
}

const READER = 'extracted_by ';

function partText(part: string): string | undefined {
  return part.startsWith(READER) ? `found by ${inline(part.slice(READER.length))}` : REASONS[part];
}

export function findingText(kind: string): string {
  return inline(kind.replace(/^one_sided_/, 'one-sided_').replaceAll('_', ' '));
}
