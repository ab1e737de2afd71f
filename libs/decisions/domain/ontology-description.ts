import { parseMarkdown, type Block } from '#kernel/markdown.js';
import { invalid } from '#kernel/refusal.js';
import { foldName } from '#kernel/text.js';
import type { Wanted } from './ontology-draft.js';
import type { AuthorityRule } from './ontology.events.js';

type Part = 'topics' | 'dimensions' | 'source_types' | 'authority';

/** First words of the heading over each list. */
const HEADINGS: readonly (readonly [RegExp, Part])[] = [
  [/^topics?\b/u, 'topics'],
  [/^(?:scopes?|scope dimensions?|dimensions?)\b/u, 'dimensions'],
  [/^(?:source types?|sources?|types of sources?)\b/u, 'source_types'],
  [/^(?:authority|authority rules?|who (?:may )?(?:decides?|approves?))\b/u, 'authority'],
];

export const DESCRIPTION_FORM =
  'write Markdown: a heading "Topics", "Scopes", "Source types" or "Authority", and a list under it. ' +
  'Topics: "- Payment terms (aliases: terms, net days): what it is", deeper items lie below. ' +
  'Scopes: "- region: eu, us" or its values as deeper items. Source types: "- contract: signed paper". ' +
  'Authority: "- Payment terms, contract: owner" or "- *: admin, ann"';

/**
 * Reads a description by its headings and lists alone, without any model (QO-16): the same text gives the same result. Whatever stands
 * elsewhere is prose and changes nothing.
 */
export function readDescription(text: string): Wanted {
  const wanted: Wanted = { topics: [], dimensions: [], source_types: [], authority: [] };
  const above: { level: number; name: string }[] = [];
  let within: Part | undefined;
  for (const block of parseMarkdown(text).blocks) {
    const part = partOf(block);
    if (part !== within) above.length = 0;
    within = part;
    if (part === undefined || block.listLevel === 0 || block.kind !== 'paragraph') continue;
    while ((above.at(-1)?.level ?? 0) >= block.listLevel) above.pop();
    const name = READERS[part](wanted, block.text, above);
    above.push({ level: block.listLevel, name });
  }
  const found = wanted.topics.length + wanted.dimensions.length + wanted.source_types.length;
  if (found + wanted.authority.length > 0) return wanted;
  throw invalid('description', 'holds no list under a heading that is known', DESCRIPTION_FORM);
}

function partOf(block: Block): Part | undefined {
  if (block.quoted) return undefined;
  for (const heading of [...block.under].reverse()) {
    const found = HEADINGS.find(([form]) => form.test(foldName(heading.text)));
    if (found) return found[1];
  }
  return undefined;
}

type Above = readonly { level: number; name: string }[];

/** Each takes one item and returns its name, which deeper items are put below. */
const READERS: Readonly<Record<Part, (wanted: Wanted, text: string, above: Above) => string>> = {
  topics(wanted, text, above) {
    const { name, aliases, marks, rest } = itemOf(text);
    const parent = above.at(-1)?.name;
    wanted.topics.push({
      name,
      aliases,
      ...(parent === undefined ? {} : { parent }),
      ...(marks.includes('by effective date') ? { succession: 'by_effective_date' } : {}),
      ...(rest === '' ? {} : { description: rest }),
    });
    return name;
  },
  dimensions(wanted, text, above) {
    const { name, marks, rest } = itemOf(text);
    const dimension = wanted.dimensions.at(-1);
    if (above.length > 0 && dimension) {
      const parent = above.length > 1 ? above.at(-1)?.name : undefined;
      dimension.values ??= [];
      dimension.values.push({ value: name, ...(parent === undefined ? {} : { parent }) });
      return name;
    }
    wanted.dimensions.push({
      name,
      values: listOf(rest).map((value) => ({ value })),
      ...(marks.includes('closed') ? { open: false } : {}),
    });
    return name;
  },
  source_types(wanted, text) {
    const { name, rest } = itemOf(text);
    wanted.source_types.push({ name, ...(rest === '' ? {} : { description: rest }) });
    return name;
  },
  authority(wanted, text) {
    const [left, right] = split(text);
    const [topic = '*', source_type] = listOf(left);
    const who = listOf(right);
    const role = who.map(roleOf).find((r) => r !== undefined);
    wanted.authority.push({
      topic: /^(?:\*|all|every topic)$/iu.test(topic) ? '*' : topic,
      ...(source_type === undefined ? {} : { source_type }),
      ...(role === undefined ? {} : { role }),
      persons: who.filter((person) => roleOf(person) === undefined),
    });
    return topic;
  },
};

const ROLES = ['member', 'approver', 'admin', 'owner'] as const;

function roleOf(word: string): AuthorityRule['role'] | undefined {
  return ROLES.find((role) => foldName(word) === role || foldName(word) === `${role}s`);
}

/** `Name (aliases: a, b; by effective date): the rest` */
function itemOf(text: string): { name: string; aliases: string[]; marks: string[]; rest: string } {
  const [head, rest] = split(text);
  const [, name = head, inner = ''] = /^(.*?)\s*\(([^()]*)\)$/su.exec(head) ?? [];
  const notes = inner.split(';').map((note) => note.trim());
  const aliases = notes.flatMap((note) => {
    const [, list] = /^(?:alias(?:es)?|also)\s*:?\s+(.*)$/isu.exec(note) ?? [];
    return list === undefined ? [] : listOf(list);
  });
  return {
    name: short((inner === '' ? head : name).trim()),
    aliases,
    marks: notes.map((note) => foldName(note)),
    rest,
  };
}

/** At the first colon that ends a word and that no bracket holds. */
function split(text: string): [string, string] {
  const flat = text.replace(/\s+/gu, ' ').trim();
  let depth = 0;
  for (let i = 0; i < flat.length; i += 1) {
    const c = flat[i];
    if (c === '(') depth += 1;
    else if (c === ')') depth -= 1;
    else if (c === ':' && depth <= 0 && /^\s?$/u.test(flat[i + 1] ?? ''))
      return [flat.slice(0, i).trim(), flat.slice(i + 1).trim()];
  }
  return [flat, ''];
}

function listOf(text: string): string[] {
  return text
    .split(/[,;]/u)
    .map((item) => item.trim())
    .filter((item) => item !== '')
    .map(short);
}

const NAME_MAX = 200;

/** Every name has the length that a structured draft would allow. */
function short(name: string): string {
  if (name !== '' && name.length <= NAME_MAX) return name;
  const shown = name === '' ? 'an item without a name' : `"${name.slice(0, 60)}…"`;
  throw invalid(
    'description',
    `${shown}: a name has 1 to ${NAME_MAX} characters`,
    DESCRIPTION_FORM,
  );
}
