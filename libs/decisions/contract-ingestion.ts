import {
  ArrayMaxSize,
  ArrayMinSize,
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsOptional,
  Matches,
} from 'class-validator';
import type { Json } from '#kernel/json.js';
import { PageCursor, PageLimit } from '#kernel/paging.js';
import {
  Doc,
  IsPosition,
  IsScope,
  IsText,
  IsValue,
  IsWhen,
  ListOf,
  Nested,
} from '#kernel/shape-decorators.js';

/** Documented limits of one ingestion; all are refused before anything is stored. */
export const INGEST_LIMITS = {
  /** UTF-8 bytes of one text. */
  textBytes: 2_000_000,
  /** UTF-8 bytes of all texts together. */
  totalBytes: 20_000_000,
  documents: 2_000,
  records: 200,
  quotesPerRecord: 5,
  /** Characters of a value's JSON: an answer shows some forty decisions. */
  value: 4_000,
} as const;

const SUBJECT = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$/;

export class SourceInput {
  @IsText({ max: 500, what: 'a title' }) title!: string;
  @Doc(
    'Whom the text is about: an opaque id, never a name. All texts of a subject can be erased together; without one the source is its own.',
  )
  @IsOptional()
  @Matches(SUBJECT)
  subject?: string;
  @Doc('What kind of source: meeting_notes, email, adr, policy …')
  @IsText({ max: 100 })
  type!: string;
  @Doc('The whole text; kept verbatim by its hash.')
  @IsText({ max: INGEST_LIMITS.textBytes })
  text!: string;
  @IsOptional() @IsText({ max: 2_000 }) uri?: string;
  @IsOptional() @IsText({ max: 200 }) author?: string;
  @Doc('When it was written or said, if known; never guessed.')
  @IsOptional()
  @IsWhen()
  occurred_at?: string;
}

export class DocumentInput {
  @Doc('Path relative to the folder, with forward slashes.') @IsText({ max: 500 }) path!: string;
  @IsText({ min: 0, max: INGEST_LIMITS.textBytes, what: 'text' }) text!: string;
  @Doc('Whom the text is about: an opaque id, never a name.')
  @IsOptional()
  @Matches(SUBJECT)
  subject?: string;
}

export class QuoteInput {
  @Doc('Words of the source, verbatim; at most 500 characters.')
  @IsText({ max: 500, what: 'a quote' })
  quote!: string;
}

export class RecordInput {
  @Doc('Topic id or name. Without one the record waits for a reviewer to assign it.')
  @IsOptional()
  @IsText({ max: 400 })
  topic?: string;
  @Doc('Several topics: one claim in each.')
  @IsOptional()
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(20)
  @IsText({ max: 400 }, { each: true })
  topics?: string[];
  @IsText({ max: 2_000, what: 'a statement' }) statement!: string;
  @IsOptional() @IsValue({ max: INGEST_LIMITS.value }) value?: Json;
  @IsOptional() @IsScope() scope?: Record<string, string>;
  @IsOptional() @IsWhen() effective_from?: string;
  @IsOptional() @IsWhen() effective_to?: string;
  @IsOptional() @IsWhen() decided_at?: string;
  @Doc('Decision ids that this one replaces, or `#n` for record n of this call.')
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(50)
  @IsText({ max: 400 }, { each: true })
  supersedes?: string[];
  @Doc('`approved` needs a governor and verified evidence; otherwise it waits as a candidate.')
  @IsIn(['candidate', 'approved'])
  status!: 'candidate' | 'approved';
  @IsOptional()
  @ListOf(() => QuoteInput, { max: INGEST_LIMITS.quotesPerRecord })
  evidence?: QuoteInput[];
}

export class IngestInput {
  @Doc('One text with its metadata. Give this or `documents`.')
  @IsOptional()
  @Nested(() => SourceInput)
  source?: SourceInput;

  @Doc('A folder of decision records (MADR, Nygard or similar Markdown). Give this or `source`.')
  @IsOptional()
  @ListOf(() => DocumentInput, { min: 1, max: INGEST_LIMITS.documents })
  documents?: DocumentInput[];

  @Doc(
    'Name of the folder that the documents belong to; the same folder again must bear the same name.',
  )
  @IsOptional()
  @IsText({ max: 100 })
  collection?: string;

  @Doc(
    'Reviewed records of `source`; each quote must be in its text. Left out: what the text marks as decisions becomes candidates. Empty: only the text is kept.',
  )
  @IsOptional()
  @ListOf(() => RecordInput, { max: INGEST_LIMITS.records })
  records?: RecordInput[];

  @Doc('Idempotency key bound to this content.')
  @IsOptional()
  @IsText({ max: 200 })
  request_id?: string;

  @Doc('Only say what would happen; nothing is stored.')
  @IsOptional()
  @IsBoolean()
  dry_run?: boolean;
}

export class RecordOutcome {
  @IsInt() index!: number;
  @IsIn(['stored', 'skipped', 'queued']) outcome!: 'stored' | 'skipped' | 'queued';
  @IsOptional() @IsText({ max: 8_000 }) reason?: string;
  @IsOptional() @IsText() decision_id?: string;
  @IsOptional() @IsText() topic?: string;
  @Doc('The document it came from.') @IsOptional() @IsText({ max: 8_000 }) path?: string;
}

export class IngestionFinding {
  @IsText() kind!: string;
  @IsArray() @IsText({ max: 8_000 }, { each: true }) documents!: string[];
  @Doc('Untrusted text.') @IsText({ max: 8_000 }) detail!: string;
}

export class IngestionCounts {
  @IsInt() stored!: number;
  @IsInt() skipped!: number;
  @IsInt() queued!: number;
}

export class IngestReceipt {
  @Doc('Ask get_ingestion_status with it. Absent for a dry run.')
  @IsOptional()
  @IsText()
  job_id?: string;
  @Doc('What has become of it by now is told by get_ingestion_status.')
  @IsIn(['accepted', 'dry_run'])
  status!: string;
  @IsArray() @IsText({}, { each: true }) source_ids!: string[];
  @Doc('Records that the job works through.') @IsInt() records_total!: number;
  @Doc('Of the event that recorded it. The same request again gets the same receipt.')
  @IsOptional()
  @IsPosition()
  position?: string;
  @Doc('Dry run only: what would be proposed.')
  @IsOptional()
  @ListOf(() => RecordOutcome)
  records?: RecordOutcome[];
  @Doc('Dry run only.')
  @IsOptional()
  @ListOf(() => IngestionFinding)
  findings?: IngestionFinding[];
}

export class IngestionInput {
  @IsText({ max: 200 }) job_id!: string;
  @PageCursor(500) cursor?: string;
  @PageLimit(
    'Records and findings in the page at most; default all, as far as the answer has room.',
  )
  limit?: number;
  @IsOptional() @IsPosition() at_least?: string;
}

export class Ingestion {
  @IsText() job_id!: string;
  @IsIn(['running', 'completed', 'failed']) status!: string;
  @Nested(() => IngestionCounts) counts!: IngestionCounts;
  @IsInt() records_total!: number;
  @ListOf(() => RecordOutcome) records!: RecordOutcome[];
  @ListOf(() => IngestionFinding)
  findings!: IngestionFinding[];
  @IsWhen() submitted_at!: string;
  @IsOptional() @IsWhen() completed_at?: string;
  @IsPosition() position!: string;
  @Doc('More records, or findings after the last of them.')
  @IsOptional()
  @IsText()
  next_cursor?: string;
}
