/**
 * Shows that every rule of .dependency-cruiser.cjs bites: lays a small clean tree of the product's form, expects no
 * report, then plants one forbidden import after the other and expects exactly its rule. The tree is a temporary one,
 * so the sources are never touched.
 */
import { mkdirSync, mkdtempSync, copyFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cruise } from 'dependency-cruiser';
import extractOptions from 'dependency-cruiser/config-utl/extract-depcruise-options';
import extractTsConfig from 'dependency-cruiser/config-utl/extract-ts-config';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const CONFIG = join(root, '.dependency-cruiser.cjs');

/** Every kind of file with the imports that it may have. */
const CLEAN = {
  'libs/kernel/refusal.ts': `export class Refusal extends Error {}`,
  'libs/kernel/schema.ts': `import './refusal.js'; import '@sinclair/typebox';`,
  'libs/kernel/testing.ts': `import '@jest/globals'; import './refusal.js';`,
  'libs/event-store/event-store.ts': `import '#kernel/refusal.js';`,
  'libs/event-store/sqlite.ts': `import 'node:sqlite'; import './event-store.js';`,
  'libs/event-store/conformance.ts': `import '@jest/globals'; import './event-store.js';`,
  'libs/event-store/sqlite.spec.ts': `import './conformance.js'; import './sqlite.js';`,
  'libs/projections/projection.ts': `import './read-database.js';`,
  'libs/projections/read-database.ts': `import 'node:sqlite';`,
  'libs/http/operation.ts': `import '@nestjs/common'; import '#kernel/refusal.js';`,
  'libs/mcp/tool.ts': `import '@modelcontextprotocol/server'; import '#kernel/refusal.js';`,
  'libs/rules/index.ts': `import '#decisions/index.js';`,
  ...context('access'),
  ...context('decisions', `import '#access/index.js';`),
  'apps/server/src/main.ts': `import './app.module.js';`,
  'apps/server/src/app.module.ts': `import '#access/module.js'; import '#decisions/module.js';
    import '#rules/index.js'; import '#event-store/sqlite.js';`,
  'apps/cli/src/main.ts': `import './ask.js'; import '#decisions/index.js'; import '#event-store/sqlite.js';`,
  'apps/cli/src/ask.ts': `import '@modelcontextprotocol/client';`,
  'apps/console/src/main.tsx': `import '#decisions/contract.js';`,
  'test/journey.spec.ts': `import '#access/handlers.js'; import '@modelcontextprotocol/client';`,
};

function context(name, more = '') {
  const files = {
    'contract.ts': `import 'class-validator'; import '#kernel/refusal.js';`,
    'domain/thing.events.ts': `import '#kernel/schema.js';`,
    'domain/thing.ts': `import './thing.events.js'; import type {} from '#kernel/refusal.js';`,
    'domain/thing.spec.ts': `import './thing.js'; import '#kernel/testing.js';`,
    'projections/things.ts': `import '#projections/projection.js'; import '../domain/thing.js';`,
    'messages.ts': `import '@nestjs/cqrs'; import './contract.js';`,
    'handlers.ts': `import './messages.js'; import './domain/thing.js'; import './projections/things.js'; ${more}`,
    'tools/do_it.ts': `import '#mcp/tool.js'; import '../messages.js';`,
    [`${name}.controller.ts`]: `import '#http/operation.js'; import './messages.js';`,
    'index.ts': `import './contract.js'; import './domain/thing.js';`,
    'module.ts': `import './handlers.js'; import './tools/do_it.js'; import './${name}.controller.js';`,
  };
  return Object.fromEntries(
    Object.entries(files).map(([path, text]) => [`libs/${name}/${path}`, text]),
  );
}

/** By rule: the file that goes wrong, and the line that is added to it. */
const PLANTED = {
  'domain-is-pure': [
    ['libs/access/domain/thing.ts', `import 'luxon';`],
    ['libs/access/domain/thing.ts', `import type {} from 'rxjs';`],
    ['libs/access/domain/thing.ts', `import 'node:fs';`],
    ['libs/access/domain/thing.events.ts', `import '../contract.js';`],
    ['libs/decisions/domain/thing.ts', `import '#event-store/event-store.js';`],
    ['libs/decisions/domain/thing.ts', `export const later = () => import('#access/index.js');`],
  ],
  'contract-is-portable': [
    ['libs/access/contract.ts', `import '@nestjs/swagger';`],
    ['libs/access/contract.ts', `import './domain/thing.js';`],
    ['libs/decisions/contract.ts', `import '#access/index.js';`],
    ['libs/decisions/contract.ts', `import 'node:crypto';`],
  ],
  'doors-use-the-bus': [
    ['libs/access/tools/do_it.ts', `import '../domain/thing.js';`],
    ['libs/access/tools/do_it.ts', `import '#event-store/sqlite.js';`],
    ['libs/access/access.controller.ts', `import './handlers.js';`],
    ['libs/access/access.controller.ts', `import type {} from './projections/things.js';`],
  ],
  'contexts-meet-at-the-index': [
    ['libs/decisions/handlers.ts', `import '#access/projections/things.js';`],
    ['libs/decisions/handlers.ts', `import '../access/messages.js';`],
    ['libs/rules/index.ts', `import '#decisions/contract.js';`],
    [
      'libs/decisions/handlers.ts',
      `import '#jobs/index.js';`,
      { 'libs/jobs/index.ts': `import '#kernel/refusal.js';` },
    ],
    ['libs/access/handlers.ts', `import '../../apps/cli/src/ask.js';`],
    ['apps/server/src/app.module.ts', `import '#access/handlers.js';`],
    ['apps/console/src/main.tsx', `import '#decisions/index.js';`],
  ],
  'mechanism-knows-no-context': [
    ['libs/http/operation.ts', `import '#rules/index.js';`],
    ['libs/event-store/event-store.ts', `import type {} from '#access/index.js';`],
    ['libs/mcp/tool.ts', `import '../../apps/cli/src/ask.js';`],
  ],
  'one-door-per-driver': [
    ['libs/access/projections/things.ts', `import 'node:sqlite';`],
    ['apps/cli/src/main.ts', `import { DatabaseSync } from 'node:sqlite';`],
    ['libs/event-store/event-store.ts', `import '@eventstore/db-client';`],
    ['libs/access/tools/do_it.ts', `import '@modelcontextprotocol/server';`],
    ['apps/cli/src/main.ts', `import '@modelcontextprotocol/client/stdio';`],
  ],
  'auditor-has-no-framework': [
    ['apps/cli/src/main.ts', `import '@nestjs/common';`],
    ['libs/decisions/index.ts', `import './messages.js';`],
  ],
  'no-cycles': [
    ['libs/kernel/refusal.ts', `import './schema.js';`],
    ['libs/access/handlers.ts', `import type {} from './module.js';`],
  ],
  'no-orphans': [
    ['libs/kernel/forgotten.ts', `export const forgotten = true;`],
    ['libs/access/reactions/forgotten.ts', `import '../messages.js';`],
    ['apps/cli/forgotten.ts', `export const forgotten = true;`],
  ],
  'no-test-code-in-production': [
    ['libs/access/handlers.ts', `import '#kernel/testing.js';`],
    [
      'libs/event-store/event-store.ts',
      `import '../../test/support/fixture.js';`,
      { 'test/support/fixture.ts': '' },
    ],
    ['libs/access/handlers.ts', `import 'fast-check';`],
  ],
};

const tree = mkdtempSync(join(tmpdir(), 'precedent-planted-'));
process.on('exit', () => rmSync(tree, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(130));

process.exitCode = (await run()) ? 0 : 1;

async function run() {
  for (const name of ['package.json', 'tsconfig.json'])
    copyFileSync(join(root, name), join(tree, name));
  symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'));
  process.chdir(tree);
  const options = await extractOptions(CONFIG);
  const tsConfig = extractTsConfig(join(root, 'tsconfig.json'));

  const reported = async (files) => {
    for (const [path, text] of Object.entries(files)) write(path, text);
    const { output } = await cruise(['apps', 'libs', 'test'], options, undefined, { tsConfig });
    for (const path of Object.keys(files)) rmSync(path, { force: true });
    return [...new Set(output.summary.violations.map(({ rule }) => rule.name))];
  };

  const noise = await reported(CLEAN);
  if (noise.length > 0) process.stdout.write(`clean tree: reported as ${noise.join(', ')}\n`);
  const names = new Set(createRequire(import.meta.url)(CONFIG).forbidden.map(({ name }) => name));
  let good = noise.length === 0;
  for (const name of new Set([...names, ...Object.keys(PLANTED)]))
    good = (await bites(name, reported)) && good;
  return good;
}

/** Plants what breaks one rule, each alone; prints one line, and one more for each that was not caught as it should. */
async function bites(name, reported) {
  const plants = PLANTED[name] ?? [];
  const missed = [];
  for (const [path, line, more = {}] of plants) {
    const found = await reported({ ...CLEAN, ...more, [path]: `${CLEAN[path] ?? ''}\n${line}` });
    if (found.join() !== name) missed.push(`  ${path}: ${line} → ${found.join(', ') || 'nothing'}`);
  }
  const verdict = `${plants.length - missed.length} of ${plants.length} planted violations caught`;
  process.stdout.write(`${[`${name.padEnd(28)}${verdict}`, ...missed].join('\n')}\n`);
  return plants.length > 0 && missed.length === 0;
}

function write(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${text}\n`);
}
