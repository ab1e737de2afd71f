import { describe, expect, it } from '@jest/globals';
import { BENCH_ROWS, FAULTS, INVARIANTS, PROMISES, type Commitment } from '../promises.js';
import { proved } from '../support/proved.js';
import { allTests, testsIn, type TitledTest } from '../support/titles.js';

const commitments = [...PROMISES, ...FAULTS, ...INVARIANTS];
const tests = allTests();
const citing = new Map<string, TitledTest[]>();
for (const test of tests)
  for (const id of idsIn(test.title)) citing.set(id, [...(citing.get(id) ?? []), test]);

/** `P1`, `B01`, `invariant 3`; `invariants 1, 2` are two. */
function idsIn(title: string): Set<string> {
  const invariants = [...title.matchAll(/\binvariants? (\d+(?:(?:, | and )\d+)*)/g)].flatMap(
    ([, numbers = '']) => (numbers.match(/\d+/g) ?? []).map((n) => `invariant ${n}`),
  );
  return new Set([...(title.match(/\b(?:P\d|B\d\d)\b/g) ?? []), ...invariants]);
}

/** What is wrong with a commitment, given the tests that cite it. */
function flaws({ id, proved: files = [], later }: Commitment, by: readonly TitledTest[]): string[] {
  if (later !== undefined) return by.length > 0 ? [`${id} is tested: it is claimed now`] : [];
  const never = by.filter(({ runs }) => runs === 'never');
  return [
    ...(by.length === 0 ? [`${id} has no test`] : []),
    ...(by.length > 0 && !by.some(({ runs }) => runs === 'always')
      ? [`${id} has no test that always runs`]
      : []),
    ...never.map(({ file, title }) => `${id} is cited by a skipped test: ${file}: ${title}`),
    ...files
      .filter((file) => !by.some((test) => test.file === file))
      .map((file) => `${id} is not cited in ${file}`),
  ];
}

describe('what the product promises', () => {
  it.each(commitments)('$id is proved by a test, or said to come later', (commitment) => {
    expect(flaws(commitment, citing.get(commitment.id) ?? [])).toEqual([]);
  });

  it('no test cites what nobody promised', () => {
    const known = new Set([...commitments.map(({ id }) => id), ...BENCH_ROWS]);
    expect([...citing.keys()].filter((id) => !known.has(id))).toEqual([]);
  });

  it('each is promised once', () => {
    const ids = commitments.map(({ id }) => id);
    expect(ids).toEqual([...new Set(ids)]);
    const claimed = (list: readonly Commitment[]) => list.filter((c) => c.later === undefined);
    proved('commitments cited by tests', {
      promises: claimed(PROMISES).length,
      faults: claimed(FAULTS).length,
      invariants: claimed(INVARIANTS).length,
      later: commitments.filter((c) => c.later !== undefined).length,
      'tests that cite one': new Set([...citing.values()].flat()).size,
    });
  });
});

describe('the reader of titles', () => {
  const found = testsIn(
    'x.spec.ts',
    `describe('P1: outer', () => {
       it('one (B01)', () => { expect(regex.test('no title')).toBe(true); });
       it.each([1, 2])(\`two \${N} B02\`, async () => {});
       describe.skip('inner', () => { it('three', () => {}); });
       it.todo('four');
       xit('five', () => {});
     });
     itWith(able, 'strace')('six', () => {});
     (able ? describe : describe.skip)('maybe', () => { it('seven', () => {}); });
     (able ? it : it.skip)('eight', () => {});
     for (const i of [1]) it.each\`a\${i}\`('nine', () => {});
     submit('ten');`,
  );

  it('finds every test under its blocks, and whether it runs', () => {
    expect(found.map(({ title, runs }) => [title, runs])).toEqual([
      ['P1: outer › one (B01)', 'always'],
      ['P1: outer › two … B02', 'always'],
      ['P1: outer › inner › three', 'never'],
      ['P1: outer › four', 'never'],
      ['P1: outer › five', 'never'],
      ['six', 'sometimes'],
      ['maybe › seven', 'sometimes'],
      ['eight', 'sometimes'],
      ['nine', 'always'],
    ]);
    expect([...idsIn('invariants 1, 2 and 10, B07: P5 of B500 and P256')]).toEqual([
      'B07',
      'P5',
      'invariant 1',
      'invariant 2',
      'invariant 10',
    ]);
  });

  it('a promise without a test, with a skipped one or with none that always runs is told', () => {
    const [one, , three, , , six] = found;
    if (!one || !three || !six) throw new Error('not found');
    const promise = { id: 'P1', says: '' };
    expect(flaws(promise, [one])).toEqual([]);
    expect(flaws(promise, [])).toEqual(['P1 has no test']);
    expect(flaws(promise, [one, three])).toEqual([
      'P1 is cited by a skipped test: x.spec.ts: P1: outer › inner › three',
    ]);
    expect(flaws(promise, [six])).toEqual(['P1 has no test that always runs']);
    expect(flaws({ ...promise, proved: ['y.spec.ts'] }, [one])).toEqual([
      'P1 is not cited in y.spec.ts',
    ]);
    expect(flaws({ ...promise, later: 'soon' }, [one])).toEqual([
      'P1 is tested: it is claimed now',
    ]);
    expect(tests.length).toBeGreaterThan(500);
  });
});
