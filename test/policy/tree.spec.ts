import { describe, expect, it } from '@jest/globals';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';

// docs/architecture.md, "A context has the same files everywhere, and nothing else", and rule of form 8.

const ROOT = process.cwd();
const MECHANISMS = ['kernel', 'event-store', 'projections', 'transparency', 'http', 'mcp'];
const SOURCE = /\.(?:ts|tsx|mjs|cjs)$/;
const TEST = /\.spec\.ts$|^(?:test|bench)\//;

/** By folder of a context ('' is the context's own): what a file in it may be called. A part is split off with a hyphen. */
const ALLOWED: Readonly<Record<string, readonly RegExp[]>> = {
  '': [
    /^(?:contract|messages|handlers)(?:-[a-z-]+)?\.ts$/,
    /^(?:index|module|streams)\.ts$/,
    /^[a-z-]+\.controller\.ts$/,
    /^[a-z.-]+\.spec\.ts$/,
  ],
  domain: [/^[a-z-]+(?:\.events)?(?:\.[a-z.]*spec)?\.ts$/],
  projections: [/^[a-z-]+(?:\.[a-z.]*spec)?\.ts$/],
  reactions: [/^[a-z-]+(?:\.[a-z.]*spec)?\.ts$/],
  tools: [/^[a-z][a-z0-9_]*(?:\.spec)?\.ts$/],
  // The ledger's alone: what holds the key of the log, and what an auditor runs without a server.
  signing: [/^[a-z-]+(?:\.[a-z.]*spec)?\.ts$/],
  audit: [/^[a-z-]+(?:\.[a-z.]*spec)?\.ts$/],
};

const contexts = readdirSync(join(ROOT, 'libs'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && !MECHANISMS.includes(entry.name))
  .map((entry) => entry.name);

/** Paths below a folder of the project, with `/`; none if it is not there. */
function filesIn(folder: string): string[] {
  if (!existsSync(join(ROOT, folder))) return [];
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
    .filter((path) => !/(?:^|\/)(?:node_modules|dist)\//.test(path));
}

function strangers(context: string, paths: readonly string[]): string[] {
  return paths.filter((path) => {
    const inner = path.slice(`libs/${context}/`.length).split('/');
    const name = inner.pop() ?? '';
    return !(ALLOWED[inner.join('/')] ?? []).some((form) => form.test(name));
  });
}

describe('the tree', () => {
  it('has contexts to look at', () => {
    expect(contexts).toEqual(expect.arrayContaining(['access', 'sources', 'decisions']));
  });

  it('tells a stranger', () => {
    const odd = ['service.ts', 'domain/deep/x.ts', 'utils/x.ts', 'tools/Do-It.ts', 'contract.js'];
    const paths = [...odd, 'contract.ts', 'domain/x.events.ts'].map(
      (path) => `libs/access/${path}`,
    );
    expect(strangers('access', paths)).toEqual(odd.map((path) => `libs/access/${path}`));
  });

  it.each(contexts)('libs/%s holds the files of a context and nothing else', (context) => {
    expect(strangers(context, filesIn(`libs/${context}`))).toEqual([]);
  });

  it.each(contexts)('libs/%s has both files of each kind of stream', (context) => {
    const domain = filesIn(`libs/${context}/domain`);
    const vocabularies = domain.filter((path) => path.endsWith('.events.ts'));
    const lonely = vocabularies.filter(
      (path) => !domain.includes(path.replace('.events.ts', '.ts')),
    );
    expect(lonely).toEqual([]);
  });

  it.each(contexts)('libs/%s calls each tool like its file', async (context) => {
    const tools = filesIn(`libs/${context}/tools`).filter((path) => !TEST.test(path));
    const names = await Promise.all(
      tools.map(async (path) => {
        const declared = await import(pathToFileURL(join(ROOT, path)).href);
        return [path, declared.default?.name];
      }),
    );
    expect(names).toEqual(tools.map((path) => [path, basename(path, '.ts')]));
  });

  it('keeps every file short', () => {
    const sources = ['apps', 'libs', 'scripts', 'bench', 'test']
      .flatMap(filesIn)
      .filter((path) => SOURCE.test(path));
    const long = sources
      .map((path) => ({
        path,
        lines: readFileSync(join(ROOT, path), 'utf8').trimEnd().split('\n').length,
      }))
      .filter(({ path, lines }) => lines > (TEST.test(path) ? 500 : 300));
    expect(sources.length).toBeGreaterThan(50);
    expect(long).toEqual([]);
  });
});
