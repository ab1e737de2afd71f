import type { AccessChange } from '#access/index.js';
import type { OntologyChange, Standing, TopicChange } from '#decisions/index.js';
import type { SubjectChange } from '#sources/index.js';
import { decisionFields } from './answer-text.js';
import { inline, type Paint } from './output.js';
import { counted, scopeText, when } from './words.js';

/** One line of the log that changed what is decided, by which words, or by whom. */
export type Change =
  | ({ area: 'decisions' } & TopicChange)
  | ({ area: 'ontology' } & OntologyChange)
  | ({ area: 'access' } & AccessChange)
  | ({ area: 'subjects' } & SubjectChange);

const MARKS = { from: '-', to: '+', both: ' ' } as const;

/** Marked like a line of a text diff. */
export function standingLines(
  { in_force, topic_name, decision }: Standing,
  paint: Paint,
): string[] {
  const line = `${MARKS[in_force]} ${inline(topic_name)}: ${inline(decision.statement)}`;
  const colour = { from: paint.red, to: paint.green, both: (text: string) => text }[in_force];
  if (in_force === 'both') return [line];
  return [colour(line), ...decisionFields(decision, paint, '    ')];
}

/** When and where it was recorded, what it is, and below what belongs to it. */
export function changeLines(change: Change, paint: Paint): string[] {
  const head = (what: string, text: string): string =>
    `  ${paint.dim(`${when(change.recorded_at)}  ${change.position.padStart(6)}`)}  ${what.padEnd(20)}  ${text}`;
  switch (change.area) {
    case 'decisions':
      return [
        head(words(change.kind), `${inline(change.topic_name)}: ${inline(change.statement)}`),
        detail(paint, topicDetail(change)),
      ];
    case 'ontology':
      return [
        head('ontology', `version ${change.version} by ${inline(change.approved_by)}`),
        ...change.diff.map((d) =>
          detail(paint, [
            d.kind,
            words(d.what),
            d.id,
            d.field,
            d.before,
            d.after && `→ ${d.after}`,
          ]),
        ),
      ];
    case 'access':
      return [
        head(words(change.kind), accessText(change)),
        detail(paint, [`by ${change.actor}`, change.reason]),
      ];
    case 'subjects':
      return [
        head(words(change.kind), inline(change.id)),
        detail(paint, [
          `by ${change.actor}`,
          change.reason,
          change.reference,
          change.sources && `sources: ${change.sources.join(', ')}`,
        ]),
      ];
  }
}

function topicDetail(change: TopicChange): (string | undefined)[] {
  const scope =
    Object.keys(change.scope).length === 0 ? undefined : `for ${scopeText(change.scope)}`;
  const by =
    change.superseded_by === undefined ? undefined : `superseded by ${change.superseded_by}`;
  return [change.decision_id, `by ${change.actor}`, scope, by, change.reason];
}

function accessText({ principal, principal_kind, role, key, value }: AccessChange): string {
  const parts = [principal, principal_kind, role && `as ${role}`, key && `key ${key}`, value];
  return inline(parts.filter((part) => part !== undefined && part !== '').join(', '));
}

function detail(paint: Paint, parts: readonly (string | undefined)[]): string {
  const told = parts
    .filter((part) => part !== undefined && part !== '')
    .map((part) => inline(part ?? ''));
  return `      ${paint.dim(told.join('  '))}`;
}

/** How many changes there were of each kind. */
export function countLines(counts: Readonly<Record<string, number>>, paint: Paint): string[] {
  const all = Object.entries(counts);
  if (all.length === 0) return ['  Nothing was recorded in between.'];
  const total = all.reduce((n, [, count]) => n + count, 0);
  return [
    '',
    paint.bold(counted(total, 'change')),
    ...all.map(([kind, count]) => `  ${String(count).padStart(6)}  ${words(kind)}`),
  ];
}

function words(kind: string): string {
  return inline(kind.replaceAll('_', ' '));
}
