import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

/** A test as it stands in a file: its title under those of the blocks around it. */
export interface TitledTest {
  file: string;
  /** As written; what a template fills in is left out. */
  title: string;
  /**
   * Never: it stands behind `.skip`, `.todo` or `x…`. Sometimes: what it needs is looked for first, as in `itWith(canTrace, …)` or
   * `(hasCorpora ? describe : describe.skip)`.
   */
  runs: 'always' | 'never' | 'sometimes';
}

/** The tests of every file that declares some. Read, not run, so that one run sees the titles of all. */
export function allTests(folders: readonly string[] = ['apps', 'libs', 'test', 'bench']) {
  return folders
    .flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
    )
    .filter((file) => /\.spec\.ts$|\/conformance(?:-\w+)?\.ts$/.test(file))
    .sort()
    .flatMap((file) => testsIn(file, readFileSync(file, 'utf8')));
}

export function testsIn(file: string, source: string): TitledTest[] {
  const root = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true);
  const found: TitledTest[] = [];
  const visit = (node: ts.Node, around: readonly string[], runs: TitledTest['runs']): void => {
    const block = ts.isCallExpression(node) ? blockOf(node) : undefined;
    if (!block) {
      node.forEachChild((child) => visit(child, around, runs));
      return;
    }
    const titles = [...around, block.title];
    const both = lesser(runs, block.runs);
    if (block.kind === 'test') found.push({ file, title: titles.join(' › '), runs: both });
    else block.body?.forEachChild((child) => visit(child, titles, both));
  };
  visit(root, [], 'always');
  return found;
}

interface Block {
  kind: 'test' | 'group';
  title: string;
  runs: TitledTest['runs'];
  body: ts.Node | undefined;
}

/** `it('title', …)`, `describe.each(…)('title', …)`, `itWith(able, what)('title', …)`, `(able ? it : it.skip)('title', …)`. */
function blockOf(call: ts.CallExpression): Block | undefined {
  const title = call.arguments[0] && textOf(call.arguments[0]);
  const callee = call.expression.getText();
  const name = /^\(?(?:[\w.]+ \? )?(x?it|x?test|x?describe|itWith)\b/.exec(callee)?.[1];
  // `it.each(…)` alone is not a test yet: its title comes with the next call.
  if (title === undefined || name === undefined || /\beach$/.test(callee)) return undefined;
  const conditional = name === 'itWith' || / \? /.test(callee.slice(0, callee.indexOf(':') + 1));
  const isSkipped = name.startsWith('x') || /\.(?:skip|todo)\b/.test(callee);
  return {
    kind: name.endsWith('describe') ? 'group' : 'test',
    title,
    runs: conditional ? 'sometimes' : isSkipped ? 'never' : 'always',
    body: call.arguments[1],
  };
}

function textOf(node: ts.Node): string | undefined {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isTemplateExpression(node))
    return [node.head, ...node.templateSpans.map((span) => span.literal)]
      .map(({ text }) => text)
      .join('…');
  return undefined;
}

const ORDER = ['never', 'sometimes', 'always'] as const;

function lesser(a: TitledTest['runs'], b: TitledTest['runs']): TitledTest['runs'] {
  return ORDER[Math.min(ORDER.indexOf(a), ORDER.indexOf(b))] ?? 'never';
}
