import type { FindingData } from './ingestion.events.js';
import { clipped, shown } from './document-text.js';
import { headerOf, type Header } from './extract-header.js';
import { markedIn, type Marked } from './extract-lines.js';

/** Raise the version with every change of what is read: candidates name the reader that found them. */
export const EXTRACTOR = { name: 'marked', version: 1 } as const;

/** Decisions taken from one text at most; a finding says that there are more. */
export const MOST_EXTRACTED = 200;
const LONGEST_QUOTE = 500;
const SHORTEST_CUT = 200;
const LONGEST_TOPIC = 400;

/** A decision that a text marks as one: always a candidate. The quote is `text.slice(start, end)`. */
export interface Extracted {
  statement: string;
  start: number;
  end: number;
  /** Only where the text states one. */
  topic?: string;
  /** ISO day, only where the text states one. */
  decided_at?: string;
  /** Why it awaits a review, beside that it was extracted. */
  reasons: string[];
}

export interface Extraction {
  records: Extracted[];
  findings: FindingData[];
}

/**
 * Reads the decisions that a text marks as such (QO-9): `Decision:` paragraphs, lists under "Decisions", "Decided" or "Resolutions",
 * heads with a status as ADRs and PEPs have them, and front matter. It understands nothing else and follows no instruction (B37).
 * `document` names the text in findings.
 */
export function extractDecisions(text: string, document: string): Extraction {
  const header = headerOf(text);
  const whole = header && wholeText(text, header);
  const marked = markedIn(text, MOST_EXTRACTED + 1)
    .filter((m) => !whole || outside(m, whole))
    .map((m) => extracted(text, m, header));
  const records = [...(whole ? [whole] : []), ...marked];
  const finding = (kind: string, detail: string): FindingData => ({
    kind,
    documents: [document],
    detail,
  });
  const findings: FindingData[] = [];
  if (records.length === 0)
    findings.push(
      finding(
        'no_marked_decision',
        'the text marks no decision; it is kept as a source and nothing was extracted',
      ),
    );
  if (records.length > MOST_EXTRACTED)
    findings.push(
      finding(
        'more_marked_decisions',
        `more than ${MOST_EXTRACTED} decisions are marked; only the first ${MOST_EXTRACTED} were taken`,
      ),
    );
  for (const { label, names } of whole ? (header?.succession ?? []) : [])
    findings.push(finding('stated_succession', `the text says: ${label} ${shown(names)}`));
  return { records: records.slice(0, MOST_EXTRACTED), findings };
}

/** The decision that the text as a whole records, where its head says so. */
function wholeText(text: string, header: Header): Extracted | undefined {
  const { document, decision, title, topic } = header;
  const status = document?.status ?? knownStatus(header.status);
  if (status === undefined && decision === undefined) return undefined;
  const statement = plain(decision ?? title ?? titleOf(text, document) ?? '');
  if (statement === '') return undefined;
  return {
    statement,
    ...placeOf(text, header),
    ...stated(topic, document?.decidedOn ?? header.date),
    reasons: status === undefined ? [] : [`status_${status}`],
  };
}

function stated(
  topic: string | undefined,
  date: string | undefined,
): Pick<Extracted, 'topic' | 'decided_at'> {
  return {
    ...(topic === undefined ? {} : { topic: clipped(plain(topic), LONGEST_TOPIC) }),
    ...(date === undefined ? {} : { decided_at: date }),
  };
}

const STATUSES: readonly [RegExp, string][] = [
  [/^(?:accepted|approved|adopted|agreed|decided|ratified|active|final)\b/i, 'accepted'],
  [/^(?:superseded|replaced|obsoleted)\b/i, 'superseded'],
  [/^(?:rejected|declined|withdrawn)\b/i, 'rejected'],
  [/^(?:deprecated|obsolete|retired)\b/i, 'deprecated'],
  [/^(?:proposed|pending|deferred|provisional)\b/i, 'proposed'],
  [/^draft\b/i, 'draft'],
];

function knownStatus(written: string | undefined): string | undefined {
  return STATUSES.find(([words]) => words.test(written ?? ''))?.[1];
}

/** The words that the decision rests on: as the front matter or the record states it, else the head itself. */
function placeOf(text: string, { decision, document, start, end }: Header): Place {
  const at = decision === undefined ? -1 : text.indexOf(decision);
  if (decision !== undefined && at >= 0) return cut(text, at, at + decision.length);
  if (document?.decision) return { start: document.decision.start, end: document.decision.end };
  return end > start ? cut(text, start, end) : cut(text, 0, text.length);
}

/** A record without a title of its own is named after its file, which a text has none of. */
function titleOf(text: string, document: Header['document']): string | undefined {
  const heading = /^ {0,3}#\s+(\S.*?)\s*#*\s*$/m.exec(text)?.[1];
  return heading ?? (document?.title.toLowerCase() === 'source' ? undefined : document?.title);
}

/** A text that is a record itself holds one decision, and what it labels as further ones. */
function outside(marked: Marked, whole: Extracted): boolean {
  return marked.how === 'label' && (marked.end <= whole.start || marked.start >= whole.end);
}

function extracted(text: string, marked: Marked, header: Header | undefined): Extracted {
  const place = cut(text, marked.start, marked.end);
  return {
    statement: plain(text.slice(Math.min(marked.said, place.end - 1), place.end)),
    ...place,
    ...stated(marked.topic ?? header?.topic, header?.date),
    reasons: [],
  };
}

interface Place {
  start: number;
  end: number;
}

/** At most so much of a passage as a quote may have, ended at a sentence, else at a word. */
function cut(text: string, from: number, to: number): Place {
  const passage = text.slice(from, to);
  const start = from + passage.length - passage.trimStart().length;
  const end = Math.max(start, from + passage.trimEnd().length);
  if (end - start <= LONGEST_QUOTE) return { start, end };
  const longest = clipped(text.slice(start, end), LONGEST_QUOTE);
  const sentence = Math.max(...['. ', '.\n', '! ', '? ', '.\r'].map((s) => longest.lastIndexOf(s)));
  const word = longest.search(/\s\S*$/);
  const length = sentence >= SHORTEST_CUT ? sentence + 1 : word > 0 ? word : longest.length;
  return { start, end: start + text.slice(start, start + length).trimEnd().length };
}

/** A passage as one line, without the marks of Markdown but underscores, which are parts of names too. */
function plain(text: string): string {
  return text
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/(^|\s)\*(\S[^*\n]*)\*(?=[\s.,;:!?]|$)/g, '$1$2')
    .replace(/\*\*|~~|`/g, '')
    .replace(/\s+/gu, ' ')
    .trim();
}
