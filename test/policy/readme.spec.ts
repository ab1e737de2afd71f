import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { toolFiles } from '../support/tools.js';
import { MISSION_TOOLS } from './mission-tools.js';

const tools = new Map((await toolFiles()).map(({ tool }) => [tool.name, tool]));

/** Every cell comes from the declaration but the role, which the mission words. */
function table(): string {
  const rows = MISSION_TOOLS.flatMap(({ name, role }) => {
    const tool = tools.get(name);
    if (!tool) return [];
    const [first = ''] = tool.description.split(/(?<=\.) (?=[A-Z])/);
    return [
      `| \`${name}\` | ${tool.toolset} | ${first} | ${role} | ${tool.hints.readOnly ? 'yes' : 'no'} |`,
    ];
  });
  const head = ['| tool | toolset | what it does | role | read-only |', '|---|---|---|---|---|'];
  return [...head, ...rows].join('\n');
}

/** Without padding and rule lines, which the formatter owns. */
const squeeze = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.replace(/ +/g, ' ').trim())
    .filter((line) => line !== '' && !/^[| -]+$/.test(line));

it('the README’s tool table is what the tools declare', () => {
  const [, shown = ''] =
    /<!-- tools -->\n([^]*?)<!-- \/tools -->/.exec(readFileSync('README.md', 'utf8')) ?? [];
  expect(squeeze(shown)).toEqual(squeeze(table()));
});
