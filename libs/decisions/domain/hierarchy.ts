import { foldName } from '#kernel/text.js';

/** Whether a value of a scope dimension is the ancestor or lies below it. Every value lies within itself. */
export type IsWithin = (dimension: string, value: string, ancestor: string) => boolean;

/** No dimension declares a hierarchy: only equal values are within each other. */
export const FLAT: IsWithin = (_dimension, value, ancestor) => value === ancestor;

/** Dimension → declared value → the value above it, undefined at the top. */
export type Hierarchies = ReadonlyMap<string, ReadonlyMap<string, string | undefined>>;

/** The hierarchies of declared dimensions. A declared value is the same in whatever case or Unicode form it is written (B33). */
export function withinOf(dimensions: Hierarchies): IsWithin {
  if (dimensions.size === 0) return FLAT;
  const above = new Map(
    [...dimensions].map(([dimension, values]) => [dimension, ancestorsOf(values)]),
  );
  return (dimension, value, ancestor) => {
    if (value === ancestor) return true;
    const ancestors = above.get(dimension);
    if (!ancestors) return false;
    const key = foldName(value);
    return ancestors.get(key)?.has(foldName(ancestor)) ?? false;
  };
}

/** By folded value: itself and all above it, folded. A ring, which no ontology has, would end where it began. */
function ancestorsOf(values: ReadonlyMap<string, string | undefined>): Map<string, Set<string>> {
  const ancestors = new Map<string, Set<string>>();
  for (const [value] of values) {
    const found = new Set<string>();
    let at: string | undefined = value;
    while (at !== undefined && !found.has(foldName(at))) {
      found.add(foldName(at));
      at = values.get(at);
    }
    ancestors.set(foldName(value), found);
  }
  return ancestors;
}
