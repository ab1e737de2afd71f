import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { canonicalJson } from '#kernel/json.js';
import { identityOf } from './content.js';
import type { DatasetContent, EvalCase } from './dataset.events.js';
import { exported } from './export.js';

const word = fc.string({ minLength: 1, maxLength: 12, unit: 'grapheme' });
const scope = fc.dictionary(word, word, { maxKeys: 3 });
const content = fc.record(
  {
    name: word,
    description: word,
    cases: fc.array(
      fc.record(
        {
          question: word,
          topic: word,
          scope,
          as_of: fc.constant('2024-01-01'),
          known_at: fc.constant('17'),
          expect: fc.record(
            {
              state: fc.constantFrom('verified' as const, 'contested' as const),
              decision_id: word,
              value: fc.jsonValue().filter(isCarriable),
              scope,
              sources: fc.array(word, { maxLength: 3 }),
            },
            { requiredKeys: ['state'] },
          ),
        },
        { requiredKeys: ['question', 'expect'] },
      ),
      { minLength: 1, maxLength: 20 },
    ),
  },
  { requiredKeys: ['name', 'cases'] },
) as fc.Arbitrary<DatasetContent>;

/** Any JSON that a door lets in: no integer beyond 2^53 − 1. */
function isCarriable(value: unknown): boolean {
  try {
    return canonicalJson(value) !== '';
  } catch {
    return false;
  }
}

const HEADER = ['purpose', 'format', 'dataset_id', 'dataset_hash', 'name', 'description', 'cases'];
const CASE = ['purpose', 'case', 'question', 'topic', 'scope', 'as_of', 'known_at', 'expect'];

it('O-52, invariant 10: an export is its dataset, line by line declared evaluation_only, and holds nothing else', () => {
  const counted = { sets: 0, lines: 0 };
  fc.assert(
    fc.property(content, (given) => {
      const stored = JSON.parse(JSON.stringify(given)) as DatasetContent;
      const { id, hash } = identityOf(stored);
      // What a state may carry beside the dataset is not looked at.
      const state = { status: 'approved' as const, id, hash, content: stored, preparedBy: 'ann' };
      const jsonl = exported({ ...state, ...{ ratings: ['secret'], trace: 'secret' } });
      expect(jsonl.endsWith('\n')).toBe(true);
      const [header, ...cases] = jsonl
        .slice(0, -1)
        .split('\n')
        .map((line) => JSON.parse(line) as Record<string, unknown>);
      for (const line of [header, ...cases]) expect(line?.['purpose']).toBe('evaluation_only');
      expect(Object.keys(header ?? {}).filter((key) => !HEADER.includes(key))).toEqual([]);
      for (const line of cases)
        expect(Object.keys(line).filter((key) => !CASE.includes(key))).toEqual([]);
      // Put together again it has the same hash: nothing was added, changed or lost.
      const { name, description } = header as unknown as DatasetContent;
      const again = {
        name,
        ...(description === undefined ? {} : { description }),
        cases: cases.map(
          ({ purpose: _purpose, case: _case, ...one }) => one as unknown as EvalCase,
        ),
      };
      expect([header?.['dataset_hash'], identityOf(again).hash]).toEqual([hash, hash]);
      expect(header?.['cases']).toBe(cases.length);
      counted.sets += 1;
      counted.lines += cases.length + 1;
    }),
    { numRuns: 300 },
  );
  process.stdout.write(`exports: ${counted.sets} datasets, ${counted.lines} lines\n`);
});
