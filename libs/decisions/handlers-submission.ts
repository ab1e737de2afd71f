import { randomUUID } from 'node:crypto';
import type { Caller } from '#kernel/context.js';
import { canonicalJson, derivedId, sha256 } from '#kernel/json.js';
import { Refusal, invalid } from '#kernel/refusal.js';
import { whenMs } from '#kernel/time.js';
import { QUOTE_MAX, sourceId, verifyQuote } from '#sources/index.js';
import {
  INGEST_LIMITS,
  type IngestInput,
  type IngestReceipt,
  type RecordInput,
  type RecordOutcome,
} from './contract-ingestion.js';
import { EXTRACTOR, extractDecisions, type Extracted } from './domain/extract.js';
import type { FindingData } from './domain/ingestion.events.js';
import { reasonOfKnown, type Standing } from './domain/document-standing.js';
import { distinct } from './handlers-standing.js';
import { FOUR_EYES } from './domain/topic-refusals.js';
import type { Decision } from './domain/topic-state.js';
import type {
  Manifest,
  ManifestRecord,
  ManifestSource,
  Plan,
  PlannedClaim,
} from './domain/ingestion-plan.js';

/** A text on its way in: its bytes are stored under their hash before anything names them. */
export interface Text {
  text: string;
  bytes: Uint8Array;
  hash: string;
}

export function topicNames(record: RecordInput): string[] {
  return [
    ...new Set([...(record.topic === undefined ? [] : [record.topic]), ...(record.topics ?? [])]),
  ];
}

export function claimsIn(manifest: Manifest): number {
  return manifest.records.reduce((n, r) => n + Math.max(1, r.topics.length), 0);
}

export function jobOf(caller: Caller, input: IngestInput): string {
  const key = input.request_id ?? randomUUID();
  return `job_${derivedId('ingest', caller.workspace, key).replaceAll('-', '').slice(0, 20)}`;
}

export function textsOf(input: IngestInput): Text[] {
  if ((input.source === undefined) === (input.documents === undefined))
    throw invalid(
      'source',
      'give either `source` or `documents`, not both and not neither',
      'send one of the two',
    );
  if (input.documents && input.records)
    throw invalid(
      'records',
      'belong to a `source`, not to `documents`',
      'send the text as `source`',
    );
  const given = input.source
    ? [{ path: 'source.text', text: input.source.text }]
    : (input.documents ?? []).map((d, i) => ({ path: `documents[${i}].text`, text: d.text }));
  refuseTwins(input);
  const texts = given.map(({ path, text }) => {
    const bytes = Buffer.from(text);
    if (bytes.length > INGEST_LIMITS.textBytes)
      throw tooLarge(path, bytes.length, INGEST_LIMITS.textBytes);
    return { text, bytes, hash: sha256(bytes) };
  });
  const total = texts.reduce((n, t) => n + t.bytes.length, 0);
  if (total > INGEST_LIMITS.totalBytes)
    throw tooLarge('documents', total, INGEST_LIMITS.totalBytes);
  return texts;
}

function refuseTwins(input: IngestInput): void {
  const seen = new Set<string>();
  for (const [i, { path }] of (input.documents ?? []).entries()) {
    if (seen.has(path))
      throw invalid(`documents[${i}].path`, `"${path}" is given twice`, 'give each path once');
    seen.add(path);
  }
}

function tooLarge(path: string, bytes: number, limit: number): Refusal {
  return new Refusal('too_large', 'text_too_large', `${path} has ${bytes} bytes`, {
    path,
    issues: [{ path, problem: `${bytes} bytes of UTF-8; at most ${limit}` }],
    fix: 'split the text or leave out what holds no decision',
  });
}

/** What a request_id is bound to: the input without the key itself, texts by their hash. */
export function contentOf(input: IngestInput, texts: readonly Text[]): string {
  const { request_id: _key, dry_run: _dry, source, documents, ...rest } = input;
  const { text: _text, ...details } = source ?? {};
  return sha256(
    canonicalJson({
      ...rest,
      ...(source ? { source: details } : {}),
      ...(documents ? { paths: documents.map((d) => d.path) } : {}),
      ...(documents?.some((d) => d.subject !== undefined)
        ? { subjects: documents.map((d) => d.subject ?? null) }
        : {}),
      texts: texts.map((t) => t.hash),
    }),
  );
}

/** One source for each text. */
export function sourcesOf(
  caller: Caller,
  input: IngestInput,
  texts: readonly Text[],
): ManifestSource[] {
  if (input.documents)
    return input.documents.map((d, i) =>
      sourceOf(caller, texts[i], `${collectionOf(input)}/${d.path}`, {
        title: d.path,
        type: 'document',
        ...(d.subject === undefined ? {} : { subject: d.subject }),
      }),
    );
  const { text: _text, ...details } = input.source ?? { title: '', type: '', text: '' };
  return [sourceOf(caller, texts[0], details.uri ?? `${details.type}/${details.title}`, details)];
}

export function collectionOf(input: IngestInput): string {
  return input.collection ?? 'documents';
}

function sourceOf(
  caller: Caller,
  text: Text | undefined,
  document: string,
  details: Pick<ManifestSource, 'title' | 'type' | 'uri' | 'author' | 'occurred_at' | 'subject'>,
): ManifestSource {
  const { hash = '', bytes = new Uint8Array() } = text ?? {};
  return {
    source_id: sourceId(caller.workspace, document, hash),
    sha256: hash,
    bytes: bytes.length,
    document,
    ...details,
  };
}

export function manifestRecord(
  record: RecordInput,
  path: string,
  topics: ManifestRecord['topics'],
  source_id: string,
  text: string,
): ManifestRecord {
  const {
    topic: _topic,
    topics: _topics,
    evidence = [],
    supersedes = [],
    scope = {},
    ...said
  } = record;
  const found = evidence.map(({ quote }, i) => {
    const verified = verifyQuote(text, quote);
    if (verified) return { source_id, ...verified };
    const at = `${path}.evidence[${i}].quote`;
    throw new Refusal('invalid', 'quote_not_found', `${at} is not in the source`, {
      path: at,
      issues: [{ path: at, problem: 'these words are not in source.text' }],
      fix: 'copy the words verbatim from the source; only spaces, quotation marks and dashes may differ',
    });
  });
  return { ...said, topics, scope, supersedes, evidence: found };
}

/** A decision that ends before it begins holds at no time, and no reviewer could approve it as it is. */
export function refuseEmptyIntervals(input: IngestInput, zone: string): void {
  for (const [i, { effective_from: from, effective_to: to }] of (input.records ?? []).entries())
    if (from !== undefined && to !== undefined && whenMs(to, zone) <= whenMs(from, zone))
      throw invalid(
        `records[${i}].effective_to`,
        `${to} is not after effective_from, ${from}`,
        'give an end after the start; the interval is half-open',
      );
}

/** Two clocks may differ by this much without a word. */
const SKEW_MS = 300_000;

/** Sources that say they are of the future: taken as they are, and told to whoever reviews them (B22). */
export function remarksOn(
  sources: readonly ManifestSource[],
  nowMs: number,
  zone: string,
): FindingData[] {
  return sources.flatMap(({ title, document, occurred_at: at }) => {
    if (at === undefined || whenMs(at, zone) <= nowMs + SKEW_MS) return [];
    const detail = `"${title}" says it is of ${at}, which is still to come; one of the clocks is wrong`;
    return [{ kind: 'clock_skew', documents: [document], detail }];
  });
}

/** The decisions that a text marks, as candidates (QO-9). */
export interface MarkedDecisions {
  records: Extracted[];
  extraction: NonNullable<Manifest['extraction']>;
}

export function markedDecisions(text: string, document: string): MarkedDecisions {
  const { records, findings } = extractDecisions(text, document);
  return { records, extraction: { by: `${EXTRACTOR.name}@${EXTRACTOR.version}`, findings } };
}

export function extractedRecord(
  record: Extracted,
  by: string,
  topics: ManifestRecord['topics'],
  source_id: string,
  text: string,
): ManifestRecord {
  const { statement, start, end, decided_at } = record;
  const excerpt = text.slice(start, end);
  if (excerpt.length > QUOTE_MAX) throw new Error(`an extracted quote of ${excerpt.length}`);
  return {
    statement,
    ...(decided_at === undefined ? {} : { decided_at }),
    topics,
    scope: {},
    supersedes: [],
    status: 'candidate',
    evidence: [{ source_id, excerpt, start, end, verbatim: true }],
    reasons: [...record.reasons, `extracted_by ${by}`],
  };
}

/** `claims`: those of the plan, as they stand. `fourEyes`: who hands in, where he may not approve what he proposes. */
export function dryRun(
  manifest: Manifest,
  plan: Plan,
  claims: readonly (Standing & { home: string })[],
  fourEyes: string | undefined,
): IngestReceipt {
  const planned = claims.map(({ planned: claim, held, home }): RecordOutcome => ({
    index: claim.index,
    decision_id: claim.claim.decision_id,
    topic: home,
    ...(claim.path === undefined ? {} : { path: claim.path }),
    ...expected(claim, held, fourEyes),
  }));
  const skipped = plan.skipped.map((s): RecordOutcome => ({ outcome: 'skipped', ...s }));
  const records = [...planned, ...skipped].sort((a, b) => a.index - b.index);
  return {
    status: 'dry_run',
    source_ids: manifest.sources.map((s) => s.source_id),
    records_total: records.length,
    records,
    findings: distinct([...plan.findings, ...claims.flatMap((c) => c.findings)]),
  };
}

function expected(
  { approve, claim }: PlannedClaim,
  held: Decision | undefined,
  fourEyes: string | undefined,
): Pick<RecordOutcome, 'outcome' | 'reason'> {
  const isOwn = fourEyes !== undefined && (held?.proposedBy ?? fourEyes) === fourEyes;
  if (held && !(approve && !isOwn && held.status === 'candidate'))
    return { outcome: 'skipped', reason: reasonOfKnown(held) };
  if (approve) return isOwn ? { outcome: 'queued', reason: FOUR_EYES } : { outcome: 'stored' };
  return { outcome: 'queued', reason: claim.reasons.join(', ') };
}
