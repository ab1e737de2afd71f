import { describe, expect, it } from '@jest/globals';
import { findingsOf, linksOf, record, setOf } from '../../../test/support/document-sets.js';

describe('references of a set', () => {
  const target = (status: string, others: Record<string, string>): string[] => {
    const set = setOf({ 'adr/0001-a.md': record(status), ...others });
    return [
      ...linksOf(set).map((link) => link.split(' ')[0] ?? ''),
      ...findingsOf(set).filter((f) => !f.startsWith('one_sided')),
    ];
  };

  it.each([
    ['a path', '[x](0002-b.md)'],
    ['a path with dots, query and fragment', '[x](./../adr/0002-b.md?a#status)'],
    ['a path from the root of the folder', '[x](/adr/0002-b.md)'],
    ['an encoded path', '[x](%30002-b.md)'],
    ['a path without its extension', '[x](0002-b)'],
    ['a reference link', '[x][y]\n\n[y]: 0002-b.md'],
    ['a web address that ends in the path', '[x](https://example.org/o/r/blob/main/adr/0002-b.md)'],
    ['a file name', '0002-b'],
    ['a number', 'ADR-0002'],
    ['a bare number', '2'],
    ['a title', 'Use queues'],
    ['an anchor of doxygen', '[ADR 2]\n\n[ADR 2]: @ref adr_0002'],
  ])('QO-23 resolves %s', (_what, reference) => {
    const others = { 'adr/0002-b.md': record('Accepted', '', '2) Use queues {#adr_0002}') };
    expect(target(`Superseded by ${reference}`, others)).toEqual(['adr/0002-b.md']);
  });

  it('QO-23 resolves a path that is wrong by the number it carries, and says so', () => {
    const set = setOf({
      'ADR004-a.md': record('Superseded by [AD045: Remove it](ADR045-use-it.md)'),
      'ADR045-remove-it.md': record('Accepted'),
    });
    expect(linksOf(set)).toEqual(['ADR045-remove-it.md supersedes ADR004-a.md (older)']);
    expect(findingsOf(set)).toContain('dangling_link: ADR004-a.md ADR045-remove-it.md');
    expect(set.findings.find(({ kind }) => kind === 'dangling_link')?.detail).toContain(
      'ADR045-use-it.md',
    );
  });

  it.each([
    ['a missing number', 'ADR 99'],
    ['a missing file', '[x](0099-x.md)'],
    ['a missing anchor', '[x](@ref adr_0099)'],
    ['an outside page', '[the process](https://wiki.example.org/x)'],
    ['what is no decision', '[x](README.md)'],
  ])('QO-23 reports %s and links nothing', (_what, reference) => {
    const found = target(`Superseded by ${reference}`, { 'adr/README.md': '# Read me' });
    expect(found).toEqual(['dangling_link: adr/0001-a.md']);
  });

  it('QO-23 tells two documents of one number apart only by evidence: a link back, a title, a path', () => {
    const twins = {
      'adr/ADR025-a.md': record('Accepted', '', 'ADR025: Use a'),
      'adr/ADR025-b.md': record('Accepted', 'See [the first](0001-a.md).', 'ADR025: Use b'),
    };
    const pair = 'adr/ADR025-a.md adr/ADR025-b.md';
    expect(target('Superseded by ADR025', twins)).toEqual([
      'adr/ADR025-b.md',
      `duplicate_identifier: ${pair}`,
    ]);
    expect(target('Superseded by [ADR025: Use a](gone.md)', twins)).toEqual([
      'adr/ADR025-a.md',
      'dangling_link: adr/0001-a.md adr/ADR025-a.md',
      `duplicate_identifier: ${pair}`,
    ]);
    const silent = { ...twins, 'adr/ADR025-b.md': record('Accepted', '', 'ADR025: Use b') };
    expect(target('Superseded by ADR025', silent)).toEqual([
      `ambiguous_link: adr/0001-a.md ${pair}`,
      `duplicate_identifier: ${pair}`,
    ]);
  });

  it('QO-23 keeps the series of different directories apart', () => {
    const set = setOf({
      'a/0002-x.md': record('Accepted'),
      'b/0001-y.md': record('Superseded by ADR 2'),
      'b/0002-z.md': record('Accepted'),
      'c/0001-w.md': record('Superseded by ADR 2'),
      'd/ADR-001-v.md': record('Superseded by DR 7'),
      'd/ADR-007-u.md': record('Accepted'),
      'e/DR-007-t.md': record('Accepted'),
      'f/ADR-001-s.md': record('Superseded by ADR 7'),
    });
    expect(linksOf(set)).toEqual([
      'b/0002-z.md supersedes b/0001-y.md (older)',
      'e/DR-007-t.md supersedes d/ADR-001-v.md (older)',
    ]);
    expect(findingsOf(set).filter((f) => !f.startsWith('one_sided'))).toEqual([
      'dangling_link: c/0001-w.md',
      'dangling_link: f/ADR-001-s.md',
    ]);
  });

  it('QO-23 reports an id that two documents of a directory share, by file name or title', () => {
    const set = setOf({
      'ADR028-a.md': record('Accepted', '', 'ADR029: A'),
      'ADR029-b.md': record('Accepted', '', 'ADR029: B'),
      'x/ADR029-c.md': record('Accepted', '', 'ADR029: C'),
    });
    expect(findingsOf(set)).toEqual(['duplicate_identifier: ADR028-a.md ADR029-b.md']);
  });
});
