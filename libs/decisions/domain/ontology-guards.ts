import { canonicalJson } from '#kernel/json.js';
import { Refusal } from '#kernel/refusal.js';
import type { Difference } from './ontology-diff.js';
import { ONTOLOGY_LIMITS } from './ontology-step.js';
import type { OntologyContent } from './ontology.events.js';

export function refuseTooLarge(content: OntologyContent): void {
  const l = ONTOLOGY_LIMITS;
  const most = (items: readonly { length: number }[]): number =>
    Math.max(0, ...items.map((item) => item.length));
  const counts: [number, number, string][] = [
    [content.topics.length, l.topics, 'topics'],
    [most(content.topics.map((topic) => topic.aliases)), l.aliasesPerTopic, 'aliases of one topic'],
    [content.dimensions.length, l.dimensions, 'dimensions'],
    [most(content.dimensions.map((d) => d.values)), l.valuesPerDimension, 'values of a dimension'],
    [content.source_types.length, l.sourceTypes, 'source types'],
    [content.authority.length, l.rules, 'rules of authority'],
    [Buffer.byteLength(canonicalJson(content)), l.bytes, 'bytes in all'],
  ];
  for (const [count, limit, what] of counts)
    if (count > limit) throw tooLarge('change', count, limit, what);
}

export function tooLarge(path: string, count: number, limit: number, what: string): Refusal {
  const problem = `${count} ${what}; the limit is ${limit}`;
  return new Refusal('too_large', 'too_large', `there would be ${problem}`, {
    path,
    issues: [{ path, problem }],
    fix: 'leave something out; what is no longer used can be removed',
  });
}

/** Changes named in a refusal at most. */
const SHOWN = 20;

/** B43: what a proposal was made for is not what is active; `since` is what changed in between. */
export function stale(
  path: string,
  base: number,
  active: number,
  since: readonly Difference[],
): Refusal {
  return new Refusal(
    'conflict',
    'stale_revision',
    `it builds on version ${base}; version ${active} is active`,
    {
      path,
      issues: since.slice(0, SHOWN).map(({ kind, what, id, field }) => ({
        path,
        problem: `since version ${base}: ${kind} ${what} ${id}${field === undefined ? '' : ` (${field})`}`,
      })),
      fix: `look at version ${active} with get_ontology and propose against it`,
    },
  );
}

export function notThis(present: string): Refusal {
  return new Refusal('conflict', 'stale_revision', 'the proposal is not what was inspected', {
    path: 'content_hash',
    issues: [{ path: 'content_hash', problem: `the proposal has the hash ${present}` }],
    fix: 'inspect the proposal again and approve with its content_hash',
  });
}

export function nameInUse(name: string, into: string): Refusal {
  return new Refusal(
    'conflict',
    'duplicate_name',
    `a topic of that version bears "${name}", which is ${into} now`,
    {
      path: 'to_version',
      issues: [{ path: 'to_version', problem: `${into} has taken a merged topic since` }],
      fix: 'propose the wanted changes one by one instead',
    },
  );
}
