interface Page {
  next_cursor?: string;
}

/** Items of a page: as many as a server gives at once. */
const LIMIT = '200';

/** Follows a list to its end: the first page, with what `add` takes over from each later one. */
export async function allPages<T extends Page>(
  load: (cursor: string | undefined, limit: string) => Promise<T>,
  add: (all: T, page: T) => void,
): Promise<Omit<T, 'next_cursor'>> {
  const { next_cursor, ...rest } = await load(undefined, LIMIT);
  const all = rest as T;
  for (let cursor = next_cursor; cursor !== undefined;) {
    const page = await load(cursor, LIMIT);
    add(all, page);
    cursor = page.next_cursor;
  }
  return all;
}
