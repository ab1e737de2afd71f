import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { findingsOf, linksOf, record, setOf } from '../../../test/support/document-sets.js';
import { readDocumentSet, type DocumentFile, type DocumentSet } from './document-set.js';

const linesOf = ({ lines }: DocumentSet): string[][] => lines.map(({ documents }) => documents);

describe('links of a set', () => {
  it('B11 keeps the direction: what says "supersedes", "superseded by" and "refines X (which superseded Y)"', () => {
    const set = setOf({
      'D1.md': record('Superseded by D2'),
      'D2.md': record('Accepted. Supersedes D1'),
      'D3.md': record('Refines D2 (which superseded D1)'),
    });
    expect(linksOf(set)).toEqual(['D2.md supersedes D1.md (newer+older)']);
    expect(set.findings).toEqual([]);
    expect(linesOf(set)).toEqual([['D1.md', 'D2.md'], ['D3.md']]);
    expect(set.decisions.map(({ status }) => status)).toEqual([
      'superseded',
      'accepted',
      'unstated',
    ]);
  });

  it('B11 gives the same link whichever side states it', () => {
    const older = setOf({ '1-a.md': record('Superseded by ADR 2'), '2-b.md': record('Accepted') });
    const newer = setOf({
      '1-a.md': record('Superseded'),
      '2-b.md': record('Accepted\n\nSupersedes ADR 1'),
    });
    expect(linksOf(older)).toEqual(['2-b.md supersedes 1-a.md (older)']);
    expect(linksOf(newer)).toEqual(['2-b.md supersedes 1-a.md (newer)']);
  });

  it('QO-23 unites both sides and reports what only one of them says', () => {
    const set = setOf({
      '1-a.md': record('Superseded by [B](2-b.md)'),
      '2-b.md': record('Accepted', '## Links\n\n- Supersedes [A](1-a.md)\n- Amends [C](3-c.md)'),
      '3-c.md': record('Accepted'),
    });
    expect(linksOf(set)).toEqual([
      '2-b.md supersedes 1-a.md (newer+older)',
      '2-b.md amends 3-c.md (newer)',
    ]);
    expect(set.findings).toEqual([
      {
        kind: 'one_sided_link',
        documents: ['2-b.md', '3-c.md'],
        detail: 'only 2-b.md says that 2-b.md amends 3-c.md; 3-c.md does not',
      },
    ]);
    expect(linesOf(set)).toEqual([['1-a.md', '2-b.md'], ['3-c.md']]);
  });

  it('QO-23 takes a supersession that one side calls partial for partial: it retires nothing', () => {
    const set = setOf({
      '1-a.md': record('Partially superseded by ADR 2'),
      '2-b.md': record('Accepted. Supersedes ADR 1'),
    });
    expect(linksOf(set)).toEqual(['2-b.md partially_supersedes 1-a.md (newer+older)']);
    expect(set.findings).toEqual([]);
    expect(linesOf(set)).toEqual([['1-a.md'], ['2-b.md']]);
  });

  it('QO-23 reads adr-tools, MADR 2 and MADR 4', () => {
    const set = setOf({
      '0001-a.md': record('Superceded by [2. B](0002-b.md)\n\nAmended by [3. C](0003-c.md)'),
      '0002-b.md':
        '# B\n\n* Status: superseded by [ADR-0004](0004-d.md)\n\n## Decision Outcome\n\nWe will.\n\n## Links\n\n* Supersedes [0001](0001-a.md)\n',
      '0003-c.md': record('Accepted\n\nAmends [1. A](0001-a.md)'),
      '0004-d.md':
        '---\nstatus: accepted\nsupersedes: ["ADR-0002", 0005-e.md]\n---\n# D\n\n## Decision Outcome\n\nWe will.\n',
      '0005-e.md':
        '---\nstatus: superseded by ADR-0004\n---\n# E\n\n## Decision Outcome\n\nWe will.\n',
    });
    expect(linksOf(set)).toEqual([
      '0002-b.md supersedes 0001-a.md (newer+older)',
      '0003-c.md amends 0001-a.md (newer+older)',
      '0004-d.md supersedes 0002-b.md (newer+older)',
      '0004-d.md supersedes 0005-e.md (newer+older)',
    ]);
    expect(set.findings).toEqual([]);
  });

  it('QO-23 reads nothing from quotes, code, weighed options and templates', () => {
    const more =
      '> This ADR supersedes [A](1-a.md).\n\n```\nSupersedes ADR 1\n```\n\n## Considered Options\n\nThis ADR supersedes ADR 1.\n';
    const set = setOf({
      '1-a.md': record('Accepted'),
      '2-b.md': record('Accepted', more),
      '3-c.md': record('[draft | accepted | superseded by [ADR-1](1-a.md)]'),
      'template.md': record('superseded by [ADR-1](1-a.md)'),
    });
    expect(set.links).toEqual([]);
  });
});

describe('contradictions in a set', () => {
  it('B09 QO-23 reports a fork, whatever the order of arrival', () => {
    const files = {
      '1-a.md': record('Superseded by ADR 2'),
      '2-b.md': record('Accepted. Supersedes ADR 1'),
      '3-c.md': record('Accepted. Supersedes ADR 1'),
    };
    const set = setOf(files);
    expect(findingsOf(set)).toEqual([
      'fork: 1-a.md 2-b.md 3-c.md',
      'one_sided_link: 3-c.md 1-a.md',
    ]);
    expect(linesOf(set)).toEqual([['1-a.md', '2-b.md', '3-c.md']]);
    expect(setOf(Object.fromEntries(Object.entries(files).reverse()))).toEqual(set);
  });

  it.each([
    ['itself', ['1'], ['1']],
    ['two', ['2', '1'], ['1', '2']],
    ['three', ['2', '3', '1'], ['1', '2', '3']],
    ['three with a tail', ['2', '3', '1', '1'], ['1', '2', '3']],
  ])('B08 QO-23 reports a ring of %s and keeps its links', (_what, successors, members) => {
    const files = successors.map((to, i): DocumentFile => ({
      path: `${i + 1}.md`,
      text: record(`Superseded by ADR ${to}`),
    }));
    const set = readDocumentSet(files);
    expect(set.links.length).toBe(successors.length);
    const rings = set.findings.filter(({ kind }) => kind === 'ring');
    expect(rings.map(({ documents }) => documents)).toEqual([members.map((n) => `${n}.md`)]);
    expect(linesOf(set).map((line) => line.toSorted())).toEqual([files.map(({ path }) => path)]);
  });

  it('B08 reads a chain and a ring of thousands without recursion', () => {
    const count = 3_000;
    const files = Array.from({ length: count }, (_, i): DocumentFile => ({
      path: `${String(i).padStart(5, '0')}-a.md`,
      text: `- Status: superseded by [x](${String((i + 1) % count).padStart(5, '0')}-a.md)\n`,
    }));
    const ring = readDocumentSet(files);
    expect(
      ring.findings.filter(({ kind }) => kind === 'ring').map(({ documents }) => documents.length),
    ).toEqual([count]);
    const chain = readDocumentSet(files.slice(0, -1));
    expect(chain.findings.filter(({ kind }) => kind === 'ring')).toEqual([]);
    expect(chain.lines[0]?.documents.length).toBe(count - 1);
  });

  it('B07 QO-23 reports an accepted record that an accepted one supersedes, and keeps the link', () => {
    const set = setOf({
      '1-a.md': record('Accepted'),
      '2-b.md': record('Accepted. Supersedes ADR 1'),
    });
    expect(linksOf(set)).toEqual(['2-b.md supersedes 1-a.md (newer)']);
    expect(findingsOf(set)).toEqual([
      'status_contradicts_links: 1-a.md 2-b.md',
      'one_sided_link: 2-b.md 1-a.md',
    ]);
  });

  it('B07 QO-23 finds nothing wrong with an accepted record that a mere proposal would supersede', () => {
    const set = setOf({
      '1-a.md': record('Accepted'),
      '2-b.md': record('Proposed. Supersedes ADR 1'),
    });
    expect(findingsOf(set)).toEqual(['one_sided_link: 2-b.md 1-a.md']);
  });

  it('B07 QO-23 reports a record superseded by what is not decided', () => {
    const set = setOf({
      '1-a.md': record('Superseded by ADR 2'),
      '2-b.md': record('Proposed. Supersedes ADR 1'),
    });
    expect(findingsOf(set)).toEqual(['status_contradicts_links: 1-a.md 2-b.md']);
  });

  it('QO-23 reports a superseded record without a successor, and one of which a part stands', () => {
    const set = setOf({
      '1-a.md': record('Superseded'),
      '2-b.md': record('Superseded, but part of it still applies, see ADR 3'),
      '3-c.md': record('Accepted. Partially supersedes ADR 2'),
      '4-d.md': record('Superseded, see ADR 1 and ADR 3'),
    });
    expect(linksOf(set)).toEqual(['3-c.md partially_supersedes 2-b.md (newer+older)']);
    expect(findingsOf(set)).toEqual([
      'status_contradicts_links: 1-a.md',
      'status_contradicts_links: 2-b.md 3-c.md',
      'ambiguous_link: 4-d.md',
    ]);
  });
});

describe('lines of a set', () => {
  it('QO-23 names a line after its oldest document: by succession, then date, then path', () => {
    const dated = (date: string, status: string, title: string): string =>
      record(status, '', title).replace('## Status', `Date: ${date}\n\n## Status`);
    const set = setOf({
      'a.md': dated('2020-01-01', 'Accepted. Supersedes [x](z.md)', 'Last'),
      'm.md': dated('2019-01-01', 'Superseded by [x](a.md)', 'Older of two'),
      'y.md': dated('2018-01-01', 'Superseded by [x](z.md)', 'First'),
      'z.md': dated('2021-01-01', 'Superseded by [x](a.md)', 'Dated after its successor'),
      'solo.md': dated('2022-01-01', 'Accepted', 'Alone'),
    });
    expect(set.lines).toEqual([
      { name: 'Alone', documents: ['solo.md'] },
      { name: 'First', documents: ['y.md', 'm.md', 'z.md', 'a.md'] },
    ]);
  });

  it('QO-23 puts every decision in exactly one line', () => {
    const set = setOf({
      '1-a.md': record('Superseded by ADR 3'),
      '2-b.md': record('Superseded by ADR 3'),
      '3-c.md': record('Accepted'),
      '4-d.md': record('Accepted. Amends ADR 3'),
    });
    expect(linesOf(set)).toEqual([['1-a.md', '2-b.md', '3-c.md'], ['4-d.md']]);
  });
});

describe('a set as a whole', () => {
  it('QO-23 takes one of two files of the same path, whichever comes first', () => {
    const files = [
      { path: 'a.md', text: record('Rejected') },
      { path: 'a.md', text: record('Accepted') },
      { path: 'a.md', text: record('Accepted') },
    ];
    const set = readDocumentSet(files);
    expect(set.decisions.map(({ status }) => status)).toEqual(['accepted']);
    expect(set.skipped).toEqual([
      { path: 'a.md', reason: 'duplicate_path: given twice with different text' },
    ]);
    expect(readDocumentSet([...files].reverse())).toEqual(set);
    expect(readDocumentSet([])).toEqual({
      decisions: [],
      skipped: [],
      links: [],
      findings: [],
      lines: [],
    });
  });

  it('QO-24 B09 gives the same result for any order of the files, and lines that partition the decisions', () => {
    const status = fc.oneof(
      fc.constantFrom(
        'Accepted',
        'Proposed',
        'Superseded',
        'Accepted or Rejected',
        'Rejected (see ADR 1)',
      ),
      fc
        .tuple(
          fc.constantFrom(
            'Superseded by',
            'Accepted. Supersedes',
            'Amends',
            'Partially superseded by',
            'Superseded, see',
          ),
          fc.constantFrom(
            'ADR 1',
            'ADR 2',
            '[x](0003-x.md)',
            '4',
            'ADR 2 and ADR 3',
            '[ADR 9](9.md)',
            'a/0001-x',
          ),
        )
        .map(([verb, reference]) => `${verb} ${reference}`),
    );
    const path = fc.constantFrom(
      '0001-x.md',
      '0001-y.md',
      '0002-x.md',
      '0003-x.md',
      '0004-x.md',
      'a/0001-x.md',
      'a/0002-z.md',
      'template.md',
      'README.md',
    );
    const file = fc.record({ path, text: status.map((text) => record(text)) });
    const files = fc.array(file, { maxLength: 9 });
    const shuffled = files.chain((all) =>
      fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length })),
    );
    fc.assert(
      fc.property(shuffled, ([all, other]) => {
        const set = readDocumentSet(all);
        expect(readDocumentSet(other)).toEqual(set);
        const members = set.lines.flatMap(({ documents }) => documents);
        expect(members.sort()).toEqual(set.decisions.map((d) => d.path));
        const known = new Set(members);
        for (const { newer, older, statedBy } of set.links) {
          expect(known.has(newer) && known.has(older)).toBe(true);
          expect(statedBy.length).toBeGreaterThan(0);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('QO-23 changes nothing in what it is given', () => {
    const files = Object.freeze([
      Object.freeze({ path: 'b.md', text: record('Accepted') }),
      Object.freeze({ path: 'a.md', text: record('Accepted') }),
    ]);
    expect(readDocumentSet(files).decisions.map(({ path }) => path)).toEqual(['a.md', 'b.md']);
  });
});
