import { order } from './document-links.js';
import type { DecisionDocument, DecisionLine, DocumentLink, Finding } from './document-types.js';

/** Groups the documents into lines: those joined by `supersedes`, whichever way. Order within a line: stated succession, then date, then path. */
export function linesOf(
  decisions: readonly DecisionDocument[],
  links: readonly DocumentLink[],
): DecisionLine[] {
  const byPath = new Map(decisions.map((document) => [document.path, document]));
  const full = links.filter(({ kind }) => kind === 'supersedes');
  const byOlder = Map.groupBy(full, ({ older }) => older);
  const lines = componentsOf([...byPath.keys()], full).map((paths) => {
    const inside = paths.flatMap((path) => byOlder.get(path) ?? []);
    const documents = oldestFirst(paths, inside, byPath);
    return { name: byPath.get(documents[0] ?? '')?.title ?? '', documents };
  });
  return lines.sort((a, b) => order(a.documents[0] ?? '', b.documents[0] ?? ''));
}

/** One finding for each document that several others supersede. */
export function forksOf(links: readonly DocumentLink[]): Finding[] {
  const newerOf = new Map<string, string[]>();
  for (const { kind, newer, older } of links)
    if (kind === 'supersedes' && newer !== older)
      newerOf.set(older, [...(newerOf.get(older) ?? []), newer]);
  return [...newerOf]
    .filter(([, newer]) => newer.length > 1)
    .map(([older, newer]) => ({
      kind: 'fork',
      documents: [older, ...newer.sort(order)],
      detail: `${older} is superseded by each of ${newer.join(', ')}`,
    }));
}

/** One finding for each group of documents that supersede one another in a circle, a document that supersedes itself included. */
export function ringsOf(links: readonly DocumentLink[]): Finding[] {
  const full = links.filter(({ kind }) => kind === 'supersedes');
  const self = new Set(
    full.filter(({ newer, older }) => newer === older).map(({ newer }) => newer),
  );
  return circlesOf(full)
    .filter((paths) => paths.length > 1 || self.has(paths[0] ?? ''))
    .map((paths) => ({
      kind: 'ring',
      documents: paths,
      detail: `no document of the circle is the last: ${paths.join(', ')}`,
    }));
}

function componentsOf(paths: readonly string[], links: readonly DocumentLink[]): string[][] {
  const parent = new Map<string, string>();
  const root = (path: string): string => {
    let at = path;
    for (let up = parent.get(at); up !== undefined; up = parent.get(at)) {
      const above = parent.get(up);
      if (above !== undefined) parent.set(at, above);
      at = up;
    }
    return at;
  };
  for (const { newer, older } of links) {
    const [a, b] = [root(newer), root(older)];
    if (a !== b) parent.set(a, b);
  }
  const groups = new Map<string, string[]>();
  for (const path of paths) {
    const group = groups.get(root(path));
    if (group === undefined) groups.set(root(path), [path]);
    else group.push(path);
  }
  return [...groups.values()];
}

function oldestFirst(
  paths: readonly string[],
  links: readonly DocumentLink[],
  byPath: ReadonlyMap<string, DecisionDocument>,
): string[] {
  const waitsFor = new Map(paths.map((path) => [path, 0]));
  const newerOf = new Map<string, string[]>();
  for (const { newer, older } of links) {
    waitsFor.set(newer, (waitsFor.get(newer) ?? 0) + 1);
    newerOf.set(older, [...(newerOf.get(older) ?? []), newer]);
  }
  const age = (path: string): string => byPath.get(path)?.decidedOn ?? '9999-12-31';
  const waiting = [...paths].sort((a, b) => order(age(a), age(b)) || order(a, b));
  const sorted: string[] = [];
  while (waiting.length > 0) {
    // In a ring nobody is first; the oldest by date then is.
    const free = waiting.findIndex((path) => waitsFor.get(path) === 0);
    const [next] = waiting.splice(Math.max(free, 0), 1);
    if (next === undefined) break;
    sorted.push(next);
    for (const newer of newerOf.get(next) ?? [])
      waitsFor.set(newer, (waitsFor.get(newer) ?? 0) - 1);
  }
  return sorted;
}

/** Strongly connected groups, each sorted, in order of their first member. Two passes without recursion (Kosaraju). */
function circlesOf(links: readonly DocumentLink[]): string[][] {
  const forward = new Map<string, string[]>();
  const backward = new Map<string, string[]>();
  for (const { newer, older } of links) {
    forward.set(newer, [...(forward.get(newer) ?? []), older]);
    backward.set(older, [...(backward.get(older) ?? []), newer]);
  }
  const nodes = [...new Set([...forward.keys(), ...backward.keys()])].sort(order);
  const seen = new Set<string>();
  const finished = nodes.flatMap((node) => postOrder(node, forward, seen));
  seen.clear();
  return finished
    .reverse()
    .map((node) => postOrder(node, backward, seen).sort(order))
    .filter((group) => group.length > 0)
    .sort((a, b) => order(a[0] ?? '', b[0] ?? ''));
}

function postOrder(
  start: string,
  edges: ReadonlyMap<string, readonly string[]>,
  seen: Set<string>,
): string[] {
  if (seen.has(start)) return [];
  seen.add(start);
  const done: string[] = [];
  const path = [{ node: start, next: 0 }];
  for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
    const to = edges.get(top.node)?.[top.next];
    top.next += 1;
    if (to === undefined) {
      done.push(top.node);
      path.pop();
    } else if (!seen.has(to)) {
      seen.add(to);
      path.push({ node: to, next: 0 });
    }
  }
  return done;
}
