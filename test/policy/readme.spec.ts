import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { decisionTools } from '#decisions/module.js';

const MISSION = new Map([
  ['get_workspace_context', 'member'],
  ['resolve_decision_state', 'member'],
  ['get_decision_history', 'member'],
  ['ingest', 'member (write)'],
  ['get_ingestion_status', 'member'],
  ['list_pending_decisions', 'member'],
  ['review_decision', 'reviewed: admin/owner; peer: member'],
]);

/** Every cell comes from the declaration but the role, which the mission words. */
function table(): string {
  const rows = decisionTools.map((t) => {
    const [first = ''] = t.description.split(/(?<=\.) (?=[A-Z])/);
    return `| \`${t.name}\` | ${first} | ${MISSION.get(t.name) ?? ''} | ${t.hints.readOnly ? 'yes' : 'no'} |`;
  });
  return ['| tool | what it does | role | read-only |', '|---|---|---|---|', ...rows].join('\n');
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
