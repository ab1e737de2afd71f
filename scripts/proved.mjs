import { readFileSync } from 'node:fs';

const TOTAL = 'in all';
const IN_TOTAL = [
  'crash cycles',
  'faults injected',
  'histories checked',
  'events compared',
  'lost',
];

/**
 * The numbers that tests have recorded with test/support/proved.ts, one row for each thing that was proved, as text that ends
 * with an empty line. Rows of the same name are added up. Empty when there is no such file.
 */
export function provedTable(file) {
  const rows = new Map();
  for (const { what, numbers } of records(file)) {
    const row = rows.get(what) ?? new Map();
    for (const [name, n] of Object.entries(numbers)) row.set(name, (row.get(name) ?? 0) + n);
    rows.set(what, row);
  }
  if (rows.size === 0) return '';
  rows.set(TOTAL, totals([...rows.values()]));
  const width = Math.max(...[...rows.keys()].map((what) => what.length)) + 2;
  const lines = [...rows]
    .sort(([a], [b]) => Number(a === TOTAL) - Number(b === TOTAL) || (a < b ? -1 : 1))
    .map(([what, row]) => what.padEnd(width) + cells(row));
  return `What the tests proved\n${lines.join('\n')}\n\n`;
}

function totals(rows) {
  const sums = IN_TOTAL.map((name) => [name, rows.reduce((n, row) => n + (row.get(name) ?? 0), 0)]);
  return new Map(sums);
}

const cells = (row) => [...row].map(([name, n]) => `${n.toLocaleString('en')} ${name}`).join(', ');

function records(file) {
  let text;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    return [];
  }
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}
