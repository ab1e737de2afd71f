import type {
  Answer,
  ConflictSummary,
  DecisionView,
  Evidence,
  TopicRef,
} from '#decisions/contract.js';
import { inline, lines, type Paint } from './output.js';
import { field, quoted, scopeText, section, validityText, valueText, when } from './words.js';

/** An answer, or one that was read and given to nobody. */
export type Reading = Omit<Answer, 'answered_at'>;

/** An answer for a person: the verdict first, then what it rests on, then what else there is. `asOf`: the date that was asked for. */
export function answerLines(answer: Reading, asOf: string | undefined, paint: Paint): string[] {
  const { state, decision, topic, reason, known_at } = answer;
  const told = [
    ...(topic ? [field(paint, 'topic', named(topic, paint))] : []),
    ...(decision ? decisionFields(decision, paint) : []),
    ...(decision && state !== 'verified' ? [field(paint, 'why', inline(reason))] : []),
    ...(asOf === undefined ? [] : [field(paint, 'as of', when(asOf))]),
    ...(known_at === undefined ? [] : [field(paint, 'known at', when(known_at))]),
  ];
  return [
    `${label(answer, paint)}  ${paint.bold(inline(decision ? decision.statement : reason))}`,
    ...(told.length > 0 ? ['', ...told] : []),
    ...alternatives(answer, paint),
    ...section(
      paint,
      'Evidence',
      answer.evidence.map((e) => excerpt(e, answer, paint)),
    ),
    ...section(paint, 'Open conflicts', [
      ...answer.conflicts.map((c) => conflict(c, answer, paint)),
      ...(answer.conflicts_total === undefined
        ? []
        : [[`  … of ${answer.conflicts_total}: precedent conflicts shows all of them`]]),
    ]),
    ...history(answer, paint),
    ...candidates(answer, paint),
    ...(answer.call_id === undefined ? [] : ['', field(paint, 'call', inline(answer.call_id))]),
  ];
}

function label({ state, label }: Reading, paint: Paint): string {
  const text = paint.bold(inline(label));
  if (state === 'verified') return paint.green(text);
  return state === 'contested' ? paint.red(text) : paint.yellow(text);
}

export function named({ topic, name }: TopicRef, paint: Paint): string {
  return topic === name ? inline(name) : `${inline(name)}  ${paint.dim(inline(topic))}`;
}

export function decisionFields(decision: DecisionView, paint: Paint, indent = '  '): string[] {
  const { value, decided_at, approved_by, erased } = decision;
  const gone = erased && `${when(erased.at)}, ${inline(erased.reason)}  ${inline(erased.erasure)}`;
  return [
    ...(gone === undefined ? [] : [field(paint, 'erased', gone, indent)]),
    ...(value === undefined ? [] : [field(paint, 'value', valueText(value), indent)]),
    field(paint, 'scope', scopeText(decision.scope), indent),
    field(paint, 'in force', validityText(decision), indent),
    ...(decided_at === undefined ? [] : [field(paint, 'decided', when(decided_at), indent)]),
    ...approved_by.map(({ principal, name, at }, i) =>
      field(
        paint,
        i === 0 ? 'approved' : 'confirmed',
        `by ${inline(name ?? principal)}, ${when(at)}`,
        indent,
      ),
    ),
    field(paint, 'id', inline(decision.id), indent),
  ];
}

function alternatives({ state, decision, alternatives }: Reading, paint: Paint): string[] {
  const beside = decision ? 'Also in force' : 'In force for particular scopes';
  return section(
    paint,
    state === 'contested' ? 'In force at once' : beside,
    alternatives.map((d) => [`  ${inline(d.statement)}`, ...decisionFields(d, paint, '    ')]),
  );
}

function excerpt(evidence: Evidence, { sources }: Reading, paint: Paint): string[] {
  const source = sources.find((s) => s.source_id === evidence.source_id);
  const { title, type, document, author, occurred_at, uri } = source ?? {
    title: evidence.source_id,
  };
  const about = [document ?? type, author, uri].filter((text) => text !== undefined).map(inline);
  if (occurred_at !== undefined) about.push(when(occurred_at));
  const origin = about.length === 0 ? inline(title) : `${inline(title)} (${about.join(', ')})`;
  return [...quoted(paint, lines(evidence.excerpt)), `    ${paint.dim(`from ${origin}`)}`];
}

/** Every decision that the answer shows: ids are for programs, people know statements. */
function decisionsIn({ decision, alternatives, history }: Reading): DecisionView[] {
  return [...(decision ? [decision] : []), ...alternatives, ...history];
}

function conflict(conflict: ConflictSummary, answer: Reading, paint: Paint): string[] {
  const statement = (id: string): string => {
    const decision = decisionsIn(answer).find((d) => d.id === id);
    return decision ? `${inline(decision.statement)}  ${paint.dim(inline(id))}` : inline(id);
  };
  return [
    `  ${inline(conflict.id)}`,
    ...conflict.claims.map((id) => `    ${statement(id)}`),
    ...(conflict.claims_total === undefined ? [] : [`    … of ${conflict.claims_total}`]),
    ...conflict.would_be_resolved_by.map((what) => `    would be settled by ${inline(what)}`),
  ];
}

function history(answer: Reading, paint: Paint): string[] {
  const { history, history_truncated } = answer;
  const statementOf = new Map(decisionsIn(answer).map((d) => [d.id, d.statement]));
  const shown = history.map((d) => {
    const by = d.superseded_by;
    const successor =
      by === undefined ? '' : `, superseded by ${inline(statementOf.get(by) ?? by)}`;
    const why = d.end_reason === undefined ? '' : `: ${inline(d.end_reason)}`;
    const end = d.state === 'revoked' ? `, revoked${why}` : successor;
    return [`  ${inline(d.statement)}`, `    ${paint.dim(`${validityText(d)}${end}`)}`];
  });
  const more = history_truncated ? [['  … and more: precedent history shows all of it']] : [];
  return section(paint, 'No longer in force', [...shown, ...more]);
}

function candidates({ candidate_topics, candidate_excerpts }: Reading, paint: Paint): string[] {
  return section(
    paint,
    'Did you mean',
    candidate_topics.map((topic) => [
      `  ${named(topic, paint)}`,
      ...candidate_excerpts
        .filter((e) => e.topic === topic.topic)
        .slice(0, 1)
        .flatMap((e) => quoted(paint, [clipped(inline(e.excerpt))], '    ')),
    ]),
  ).concat(passages(candidate_excerpts, paint));
}

const PASSAGES = 3;

/** Sources that resemble the question and belong to no topic yet. */
function passages(excerpts: Answer['candidate_excerpts'], paint: Paint): string[] {
  return section(
    paint,
    'Passages that resemble the question',
    excerpts
      .filter(({ topic }) => topic === undefined)
      .slice(0, PASSAGES)
      .map((e) => [`  ${inline(e.title)}`, ...quoted(paint, [clipped(inline(e.excerpt))], '    ')]),
  );
}

const CLIPPED = 120;

/** Enough of a suggestion to recognise it; the whole is in the JSON. */
function clipped(text: string): string {
  const characters = Array.from(text);
  return characters.length > CLIPPED ? `${characters.slice(0, CLIPPED).join('')}…` : text;
}
