import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { Bench, type Row } from './bench.js';
import { endChildren } from './children.js';
import { FILES } from './files.js';
import type { Line } from './measure.js';
import { commands } from './rows/commands.js';
import { commandsOverHttp } from './rows/commands-http.js';
import { runEval } from './rows/evaluation.js';
import { heads } from './rows/heads.js';
import { peers } from './rows/peers.js';
import { proofs } from './rows/proofs.js';
import { resolveOverMcp } from './rows/resolve.js';
import { scale } from './rows/scale.js';
import { search } from './rows/search.js';
import { verify } from './rows/verify.js';
import { table } from './table.js';

const ROWS: readonly Row[] = [
  commands,
  commandsOverHttp,
  resolveOverMcp,
  heads,
  scale,
  verify,
  peers,
  search,
  runEval,
  proofs,
];
const USAGE = 'usage: npm run bench -- [--quick] [--profile FOLDER] [row …]';

const say = (text: string): void => void process.stdout.write(`${text}\n`);

async function main(): Promise<number> {
  const known = ROWS.flatMap((row) => row.ids);
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { quick: { type: 'boolean', default: false }, profile: { type: 'string' } },
  });
  const strange = positionals.filter((id) => !known.includes(id));
  if (strange.length > 0) throw new Error(`no row ${strange.join(', ')}; rows: ${known.join(' ')}`);
  const ids = new Set(positionals.length > 0 ? positionals : known);

  const profile = values.profile === undefined ? undefined : resolve(values.profile);
  const bench = new Bench(values.quick, profile, say);
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
      process.stderr.write(`bench: ended by ${signal}\n`);
      endChildren();
      bench.end();
      process.exit(130);
    });
  const results: Line[] = [];
  let failed = 0;
  for (const row of ROWS) {
    const wanted = row.ids.filter((id) => ids.has(id));
    if (wanted.length === 0) continue;
    say(`${wanted.join(', ')} …`);
    try {
      results.push(...(await row.run(bench, ids)));
    } catch (error) {
      failed += 1;
      process.stderr.write(`bench: ${wanted.join(', ')}: ${textOf(error)}\n`);
    } finally {
      endChildren();
      bench.clean();
    }
  }
  bench.end();
  if (values.quick) say('\nquick: fewer runs, and a tenth or a hundredth of the events');
  say(`\n${table(results)}`);
  const machine = { node: process.version, cpus: cpus().length, model: cpus()[0]?.model };
  const report = { at: new Date().toISOString(), quick: values.quick, machine, results };
  writeFileSync(FILES.results, `${JSON.stringify(report, null, 2)}\n`);
  return failed === 0 ? 0 : 1;
}

function textOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

// Reached only where a promise is left that nothing can settle any more.
process.on('beforeExit', () => {
  process.stderr.write('bench: a row waits for something that is gone\n');
  process.exit(1);
});

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    process.stderr.write(`bench: ${textOf(error)}\n${USAGE}\n`);
    process.exit(1);
  },
);
