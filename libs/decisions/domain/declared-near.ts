import { namesOf } from './ontology-content.js';
import type { OntologyTopic } from './ontology.events.js';
import { termsOfQuestion } from './ranking-terms.js';

/** Declared topics that a question may mean: those of which it has every word of a name, and those of which it has half. Best first. */
export interface DeclaredNear {
  whole: string[];
  half: string[];
}

/** Terms of each name of each topic, for as long as the ontology lives. */
const terms = new WeakMap<readonly OntologyTopic[], readonly (readonly [string, string[][]])[]>();

/** The search index knows the names that records bring; these are the names that nobody but the ontology declares. */
export function declaredNear(topics: readonly OntologyTopic[], question: string): DeclaredNear {
  let known = terms.get(topics);
  if (!known) {
    known = topics.map((topic) => [topic.id, namesOf(topic).map(termsOfQuestion)] as const);
    terms.set(topics, known);
  }
  const asked = new Set(termsOfQuestion(question));
  const near = known
    .map(([id, names]) => ({ id, ...best(names, asked) }))
    .filter(({ share }) => share >= 0.5)
    .sort((a, b) => b.share - a.share || b.matched - a.matched || (a.id < b.id ? -1 : 1));
  return {
    whole: near.filter(({ share }) => share === 1).map(({ id }) => id),
    half: near.filter(({ share }) => share < 1).map(({ id }) => id),
  };
}

function best(names: readonly string[][], asked: ReadonlySet<string>) {
  let found = { share: 0, matched: 0 };
  for (const name of names) {
    const matched = name.filter((term) => asked.has(term)).length;
    const share = name.length === 0 ? 0 : matched / name.length;
    if (share > found.share || (share === found.share && matched > found.matched))
      found = { share, matched };
  }
  return found;
}
