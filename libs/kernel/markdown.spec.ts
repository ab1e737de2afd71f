import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseMarkdown, sliceText, type Block } from './markdown.js';

const texts = (source: string): string[] => parseMarkdown(source).blocks.map(({ text }) => text);
const linksOf = (source: string): [string, string][] =>
  parseMarkdown(source).blocks.flatMap(({ text, links }) =>
    links.map(({ from, to, href }): [string, string] => [text.slice(from, to), href]),
  );
const slices = (source: string): string[] =>
  parseMarkdown(source).blocks.map(({ start, end }) => source.slice(start, end));

describe('parseMarkdown', () => {
  it('gives blocks with their place in the source', () => {
    const source =
      '# Title *here*\n\nOne `two`\nthree.\n\n> quoted\n\n- item\n  - inner\n\n```\ncode\n```\n';
    expect(texts(source)).toEqual([
      'Title here',
      'One two\nthree.',
      'quoted',
      'item',
      'inner',
      'code',
    ]);
    expect(slices(source)).toEqual([
      '# Title *here*',
      'One `two`\nthree.',
      'quoted',
      'item',
      'inner',
      '```\ncode\n```',
    ]);
    const kinds = parseMarkdown(source).blocks.map((b) => [b.kind, b.depth, b.quoted, b.listLevel]);
    expect(kinds).toEqual([
      ['heading', 1, false, 0],
      ['paragraph', 0, false, 0],
      ['paragraph', 0, true, 0],
      ['paragraph', 0, false, 1],
      ['paragraph', 0, false, 2],
      ['code', 0, false, 0],
    ]);
  });

  it('nests sections by the rank of their headings', () => {
    const source = '# A\n\none\n\n### B\n\ntwo\n\n## C\n\nthree\n\n# D\n';
    const { sections } = parseMarkdown(source);
    expect(sections.map((s) => [s.heading.text, s.blocks.map((b) => b.text)])).toEqual([
      ['A', ['one', 'B', 'two', 'C', 'three']],
      ['B', ['two']],
      ['C', ['three']],
      ['D', []],
    ]);
    expect(sections.map((s) => source.slice(s.start, s.end).split('\n')[0])).toEqual([
      '# A',
      '### B',
      '## C',
      '# D',
    ]);
    const under = (block: Block | undefined): string[] => block?.under.map((h) => h.text) ?? [];
    const { blocks } = parseMarkdown(source);
    expect(blocks.map(under)).toEqual([[], ['A'], ['A'], ['A', 'B'], ['A'], ['A', 'C'], []]);
  });

  it('does not take a heading in a quote or a list for a section', () => {
    expect(parseMarkdown('# A\n\n> # B\n\n- # C\n').sections.map((s) => s.heading.text)).toEqual([
      'A',
    ]);
  });

  it('finds links in every form, definitions after their use included', () => {
    expect(
      linksOf(
        'See [a *b*](x.md "t"), [c][ref], [ref], [undefined] and <https://e.org/p>.\n\n[ref]: y.md\n',
      ),
    ).toEqual([
      ['a b', 'x.md'],
      ['c', 'y.md'],
      ['ref', 'y.md'],
      ['https://e.org/p', 'https://e.org/p'],
    ]);
  });

  it('finds the references of doxygen, inline and defined', () => {
    expect(
      linksOf('By [ADR 9] and [ADR #25](@ref adr_0025).\n\n[ADR 9]: @ref rest_adr_0009\n'),
    ).toEqual([
      ['ADR 9', '@ref/rest_adr_0009'],
      ['ADR #25', '@ref/adr_0025'],
    ]);
  });

  it('leaves out HTML and its comments', () => {
    expect(texts('<!-- note -->\n\n## Links <!-- optional -->\n\na<!-- b -->c <b>d</b>\n')).toEqual(
      ['Links', 'ac d'],
    );
  });

  it.each([
    ['LF', '\n'],
    ['CRLF', '\r\n'],
    ['CR', '\r'],
  ])('reads %s line ends with offsets of the source', (_name, end) => {
    const source = ['---', 'status: accepted', '---', '# A', '', 'b [c](d)', 'e', ''].join(end);
    const { blocks, frontMatter } = parseMarkdown(source);
    // CR alone ends no line for YAML's fence; everything else is the same.
    if (end !== '\r') expect([...frontMatter]).toEqual([['status', ['accepted']]]);
    const body = blocks.at(-1);
    expect(body?.text).toBe('b c\ne');
    expect(source.slice(body?.start, body?.end)).toBe(`b [c](d)${end}e`);
  });

  it('reads past a byte order mark', () => {
    const source = '\uFEFF---\ntitle: x\n---\n# A\n';
    expect(slices(source)).toEqual(['# A']);
    expect(parseMarkdown(source).frontMatter.get('title')).toEqual(['x']);
    expect(slices('\uFEFF# A\n')).toEqual(['# A']);
  });

  it('reads front matter as written: no dates, numbers or prototypes made of it', () => {
    const source =
      '---\ndate: 2024-02-01\nDecision Makers: [Ann, 007]\nsupersededBy: ADR-2\n__proto__: x\nempty:\n---\ntext\n';
    expect([...parseMarkdown(source).frontMatter]).toEqual([
      ['date', ['2024-02-01']],
      ['decision-makers', ['Ann', '007']],
      ['superseded-by', ['ADR-2']],
      ['-proto-', ['x']],
      ['empty', ['']],
    ]);
  });

  it('reads front matter that is not quite YAML line by line, and takes a rule for a rule', () => {
    const source = '---\ntitle: ADR 5: Use x\nstatus: "accepted"\n---\n# A\n';
    expect(parseMarkdown(source).frontMatter.get('title')).toEqual(['ADR 5: Use x']);
    expect(parseMarkdown(source).frontMatter.get('status')).toEqual(['accepted']);
    expect(texts('---\n\njust text\n\n---\n\nmore\n')).toEqual(['just text', 'more']);
    expect(texts('---\nnever closed: x\n')).toEqual(['never closed: x']);
  });

  it('cuts a linked text without tearing links', () => {
    const [block] = parseMarkdown('Status: see [a](b) or [c](d)\n').blocks;
    expect(block && sliceText(block, 8, 13)).toEqual({
      text: 'see a',
      links: [{ href: 'b', from: 4, to: 5 }],
    });
    expect(block && sliceText(block, 8, 12).links).toEqual([]);
  });

  it('never throws, and every place it names lies in the source, in order', () => {
    const piece = fc.oneof(
      fc.constantFrom(
        '# ',
        '> ',
        '- ',
        '1. ',
        '\n',
        '\n\n',
        '\r\n',
        '\t',
        '---\n',
        '[a](b)',
        '[a]',
        '[a]: b\n',
        '```\n',
        '<!-- ',
        ' -->',
        '*',
        '**',
        '_',
        '`',
        '\0',
        '\uFEFF',
        '\uD800',
        '&amp;',
        '![',
        '](@ref x)',
        '    ',
        '==\n',
      ),
      fc.string({ unit: 'binary', maxLength: 8 }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        const source = pieces.join('');
        let last = 0;
        for (const { start, end, text, links } of parseMarkdown(source).blocks) {
          expect(start).toBeGreaterThanOrEqual(last);
          expect(end).toBeGreaterThanOrEqual(start);
          expect(end).toBeLessThanOrEqual(source.length);
          last = start;
          for (const link of links) expect(link.to).toBeLessThanOrEqual(text.length + 1);
        }
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ['one letter', 'a'],
    ['quote marks', '>'],
    ['spaced quote marks', '> '],
    ['mixed list marks', '- + * '],
    ['numbered list marks', '1. '],
    ['open brackets', '['],
    ['bracket pairs', '[a]'],
    ['alternating emphasis', '*a_ '],
    ['open comments', 'a <!-- '],
    ['back quotes', '`a``'],
    ['zero characters', '\0'],
    ['carriage returns with quotes', 'a\r>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>\r'],
  ])('reads a long run of %s in time that grows with its length only', (_name, unit) => {
    const run = (length: number): number => {
      const source = unit.repeat(Math.ceil(length / unit.length));
      const before = process.cpuUsage().user;
      parseMarkdown(source);
      return (process.cpuUsage().user - before) / 1000;
    };
    run(10_000);
    // Unguarded, most of these take minutes at this length, or end in a stack overflow.
    expect(run(150_000)).toBeLessThan(8_000);
  });

  it('reads a megabyte of one character and a bracket of nested front matter', () => {
    expect(texts('a'.repeat(1_000_000))[0]?.length).toBe(1_000_000);
    expect(() => parseMarkdown(`---\na: ${'['.repeat(60_000)}\n---\n`)).not.toThrow();
    expect(() => parseMarkdown(`---\na: ${'['.repeat(1_000_000)}\n---\n`)).not.toThrow();
  });
});
