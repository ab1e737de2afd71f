import { IsArray, IsBoolean, IsIn, IsInt, IsOptional, Matches } from 'class-validator';
import { PageCursor, PageLimit } from '#kernel/paging.js';
import { Doc, IsPosition, IsText, IsWhen, ListOf, Nested } from '#kernel/shape-decorators.js';
import { REASONS } from './contract-erasure-reasons.js';

const SUBJECT = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$/;
/** Number of a case file, a ticket or a matter. */
const REFERENCE = /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,63}$/;

class Whose {
  @Doc(
    'Everything of this subject: the opaque id under which its texts were ingested. Give this, `source_id` or `principal`.',
  )
  @IsOptional()
  @Matches(SUBJECT)
  subject?: string;
  @Doc('One source that was ingested without a subject.')
  @IsOptional()
  @IsText({ max: 200 })
  source_id?: string;
  @Doc('Somebody who acts in the organisation: his name and his own words. For its owners.')
  @IsOptional()
  @IsText({ max: 100 })
  principal?: string;
}

class Paging {
  @PageLimit('Items of a page, 50 unless given.') limit?: number;
  @PageCursor() cursor?: string;
  @Doc('Wait until at least this position is visible.')
  @IsOptional()
  @IsPosition()
  at_least?: string;
}

export class ErasureInput extends Whose {
  @Doc('Recorded for ever, as one of these words.')
  @IsIn(REASONS)
  reason!: (typeof REASONS)[number];
  @Doc('Number of the request or the case file; recorded for ever, so never a name.')
  @IsOptional()
  @Matches(REFERENCE)
  reference?: string;
  @Doc('Only say what would be hit; nothing is erased.')
  @IsOptional()
  @IsBoolean()
  dry_run?: boolean;
}

export class TouchedCounts {
  @IsInt() sources!: number;
  @IsInt() decisions!: number;
  @Doc('Kept answers: they are given again to nobody.') @IsInt() answers!: number;
  @Doc('Ingestions.') @IsInt() jobs!: number;
  @Doc('Whatever else holds a text of it.') @IsInt() others!: number;
}

export class TouchedSource {
  @IsText() source_id!: string;
  @Doc('Untrusted text.') @IsText({ max: 8_000 }) title!: string;
}

export class ErasureSignature {
  @IsText() keyid!: string;
  @IsText() sig!: string;
}

/** A DSSE envelope over an in-toto statement, with the proof that the erasure stands in the signed log. It verifies offline. */
export class ErasureCertificate {
  @IsIn(['application/vnd.in-toto+json']) payloadType!: string;
  @Doc('Base64.') @IsText({ max: 200_000 }) payload!: string;
  @ListOf(() => ErasureSignature)
  signatures!: ErasureSignature[];
  @Doc('C2SP tlog-proof.') @IsText({ max: 200_000 }) tlog_proof!: string;
}

export class Erasure {
  @IsText() erasure_id!: string;
  @Doc(
    'dry_run: nothing was done. awaiting_second: another admin or owner has to ask for the same. erased: the key is destroyed.',
  )
  @IsIn(['dry_run', 'awaiting_second', 'erased'])
  status!: 'dry_run' | 'awaiting_second' | 'erased';
  @Doc('Names the destroyed key; nothing leads from it to the subject.') @IsText() key!: string;
  @Doc('Absent for texts of a subject or a source.')
  @IsOptional()
  @IsIn(['principal'])
  of?: 'principal';
  @IsIn(REASONS) reason!: string;
  @IsOptional() @IsText() reference?: string;
  @Nested(() => TouchedCounts) touched!: TouchedCounts;
  @Doc('Sources that it hits; of very many the first 1,000.')
  @IsArray()
  @IsText({}, { each: true })
  source_ids!: string[];
  @Doc('Before the erasure only: the first sources with their titles.')
  @IsOptional()
  @ListOf(() => TouchedSource)
  sources?: TouchedSource[];
  @Doc('Before the erasure only: the first decisions that lose their words.')
  @IsOptional()
  @IsArray()
  @IsText({}, { each: true })
  decision_ids?: string[];
  @Doc('Before the erasure of a principal only. Untrusted text.')
  @IsOptional()
  @IsText({ max: 200 })
  name?: string;
  @Doc('The name was recorded before names were sealed: it stays in the log.')
  @IsOptional()
  @IsBoolean()
  name_remains?: boolean;
  @Doc('Matters whose legal holds stand in the way.')
  @IsOptional()
  @IsArray()
  @IsText({}, { each: true })
  held_by?: string[];
  @Doc('Principal who asked first, where nobody erases alone.')
  @IsOptional()
  @IsText()
  requested_by?: string;
  @IsOptional() @IsText() erased_by?: string;
  @IsOptional() @IsWhen() erased_at?: string;
  @Doc('Position of the event that recorded it.')
  @IsOptional()
  @IsPosition()
  event_position?: string;
  @Doc('Signed; absent in lists and where this server signs no log.')
  @IsOptional()
  @Nested(() => ErasureCertificate)
  certificate?: ErasureCertificate;
  @IsPosition() position!: string;
}

export class ErasureIdInput {
  @IsText({ max: 200 }) erasure_id!: string;
  @IsOptional() @IsPosition() at_least?: string;
}

export class ErasuresInput extends Paging {
  @Doc('Only that of this subject.') @IsOptional() @Matches(SUBJECT) subject?: string;
  @Doc('Only that of this principal. For owners of the organisation.')
  @IsOptional()
  @IsText({ max: 100 })
  principal?: string;
}

export class Erasures {
  @ListOf(() => Erasure) items!: Erasure[];
  @IsOptional() @IsText() next_cursor?: string;
  @IsPosition() position!: string;
}

export class HoldInput extends Whose {
  @Doc('Number of the matter that needs the texts; recorded for ever, so never a name.')
  @Matches(REFERENCE)
  matter!: string;
}

export class Hold {
  @IsText() hold_id!: string;
  @IsText() matter!: string;
  @Doc('The key that is kept.') @IsText() key!: string;
  @Doc('Absent for texts of a subject or a source.')
  @IsOptional()
  @IsIn(['principal'])
  of?: 'principal';
  @Doc('Sources that it keeps.') @IsInt() sources!: number;
  @IsText() placed_by!: string;
  @IsWhen() placed_at!: string;
  @IsOptional() @IsText() released_by?: string;
  @IsOptional() @IsWhen() released_at?: string;
  @IsPosition() position!: string;
}

export class HoldsInput extends Paging {
  @Doc('Only those of this subject.') @IsOptional() @Matches(SUBJECT) subject?: string;
  @Doc('Only those of this principal. For owners of the organisation.')
  @IsOptional()
  @IsText({ max: 100 })
  principal?: string;
  @Doc('Released ones too.') @IsOptional() @IsBoolean() include_released?: boolean;
}

export class Holds {
  @ListOf(() => Hold) items!: Hold[];
  @IsOptional() @IsText() next_cursor?: string;
  @IsPosition() position!: string;
}

export class ReleaseInput {
  @IsText({ max: 200 }) hold_id!: string;
}
