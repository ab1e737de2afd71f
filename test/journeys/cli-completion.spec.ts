import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { precedent } from '../support/cli.js';
import { verbs } from '../support/verbs.js';

let nothing: string;
beforeAll(async () => {
  nothing = await mkdtemp(join(tmpdir(), 'precedent-nothing-'));
});
afterAll(() => rm(nothing, { recursive: true, force: true }));

describe('completion', () => {
  it('names every verb and every option of it, in each shell', async () => {
    for (const shell of ['bash', 'zsh', 'fish']) {
      const { code, stdout } = await precedent(['completion', shell], { PRECEDENT_DATA: nothing });
      expect(code).toBe(0);
      const missing = verbs.flatMap(({ words, options }) =>
        [...words, ...options.map((option) => option.replace(/^--/, ''))]
          .filter((word) => !stdout.includes(word))
          .map((word) => `${words.join(' ')}: ${word}`),
      );
      expect({ shell, missing }).toEqual({ shell, missing: [] });
    }
  });

  it('is taken by bash and completes there', async () => {
    const { stdout: script } = await precedent(['completion', 'bash'], { PRECEDENT_DATA: nothing });
    const file = join(nothing, 'completion.bash');
    await writeFile(file, script);
    const bash = (...args: string[]): Promise<string> =>
      new Promise((done, fail) =>
        execFile('bash', args, (error, stdout) => {
          if (error) fail(new Error(error.message));
          else done(stdout);
        }),
      );
    await bash('-n', file);
    /** As bash itself calls it: through the function that `complete` names. What it offers for each of some lines. */
    const completed = async (...lines: string[][]): Promise<string[][]> => {
      const each = lines.map((words) => {
        const line = words.map((word) => `'${word}'`).join(' ');
        return `COMP_WORDS=(precedent ${line}); COMP_CWORD=${words.length}; COMPREPLY=(); $f; printf '%s\\n' "\${COMPREPLY[@]}" '='`;
      });
      const named = "f=$(complete -p precedent | sed 's/.*-F \\([^ ]*\\) .*/\\1/')";
      const offered = await bash('-c', [`source ${file}`, named, ...each].join('\n'));
      return offered
        .split('=\n')
        .slice(0, -1)
        .map((part) => part.split('\n').filter((word) => word !== ''));
    };
    const [verb, below, choices, option, folder] = await completed(
      ['comp'],
      ['keys', 'iss'],
      ['completion', ''],
      ['diff', '--val'],
      ['diff', '--data', ''],
    );
    expect(verb).toEqual(['completion']);
    expect(below).toEqual(['issue']);
    expect(choices).toEqual(expect.arrayContaining(['bash', 'zsh', 'fish']));
    expect(option).toEqual(['--valid']);
    // The shell's own completion of file names takes over.
    expect(folder).toEqual([]);
    const offered = await completed(...verbs.map(({ words }) => [...words, '--']));
    expect(offered).toHaveLength(verbs.length);
    for (const [i, { words, options }] of verbs.entries())
      expect({ words, offered: offered[i] }).toEqual({
        words,
        offered: expect.arrayContaining(options) as unknown as string[],
      });
  }, 120_000);
});
