import { describe, expect, it } from '@jest/globals';
import { parseMarkdown } from '#kernel/markdown.js';
import type { Mention } from './document-references.js';
import {
  referencesIn,
  successionField,
  successionIn,
  type Context,
} from './document-statements.js';

/** The text is said by ADR 9. Each statement in one line: kind, what ADR 9 is, the other as written. */
function said(markdown: string, context: Context): string[] {
  const [block] = parseMarkdown(markdown).blocks;
  const isSelf = ({ id }: Mention): boolean => id?.prefix === 'adr' && id.number === '9';
  const { statements } = successionIn(block ?? { text: '', links: [] }, context, isSelf);
  return statements.map(
    ({ kind, self, other }) => `${kind} as ${self}: ${other.href ?? other.label}`,
  );
}

describe('succession stated in a status', () => {
  it.each([
    ['Superseded by [ADR 5](5.md)', ['supersedes as older: 5.md']],
    ['⌛️ Superseded by [036. Multi-cluster](036.md)', ['supersedes as older: 036.md']],
    ['superseded by [5. A title. With stops](5.md).', ['supersedes as older: 5.md']],
    ['Superceded by ADR-0005', ['supersedes as older: ADR-0005']],
    [
      'Superseded by: ADR 5 and [ADR 6](6.md)',
      ['supersedes as older: ADR 5', 'supersedes as older: 6.md'],
    ],
    ['Superseded by 12', ['supersedes as older: 12']],
    ['Superseded by #12', ['supersedes as older: 12']],
    ['Superseded by 0012-use-x.md', ['supersedes as older: 0012-use-x.md']],
    ['Superseded by "Use a queue"', ['supersedes as older: Use a queue']],
    ['Superseded by [ADR 5]', ['supersedes as older: ADR 5']],
    ['Superseded by [[0012-use-x]]', ['supersedes as older: 0012-use-x']],
    ['~~Accepted~~ Superseded by ADR 5', ['supersedes as older: ADR 5']],
    ['Accepted, but superseded by ADR 5', ['supersedes as older: ADR 5']],
    ['Replaced by [x](5.md)', ['supersedes as older: 5.md']],
    ['Obsoleted by ADR 5', ['supersedes as older: ADR 5']],
    ['This ADR has been superseded by ADR 5', ['supersedes as older: ADR 5']],
    ['Accepted, superseded by ADR 5', ['supersedes as older: ADR 5']],
    ['Accepted (superseded by ADR 5)', ['supersedes as older: ADR 5']],
    ['Superseded, see [ADR 5](5.md)', ['supersedes as older: 5.md']],
    ['Amended by [ADR 5](5.md)', ['amends as older: 5.md']],
    ['Partially superseded by ADR 5', ['partially_supersedes as older: ADR 5']],
    ['Superseded in part by ADR 5', ['partially_supersedes as older: ADR 5']],
    [
      'Superseded by ADR 5. The naming rule still applies.',
      ['partially_supersedes as older: ADR 5'],
    ],
    [
      'superseded - The headline "x" still applies, but in [ADR 8](8.md) we changed it',
      ['partially_supersedes as older: 8.md'],
    ],
    ['Supersedes [ADR 2](2.md)', ['supersedes as newer: 2.md']],
    ['Supercedes [2. x](2.md)', ['supersedes as newer: 2.md']],
    ['Accepted. Supersedes D1', ['supersedes as newer: D1']],
    [
      'Accepted. Replaces ADR 2, amends ADR 3',
      ['supersedes as newer: ADR 2', 'amends as newer: ADR 3'],
    ],
    [
      'Obsoletes ADR 2; superseded by ADR 5',
      ['supersedes as newer: ADR 2', 'supersedes as older: ADR 5'],
    ],
    ['Accepted\nSupersedes [ADR 2](2.md)', ['supersedes as newer: 2.md']],
    ['Partially supersedes ADR 2', ['partially_supersedes as newer: ADR 2']],
    ['Supersedes parts of ADR 2', ['partially_supersedes as newer: ADR 2']],
  ])('B11 %j', (text, expected) => {
    expect(said(text, 'status')).toEqual(expected);
  });

  it.each([
    'Accepted',
    'Rejected (see [019](019.md))',
    'Superseded',
    'Superseded in 2024',
    '~~Superseded by [ADR 5](5.md)~~ Accepted',
    'Refines D2 (which superseded D1)',
    'Accepted. Refines D2 (superseded D1)',
    'Accepted. Refines D2 (supersedes D1)',
    'Accepted. Not superseded by ADR 5',
    'Valid statuses are: "Accepted", "Superseded by ADR 5"',
  ])('B11 %j says nothing of it', (text) => {
    const { length } = said(text, 'status').filter((one) => !one.endsWith('in 2024'));
    expect(length).toBe(0);
  });

  it('QO-23 does not choose among several references beside a bare "superseded"', () => {
    const [block] = parseMarkdown('Superseded, see [ADR 5](5.md) and [ADR 6](6.md)').blocks;
    const read = successionIn(block ?? { text: '', links: [] }, 'status', () => false);
    expect(read.statements).toEqual([]);
    expect(read.unclear.map((mentions) => mentions.map(({ href }) => href))).toEqual([
      ['5.md', '6.md'],
    ]);
  });
});

describe('succession stated among links', () => {
  it.each([
    ['Supersedes [x](2.md)', ['supersedes as newer: 2.md']],
    ['Superseded by [x](5.md)', ['supersedes as older: 5.md']],
    ['Amends [x](2.md)', ['amends as newer: 2.md']],
    ['Refined by [x](5.md)', []],
    ['Relates to [x](5.md), which supersedes [y](2.md)', []],
    ['Replaced [Gulp](https://gulpjs.com) in our builds', []],
  ])('B11 %j', (text, expected) => {
    expect(said(text, 'links')).toEqual(expected);
  });
});

describe('succession stated in prose', () => {
  it.each([
    ['[ADR 2](2.md) can be considered superseded now.', ['supersedes as newer: 2.md']],
    [
      '[ADR 4](4.md) should be marked as superseded once x is complete.',
      ['supersedes as newer: 4.md'],
    ],
    [
      'ADR 2 and ADR 3 are hereby superseded.',
      ['supersedes as newer: ADR 3', 'supersedes as newer: ADR 2'],
    ],
    ['[ADR 2](2.md) is superseded by this decision.', ['supersedes as newer: 2.md']],
    ['ADR 2 is superseded by ADR 9.', ['supersedes as newer: ADR 2']],
    ['This ADR supersedes the decision made in [ADR 2](2.md).', ['supersedes as newer: 2.md']],
    ['As we said, this decision record replaces ADR 2.', ['supersedes as newer: ADR 2']],
    ['Unlike ADR 3, this ADR supersedes ADR 2.', ['supersedes as newer: ADR 2']],
    ['ADR 9 supersedes ADR 2.', ['supersedes as newer: ADR 2']],
    [
      'This decision supersedes ADR 2 and amends ADR 3.',
      ['supersedes as newer: ADR 2', 'amends as newer: ADR 3'],
    ],
    ['This ADR is superseded by [x](12.md).', ['supersedes as older: 12.md']],
    ['This document was replaced in part by ADR 12.', ['partially_supersedes as older: ADR 12']],
    ['Supersedes [ADR 2](2.md).', ['supersedes as newer: 2.md']],
    ['This ADR replaces some aspects of ADR 2.', ['partially_supersedes as newer: ADR 2']],
  ])('B11 %j', (text, expected) => {
    expect(said(text, 'prose')).toEqual(expected);
  });

  it.each([
    'This replaces usage of kOps.',
    'This ADR does not supersede ADR 2.',
    'If this ADR supersedes ADR 2, we must tell.',
    'This ADR would supersede ADR 2.',
    'This ADR may be superseded by ADR 12.',
    'ADR 2 was superseded long ago.',
    'ADR 2 has been superseded.',
    'ADR 2 was superseded by ADR 3.',
    'ADR 3 supersedes ADR 2.',
    'It refines D2 (which superseded D1).',
    'The proxy replaces the cache described by the team, see ADR 2.',
    'We expect the decision to be revisited and likely superseded in the future, see [ADR 2](2.md).',
    'This ADR will be superseded when ADR 12 is done.',
    'Wikit was superseded with the design system [Codex](https://doc.example.org).',
    '[ADR 2](2.md) should not be considered superseded.',
    'This is an addendum to [ADR019](19.md) which set out to use SES instead of Notify.',
    'Previously we added [PaperTrail](13.md); it is replaced by nothing.',
  ])('B11 %j says nothing of it', (text) => {
    expect(said(text, 'prose')).toEqual([]);
  });
});

describe('succession as a field of front matter', () => {
  it.each([
    [
      'supersedes',
      ['ADR-1', '0002-x.md', ''],
      ['supersedes newer ADR-1', 'supersedes newer 0002-x.md'],
    ],
    ['superseded-by', ['3'], ['supersedes older 3']],
    ['partially-supersedes', ['3'], ['partially_supersedes newer 3']],
    ['amended-by', ['3'], ['amends older 3']],
    ['replaces', ['3'], ['supersedes newer 3']],
    ['superseded', ['3'], []],
    ['supersedes-by', ['3'], []],
    ['tags', ['supersedes'], []],
  ])('QO-23 %s', (key, values, expected) => {
    const read = successionField(key, values).map((s) => `${s.kind} ${s.self} ${s.other.label}`);
    expect(read).toEqual(expected);
  });
});

describe('a field of references', () => {
  it.each([
    ['443, PEP 3124', ['443', 'PEP 3124']],
    ['XEP-0022 (in part); RFC 6120', ['XEP-0022 (in part)', 'RFC 6120']],
    ['XMPP Core', ['XMPP Core']],
    ['the board decided on Monday to use something else', undefined],
    ['ADR 5 (see the notes, please)', undefined],
  ])('QO-23 %j', (text, values) => {
    expect(referencesIn(text)).toEqual(values);
  });

  it('QO-23 keeps "in part" and leaves out what names nothing', () => {
    const said = successionField('replaces', ['XEP-0022 (in part)', 'none', 'n/a', '-', '12']);
    expect(said.map(({ kind, other }) => `${kind} ${other.label}`)).toEqual([
      'partially_supersedes XEP-0022',
      'supersedes 12',
    ]);
  });
});
