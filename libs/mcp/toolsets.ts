import { TOOLSETS, type Caller, type Toolset } from '#kernel/context.js';
import { Recent } from '#kernel/recent.js';
import { Refusal } from '#kernel/refusal.js';

const KNOWN: ReadonlySet<string> = new Set(TOOLSETS);
const QUERIES_KEPT = 100;

/** What lists are asked for in the query of an address, read once for each query. */
const queries = new Recent<readonly Toolset[]>(QUERIES_KEPT);

/** The toolsets of a comma-separated list, in the product's order. A Refusal `unknown_toolset` for a name that is none, and for an empty list. */
export function readToolsets(list: string): Toolset[] {
  const names = list.split(',').map((name) => name.trim());
  const issues = names.flatMap((name, i) =>
    KNOWN.has(name)
      ? []
      : [{ path: `toolsets[${i}]`, problem: name === '' ? 'is empty' : 'is no toolset' }],
  );
  if (issues.length === 0) return TOOLSETS.filter((toolset) => names.includes(toolset));
  const [first] = issues;
  throw new Refusal('invalid', 'unknown_toolset', `${first?.path}: ${first?.problem}`, {
    path: 'toolsets',
    issues,
    fix: `name some of ${TOOLSETS.join(', ')}, separated by commas, or leave the parameter out for all`,
  });
}

/** What `?toolsets=` asks for; undefined where it is absent. Named twice, the lists add up. */
export function toolsetsIn(url: string | undefined): readonly Toolset[] | undefined {
  const at = url?.indexOf('?') ?? -1;
  if (url === undefined || at < 0) return undefined;
  const query = url.slice(at + 1);
  const known = queries.get(query);
  if (known) return known;
  const lists = new URLSearchParams(query).getAll('toolsets');
  if (lists.length === 0) return undefined;
  const asked = readToolsets(lists.join(','));
  queries.set(query, asked);
  return asked;
}

/** The caller with no more than what is asked for: a credential's own limit is never widened. */
export function narrowed(caller: Caller, asked: readonly Toolset[] | undefined): Caller {
  if (!asked) return caller;
  const { toolsets: granted } = caller;
  return { ...caller, toolsets: granted ? asked.filter((one) => granted.includes(one)) : asked };
}
