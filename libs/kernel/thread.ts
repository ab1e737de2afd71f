const HOOKS = '../../test/support/ts-hooks.mjs';

/**
 * What starts the neighbour module `path` (`./x`, no extension) in a worker thread or a child process:
 * `new Worker(url, { execArgv })`. Call it with one's own `import.meta.url`. A build starts `./x.js` as it is; from
 * source (Jest) it is `./x.ts` under the hooks that resolve and transpile TypeScript.
 */
export function threadOf(from: string, path: string): { url: URL; execArgv: string[] } {
  if (!from.endsWith('.ts')) return { url: new URL(`${path}.js`, from), execArgv: [] };
  const hooks = new URL(HOOKS, import.meta.url).href;
  return {
    url: new URL(`${path}.ts`, from),
    execArgv: ['--no-warnings', '--conditions=precedent-source', '--import', hooks],
  };
}
