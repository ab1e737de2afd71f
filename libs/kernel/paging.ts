import { IsInt, IsOptional, Max, Min } from 'class-validator';
import { combined, Doc, IsText } from './shape-decorators.js';

/** Items in a page of a list, at most. */
export const PAGE_MAX = 200;

/** The field `limit` of a list; `what` says of what, and how many there are without it. */
export function PageLimit(what: string, max = PAGE_MAX): PropertyDecorator {
  return combined(Max(max), Min(1), IsInt(), IsOptional(), Doc(what));
}

/** The field `cursor` of a list, of at most so many characters. */
export function PageCursor(
  max = 200,
  what = 'The `next_cursor` of the page before.',
): PropertyDecorator {
  return combined(IsText({ max }), IsOptional(), Doc(what));
}
