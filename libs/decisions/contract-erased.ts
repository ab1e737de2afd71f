import { IsOptional } from 'class-validator';
import { Doc, IsText, IsWhen, Nested } from '#kernel/shape-decorators.js';

/** The erasure that took the words of something; what was decided by them stays. */
export class ErasedNote {
  @IsText() erasure!: string;
  @IsWhen() at!: string;
  @IsText() reason!: string;
}

export class Erasable {
  @Doc('Where its texts read [erased]: when and why they went.')
  @IsOptional()
  @Nested(() => ErasedNote)
  erased?: ErasedNote;
}
