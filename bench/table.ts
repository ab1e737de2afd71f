import type { Line, Result } from './measure.js';

const HEAD = [
  'row',
  'work',
  'median',
  'worst',
  'reference',
  'its worst',
  'ratio',
  'worst',
  'bar',
  '',
];

/** For people; `results.json` has every run. */
export function table(all: readonly Line[]): string {
  const results = all.filter((line) => 'subject' in line);
  const unmeasured = all.filter((line) => 'why' in line);
  const lines = [HEAD, ...results.map(cells)];
  const widths = HEAD.map((_, i) => Math.max(...lines.map((line) => line[i]?.length ?? 0)));
  const text = lines.map((line) =>
    line
      .map((cell, i) => (i < 2 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
  const against = results.map((r) => `${r.id} is compared with ${r.against}`);
  const missing = unmeasured.map((l) => `${l.id}, ${l.work}: not measured: ${l.why}`);
  return [...text, '', ...against, ...missing].join('\n');
}

function cells(r: Result): string[] {
  const shown = (value: number): string => `${number(value)} ${r.unit}`;
  return [
    r.id,
    r.work,
    shown(r.subject.median),
    shown(r.subject.worst),
    shown(r.reference.median),
    shown(r.reference.worst),
    r.ratio.median.toFixed(2),
    r.ratio.worst.toFixed(2),
    `${r.bar.kind === 'atLeast' ? '≥' : '≤'} ${'ratio' in r.bar ? r.bar.ratio : `${r.bar.value} ${r.unit}`}`,
    r.met ? 'met' : 'NOT MET',
  ];
}

function number(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en-US') : value.toFixed(2);
}
