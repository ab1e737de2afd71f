import { IsArray, IsBoolean, IsIn, IsInt, IsOptional } from 'class-validator';
import { Doc, IsPosition, IsText, Nested } from '#kernel/shape-decorators.js';

export class WorkspaceContextInput {
  @IsOptional() @IsPosition() at_least?: string;
}

class NamedRef {
  @IsText() id!: string;
  @IsText() name!: string;
}

class OrganisationRef extends NamedRef {
  @Doc('reviewed: admins and owners govern; peer: every member does.')
  @IsIn(['reviewed', 'peer'])
  mode!: string;
}

class CallerView {
  @IsText() principal!: string;
  @IsIn(['person', 'agent', 'service']) kind!: string;
  @IsIn(['member', 'approver', 'admin', 'owner']) role!: string;
  @Doc('What this credential may do.') @IsArray() @IsText({}, { each: true }) can!: string[];
}

class OntologyStatus {
  @Doc('0: none is active yet.') @IsInt() version!: number;
  @IsIn(['none', 'active']) status!: string;
  @Doc('Proposals that can be approved.') @IsInt() open_proposals!: number;
}

class Counts {
  @IsInt() topics!: number;
  @IsInt() decisions!: number;
  @IsInt() heads!: number;
  @IsInt() candidates!: number;
  @IsInt() open_conflicts!: number;
  @IsInt() sources!: number;
}

export class WorkspaceContext {
  @Nested(() => NamedRef) workspace!: NamedRef;
  @Nested(() => OrganisationRef) organisation!: OrganisationRef;
  @Nested(() => CallerView) caller!: CallerView;
  @Nested(() => OntologyStatus) ontology!: OntologyStatus;
  @Nested(() => Counts) counts!: Counts;
  @Doc('Answers are kept for rating.') @IsBoolean() capture_enabled!: boolean;
  @Doc('Zone in which a date without a time is read.') @IsText() zone!: string;
  @IsPosition() position!: string;
  @IsArray() @IsText({ max: 400 }, { each: true }) next_steps!: string[];
}
