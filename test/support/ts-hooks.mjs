import { hash, randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire, registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';

// Runs a worker thread or a child process from source, as Jest does (jest.config.mjs has the same options):
// `node --conditions=precedent-source --import <this file> x.ts`. A build never loads this file.
const options = {
  jsc: {
    target: 'es2024',
    parser: { syntax: 'typescript', decorators: true },
    transform: { legacyDecorator: true, decoratorMetadata: true },
  },
  module: { type: 'es6' },
  sourceMaps: 'inline',
};

/** By content. `npm ci` empties it, so it never outlives the compiler that filled it. */
const CACHE = fileURLToPath(new URL('../../node_modules/.cache/precedent/ts/', import.meta.url));

/** The compiler takes as long to load as a thread to start: only what is new needs it. */
function transpiled(filename) {
  const source = readFileSync(filename, 'utf8');
  const path = `${CACHE}${hash('sha256', JSON.stringify([options, filename, source]))}.js`;
  try {
    return readFileSync(path, 'utf8');
  } catch {
    const { transformSync } = createRequire(import.meta.url)('@swc/core');
    const { code } = transformSync(source, { ...options, filename });
    keep(path, code);
    return code;
  }
}

/** Whole or not at all: several threads may write the same. */
function keep(path, code) {
  const draft = `${path}.${randomUUID()}`;
  try {
    mkdirSync(CACHE, { recursive: true });
    writeFileSync(draft, code);
    renameSync(draft, path);
  } catch {
    // Nothing is kept, and the next one transpiles again.
  }
}

registerHooks({
  resolve(specifier, context, nextResolve) {
    if (/^\.{1,2}\/.*\.js$/.test(specifier) && context.parentURL?.startsWith('file:')) {
      const source = new URL(specifier.replace(/\.js$/, '.ts'), context.parentURL);
      if (!existsSync(new URL(specifier, context.parentURL)) && existsSync(source))
        return nextResolve(source.href, context);
    }
    return nextResolve(specifier, context);
  },
  load(url, context, nextLoad) {
    if (!url.startsWith('file:') || !url.endsWith('.ts')) return nextLoad(url, context);
    return { format: 'module', source: transpiled(fileURLToPath(url)), shortCircuit: true };
  },
});
