import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { leafHash } from './merkle.js';
import { ProofError } from './proof-error.js';
import {
  decodeEntries,
  decodeTile,
  encodeEntries,
  encodeTile,
  parseTilePath,
  tilePath,
  tileWidth,
} from './tile.js';

describe('tiles of C2SP tlog-tiles (P9)', () => {
  it.each([
    [0, 1234067, 256, 'tile/0/x001/x234/067'],
    [0, 0, 12, 'tile/0/000.p/12'],
    [1, 999, 1, 'tile/1/999.p/1'],
    [2, 1000, 256, 'tile/2/x001/000'],
    ['entries', 273, 112, 'tile/entries/273.p/112'],
  ] as const)('names level %s, index %d, width %d', (level, index, width, path) => {
    expect(tilePath(level, index, width)).toBe(path);
    expect(parseTilePath(path)).toEqual({ level, index, width });
  });

  it('reads every name that it writes', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.nat(63), fc.constant('entries' as const)),
        fc.maxSafeNat(),
        fc.integer({ min: 1, max: 256 }),
        (level, index, width) => {
          expect(parseTilePath(tilePath(level, index, width))).toEqual({ level, index, width });
        },
      ),
    );
  });

  it.each([
    'tile/0/0',
    'tile/0/x000/001',
    'tile/00/000',
    'tile/64/000',
    'tile/0/000.p/0',
    'tile/0/000.p/256',
    'tile/0/000.p/01',
    'tile/0/001/002',
    'tile/0/000/',
    'tile/-1/000',
    'tile/data/000',
    '/tile/0/000',
    'tile/0/../../checkpoint',
    'checkpoint',
    'tile/0/x999/x999/x999/x999/x999/999',
  ])('has no tile at %s', (path) => {
    expect(parseTilePath(path)).toBeUndefined();
  });

  it('knows the tiles of a tree of 70000 leaves, as the format reckons them', () => {
    expect([
      tileWidth(0, 272, 70_000),
      tileWidth(0, 273, 70_000),
      tileWidth(0, 274, 70_000),
    ]).toEqual([256, 112, 0]);
    expect([tileWidth(1, 0, 70_000), tileWidth(1, 1, 70_000), tileWidth(2, 0, 70_000)]).toEqual([
      256, 17, 1,
    ]);
    expect([tileWidth(0, 0, 256), tileWidth(1, 0, 256), tileWidth('entries', 0, 3)]).toEqual([
      256, 1, 3,
    ]);
  });

  it('keeps records and hashes as they are, and refuses what is cut short', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 20 }), (records) => {
        const bytes = encodeEntries(records);
        expect(decodeEntries(bytes).map((r) => [...r])).toEqual(records.map((r) => [...r]));
        const whole = records.length;
        for (let end = 1; end < bytes.length; end++) {
          const cut = bytes.subarray(0, end);
          try {
            expect(decodeEntries(cut).length).toBeLessThan(whole);
          } catch (error) {
            expect(error).toBeInstanceOf(ProofError);
          }
        }
      }),
      { numRuns: 30 },
    );
    const hashes = ['a', 'b', 'c'].map(leafHash);
    expect(decodeTile(encodeTile(hashes), 3)).toEqual(
      hashes.map((h) => expect.objectContaining(h)),
    );
    expect(() => decodeTile(encodeTile(hashes), 2)).toThrow(ProofError);
    expect(() => encodeEntries([new Uint8Array(65_536)])).toThrow('65536');
    expect(decodeEntries(encodeEntries(['x'.repeat(65_535)]))[0]?.length).toBe(65_535);
  });
});
