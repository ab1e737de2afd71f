import { IsOptional } from 'class-validator';
import { combined, Doc, IsWhen, IsWhenOrDay } from '#kernel/shape-decorators.js';

/** The same two fields wherever decisions are looked for by the time at which they were made. */
export function DecidedSince(): PropertyDecorator {
  return combined(
    IsWhenOrDay(),
    IsOptional(),
    Doc(
      'Only what was decided from then on: its `decided_at`, or its approval where none is known. ' +
        'A day word alone means that whole day of the workspace’s zone.',
    ),
  );
}

export function DecidedUntil(): PropertyDecorator {
  return combined(IsWhenOrDay(), IsOptional(), Doc('Only what was decided before then.'));
}

/** The window asked for, as it was read. */
export class DecidedWindow {
  @Doc('Absent: from the beginning.') @IsOptional() @IsWhen() since?: string;
  @Doc('Exclusive. Absent: without an end.') @IsOptional() @IsWhen() until?: string;
}
