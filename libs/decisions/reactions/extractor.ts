import { QUOTE_MAX, verifyQuote } from '#sources/index.js';
import type { ManifestRecord } from '../domain/ingestion-plan.js';
import type { FindingData } from '../domain/ingestion.events.js';

/** What a reader claims to have found: nothing of it is believed before its quote was found in the text. */
export interface ClaimedDecision {
  statement: string;
  quote: string;
}

/** An optional further reader of plain texts. It may fail, be slow, or be talked into anything by the text that it reads. */
export interface Extractor {
  /** Goes into everything that comes of it: which model, asked how. */
  readonly name: string;
  /** Rejects where it gives no usable answer. */
  read(text: string): Promise<ClaimedDecision[]>;
}

/** What came of one reading; kept as a blob, so that an ingestion that is taken up again does not read anew. */
export interface Reading {
  records: ManifestRecord[];
  findings: FindingData[];
}

/** Candidates taken from one text at most. */
const MOST_CLAIMED = 50;
const LONGEST_STATEMENT = 2_000;

/** Lets an extractor read and keeps what the text itself bears out, as candidates. Never rejects: a reader is never needed. */
export async function readWith(
  extractor: Extractor,
  text: string,
  source: { source_id: string; document: string },
  marked: readonly ManifestRecord[],
): Promise<Reading> {
  const finding = (kind: string, detail: string): FindingData => ({
    kind,
    documents: [source.document],
    detail,
  });
  let claimed: ClaimedDecision[];
  try {
    claimed = await extractor.read(text);
  } catch {
    // What it said is not repeated: it may be the text's own words.
    const detail = `${extractor.name} gave no usable answer; only what the text marks was taken`;
    return { records: [], findings: [finding('model_unavailable', detail)] };
  }
  const found = claimed
    .slice(0, MOST_CLAIMED)
    .flatMap((claim) => candidate(claim, extractor.name, text, source.source_id));
  const records = found.filter((record, i) => {
    const earlier = [...marked, ...found.slice(0, i)];
    return !earlier.some((other) => overlap(record, other));
  });
  const dropped = claimed.length - found.length;
  const detail = `${dropped} of ${claimed.length} of what ${extractor.name} found are not in the text`;
  return { records, findings: dropped === 0 ? [] : [finding('model_quotes_dropped', detail)] };
}

function candidate(
  { statement, quote }: ClaimedDecision,
  by: string,
  text: string,
  source_id: string,
): ManifestRecord[] {
  const said = statement.replace(/\s+/gu, ' ').trim().slice(0, LONGEST_STATEMENT).toWellFormed();
  const found = quote.length > QUOTE_MAX ? undefined : verifyQuote(text, quote);
  if (!found || said === '') return [];
  return [
    {
      topics: [],
      statement: said,
      scope: {},
      supersedes: [],
      status: 'candidate',
      evidence: [{ source_id, ...found }],
      reasons: [`extracted_by ${by}`],
    },
  ];
}

function overlap(a: ManifestRecord, b: ManifestRecord): boolean {
  const [one] = a.evidence;
  const [other] = b.evidence;
  return one !== undefined && other !== undefined && one.start < other.end && other.start < one.end;
}
