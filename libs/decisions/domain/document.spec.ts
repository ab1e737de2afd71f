import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { body, read } from '../../../test/support/document-sets.js';
import { readDocumentSet } from './document-set.js';

function reasonOf(path: string, text: string): string | undefined {
  return readDocumentSet([{ path, text }]).skipped[0]?.reason;
}

describe('names of a document', () => {
  it.each([
    [
      'adr/ADR025-remove-x.md',
      '# ADR025: Remove `x`',
      'Remove x',
      ['ADR025', 'ADR025-remove-x', '025'],
    ],
    ['adr/ADR023-use-y.md', '# ADR23: Use y', 'Use y', ['ADR023', 'ADR23', 'ADR023-use-y', '023']],
    ['adr/ADR037-y.md', '# ADD037: Y', 'Y', ['ADR037', 'ADD037', 'ADR037-y', '037']],
    ['adr/0005-a.md', '# 5. Title. More', 'Title. More', ['0005-a', '0005']],
    ['adr/023-Logging.md', '# 23 Logging', 'Logging', ['023-Logging', '023']],
    [
      'docs/adr/0000-a.md',
      '# 0) Use a cache {#adr_0000}',
      'Use a cache',
      ['adr_0000', '0000-a', '0000'],
    ],
    [
      'repo/domains/crud/docs/adr/0009_read.md',
      '# 9) Read models {#rest_adr_0009}',
      'Read models',
      ['crud/0009', 'rest_adr_0009', '0009_read', '0009'],
    ],
    ['a/adr/20200102-b.md', '# Title', 'Title', ['a/20200102-b', '20200102-b']],
    ['D1.md', '# D1', 'D1', ['D1', '1']],
    ['use-s3.md', '# S3: use it', 'S3: use it', ['use-s3']],
    ['x.md', '# 5 reasons to use y', '5 reasons to use y', ['x']],
    ['x.md', '# ADR-0007 - Use z', 'Use z', ['ADR-0007', 'x']],
  ])('QO-23 of %s with %j', (path, heading, title, identifiers) => {
    const document = read(`${heading}\n\n## Status\n\naccepted${body}`, path);
    expect([document.title, document.identifiers]).toEqual([title, identifiers]);
  });

  it.each([
    [
      'adr/20200102-adr-without-title.md',
      '- Date: 2020-01-02\n\n## Context\n\nx',
      'Adr without title',
    ],
    ['adr/ADR025-remove-x.md', '# [short title of solved problem and solution]', 'Remove x'],
    ['adr/0007_use_y.md', '# \n\n## Status\n\naccepted', 'Use y'],
  ])('QO-23 makes the title of %s from the file name', (path, text, title) => {
    expect(read(`${text}\n\n## Status\n\naccepted${body}`, path).title).toBe(title);
  });

  it('QO-23 takes no title from the template of the same folder', () => {
    const template =
      '# ADRxxx: Record Title (a description)\n\n## Status\n\n> Accepted or Rejected\n';
    const { decisions } = readDocumentSet([
      { path: 'ADRXXX-record-template.md', text: template },
      {
        path: 'ADR025-remove-x.md',
        text: `# ADR025: Record Title (a description)\n\n## Status\n\nAccepted${body}`,
      },
    ]);
    expect(decisions.map(({ title }) => title)).toEqual(['Remove x']);
  });
});

describe('date and deciders of a document', () => {
  it.each([
    ['- Date: 2020-01-02', '2020-01-02', '2020-01-02'],
    ['Date 26/03/2018', '2018-03-26', '26/03/2018'],
    ['Date: 03/04/2018', undefined, '03/04/2018'],
    ['Date of submission: 2019-06-21\n\nLast updated: 2019-07-04', undefined, undefined],
    ['Date: YYYY-MM-DD', undefined, undefined],
    ['## Date\n\n1 February 2024', '2024-02-01', '1 February 2024'],
    ['', undefined, undefined],
  ])('QO-23 reads %j without guessing', (text, iso, written) => {
    const document = read(`# A\n\n${text}\n\n## Status\n\naccepted${body}`, '20200926-a.md');
    expect([document.decidedOn, document.decidedOnText]).toEqual([iso, written]);
  });

  it('QO-23 reads MADR front matter', () => {
    const front =
      '---\nstatus: accepted\ndate: 2024-02-01\ndecision-makers: [Ann, "Bob; Cy"]\n---\n# A';
    expect(read(front + body)).toMatchObject({
      decidedOn: '2024-02-01',
      deciders: ['Ann', 'Bob', 'Cy'],
    });
    const list = '# A\n\n- Deciders: John Doe, Foo bar <!-- optional -->\n- Status: accepted';
    expect(read(list + body).deciders).toEqual(['John Doe', 'Foo bar']);
    const unfilled = '# A\n\n- Deciders: [list everyone involved]\n- Status: accepted';
    expect(read(unfilled + body).deciders).toEqual([]);
  });

  it('QO-23 reports a date that may mean two days', () => {
    const text = `# A\n\nDate: 03/04/2018\n\n## Status\n\naccepted${body}`;
    expect(readDocumentSet([{ path: 'a.md', text }]).findings).toEqual([
      {
        kind: 'unreadable_date',
        documents: ['a.md'],
        detail: 'date "03/04/2018" may mean 2018-04-03 or 2018-03-04',
      },
    ]);
  });
});

describe('decision of a document', () => {
  const quote = (text: string): string | undefined =>
    read(`# A\n\n## Status\n\naccepted\n\n${text}`).decision?.text;

  it.each([
    ['## Decision\n\nUse *x*.\n\nBecause y.', 'Use *x*.'],
    [
      '## Decision Outcome\n\nChosen option: "x", because\n\n- y\n- z\n\nEnd.',
      'Chosen option: "x", because\n\n- y\n- z',
    ],
    ['## Decision\n\nWe will:\n\n1. a\n2. b\n\nmore', 'We will:\n\n1. a\n2. b'],
    ['## Decision\n\nWe will do so\n- a\n- b', 'We will do so\n- a\n- b'],
    ['## Decision\n\n- use a\n- use b\n\nmore', 'use a\n- use b'],
    ['## Decision: use x\n\nFor all.', 'For all.'],
    ['## 3. The decision\n\nUse x.', 'Use x.'],
    ['## The existing decision\n\nUse x.', 'Use x.'],
    ['## Decision\n\n### Part\n\nUse x.', 'Use x.'],
    ['## Proposal\n\nUse x.\n\n## Decision\n\nUse y.', 'Use y.'],
    ['## What’s proposed\n\nUse x.\n\n## Decision\n\nTBD', 'Use x.'],
    ['## Domain\n\n**Decision:** drop x\n', '**Decision:** drop x'],
    ['## Decision Drivers\n\nSpeed.\n', undefined],
    ['## Decision\n\n> {title of option 1}\n', undefined],
    ['## Decision Outcome\n\nChosen option: "[option 1]", because [justification].\n', undefined],
    ['## Decision\n\n```\ncode\n```\n', undefined],
    ['## Decision\n', undefined],
  ])('QO-9 quotes %j', (text, expected) => {
    expect(quote(text)).toBe(expected);
  });

  it('QO-9 never quotes what the template of the folder says', () => {
    const template =
      '# Title\n\n## Status\n\n?\n\n## Decision\n\n> what the team has decided to do\n';
    const text =
      '# A\n\n## Status\n\naccepted\n\n## Decision\n\n> What the *team* has decided\n> to do\n';
    const { decisions } = readDocumentSet([
      { path: 'template.md', text: template },
      { path: '1-a.md', text },
    ]);
    expect(decisions[0]?.decision).toBeUndefined();
  });

  it('QO-9 cuts a long decision at the end of a sentence, else of a word, and never inside of a character', () => {
    expect(quote(`## Decision\n\n${'Use a queue. '.repeat(100)}`)).toMatch(
      /^(Use a queue\. )+Use a queue\.$/,
    );
    expect(quote(`## Decision\n\n${'queue '.repeat(200)}`)).toMatch(/^(queue )+queue$/);
    expect(quote(`## Decision\n\nok${'😀'.repeat(400)}`)).toBe(`ok${'😀'.repeat(249)}`);
    expect(quote(`## Decision\n\nyes${'😀'.repeat(400)}`)).toBe(`yes${'😀'.repeat(248)}`);
  });

  it('QO-9 quotes verbatim: what stands at the place it names, CRLF and marks included', () => {
    const text =
      '# A\r\n\r\n## Status\r\n\r\naccepted\r\n\r\n## Decision\r\n\r\nUse\r\n[x](y).\r\n';
    const { decision } = read(text);
    expect(decision?.text).toBe('Use\r\n[x](y).');
    expect(text.slice(decision?.start, decision?.end)).toBe(decision?.text);
  });
});

describe('files that are no decisions', () => {
  it.each([
    ['README.md', '# x\n\n## Status\n\naccepted', 'readme'],
    ['docs/readme.markdown', '# x', 'readme'],
    ['docs/index.md', '# ADRs', 'index'],
    ['template.md', '# [short title]\n', 'template'],
    ['adr-template.md', `# T\n\n## Status\n\naccepted${body}`, 'template'],
    ['NNNN-a.md', '# N) Title', 'template'],
    ['ADRXXX-a.md', '# ADRxxx: Title', 'template'],
    [
      '0005-x.md',
      '# [short title of solved problem]\n\n## Status\n\n[proposed | accepted]\n',
      'template',
    ],
    ['a.md', '', 'empty'],
    ['a.md', '\uFEFF \r\n\0', 'empty'],
    ['a.md', '---\ntitle: x\n---\n', 'empty'],
    ['a.md', '<!-- nothing -->', 'empty'],
    ['a.png', 'x', 'not_markdown'],
    ['a.md', 'a'.repeat(1_000_000), 'too_large: over 262144 characters'],
    [
      '028-x.md',
      '# 28 Scanning\n\nDate: 2021-11-05\n\n**Link: https://x.org**',
      'not_a_decision: no status and no decision section',
    ],
  ])('QO-23 skips %s (%#)', (path, text, reason) => {
    expect(reasonOf(path, text)).toBe(reason);
  });

  it('QO-23 reads a numbered record about templates, and one without a status', () => {
    expect(
      read(`# Use a template\n\n## Status\n\nAccepted${body}`, '0012-adr-template.md').status,
    ).toBe('accepted');
    expect(read(`# A${body}`).status).toBe('unstated');
    expect(read('# A\n\n## Decision\n').decision).toBeUndefined();
  });
});

describe('texts that are not meant well', () => {
  it.each([
    ['quotes', '>'.repeat(200_000)],
    ['brackets', `${'['.repeat(100_000)}${']'.repeat(100_000)}`],
    ['emphasis', '*a_ '.repeat(60_000)],
    ['one sentence of succession', 'superseded by ADR 1 '.repeat(12_000)],
    ['many sentences of succession', 'This ADR is superseded by ADR 1. '.repeat(7_000)],
    ['auxiliaries', `${'is '.repeat(80_000)}superseded`],
    ['references', `Superseded by ${'ADR 1, '.repeat(30_000)}`],
    ['fields', 'ab: c\n'.repeat(40_000)],
    ['statuses', 'accepted, '.repeat(25_000)],
    ['lines of statuses', 'Accepted\n'.repeat(25_000)],
    ['digits', '1'.repeat(250_000)],
    ['pipes', '| a '.repeat(60_000)],
    ['zero characters', '\0'.repeat(200_000)],
  ])('QO-23 reads a document full of %s in bounded time', (_what, text) => {
    const before = process.cpuUsage().user;
    read(`# A\n\n## Status\n\n${text}\n${body}`);
    read(`# A\n\nStatus: ${text}\n${body}`);
    read(`# A\n\nStatus: accepted\n\n${text}\n\n## Decision\n\n${text.slice(0, 10_000)}\n`);
    expect((process.cpuUsage().user - before) / 1000).toBeLessThan(20_000);
  });

  it('QO-23 reads any bytes: no throw, a result for each file, quotes that are verbatim', () => {
    const piece = fc.oneof(
      fc.constantFrom(
        '# A\n',
        '## Status\n\n',
        '## Decision\n\n',
        'Accepted',
        'Superseded by ',
        '[ADR 1](1.md)',
        'ADR-2',
        ' supersedes ',
        'This ADR ',
        '\n\n',
        '- Status: ',
        '- Date: ',
        '2024-02-01',
        '---\n',
        'status: ',
        '> ',
        '```\n',
        '\0',
        '\uFEFF',
        '\uD800',
        '<!--',
        '| Status | x |\n',
        '## Links\n\n- ',
        '(',
        ')',
        ', ',
        '. ',
      ),
      fc.string({ unit: 'binary', maxLength: 10 }),
    );
    const file = fc.record({
      path: fc.constantFrom(
        '1.md',
        '2-a.md',
        'ADR003-b.md',
        'x/1.md',
        'template.md',
        'a.txt',
        '..',
        '',
      ),
      text: fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join('')),
    });
    fc.assert(
      fc.property(fc.uniqueArray(file, { selector: (f) => f.path, maxLength: 6 }), (files) => {
        const set = readDocumentSet(files);
        expect(set.decisions.length + set.skipped.length).toBe(files.length);
        for (const { path, decision } of set.decisions) {
          if (decision === undefined) continue;
          const text = files.find((f) => f.path === path)?.text ?? '';
          expect(text.slice(decision.start, decision.end)).toBe(decision.text);
          expect(decision.text.length).toBeGreaterThan(0);
          expect(decision.text.length).toBeLessThanOrEqual(500);
        }
        for (const { reason } of set.skipped) expect(reason).toMatch(/^[a-z_]+(?:: .+)?$/);
      }),
      { numRuns: 500 },
    );
  });
});
