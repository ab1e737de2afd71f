import { foldName, nameKey } from '#kernel/text.js';

/** Whether a value of a scope dimension is the ancestor or lies below it. Every value lies within itself. */
export type IsWithin = (dimension: string, value: string, ancestor: string) => boolean;

/** No dimension declares a hierarchy: only equal values are within each other, in whatever case or Unicode form (B33). */
export const FLAT: IsWithin = (_dimension, value, ancestor) =>
  value === ancestor || foldName(value) === foldName(ancestor);

/** Dimension → declared value → the value above it, undefined at the top. */
export type Hierarchies = ReadonlyMap<string, ReadonlyMap<string, string | undefined>>;

/** The hierarchies of declared dimensions. Dimensions and values are the same in whatever case or Unicode form they are written (B33). */
export function withinOf(dimensions: Hierarchies): IsWithin {
  if (dimensions.size === 0) return FLAT;
  const above = new Map(
    [...dimensions].map(([dimension, values]) => [nameKey(dimension), ancestorsOf(values)]),
  );
  return (dimension, value, ancestor) => {
    if (value === ancestor) return true;
    const [key, over] = [foldName(value), foldName(ancestor)];
    return key === over || (above.get(nameKey(dimension))?.get(key)?.has(over) ?? false);
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
