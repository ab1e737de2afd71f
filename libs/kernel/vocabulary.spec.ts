import { describe, expect, it } from '@jest/globals';
import { t } from './schema.js';
import { codec } from './vocabulary.js';

const second = codec({
  Moved: {
    version: 3,
    schema: t.Object({ to: t.String(), by: t.String() }),
    upcasts: {
      1: (old) => ({ to: (old as { target: string }).target }),
      2: (old) => ({ ...(old as object), by: 'unknown' }),
    },
  },
});

describe('codec', () => {
  it('reads every older version as the present one', () => {
    const present = { type: 'Moved', data: { to: 'x', by: 'unknown' } };
    expect(second.decode('Moved', 1, { target: 'x' })).toEqual(present);
    expect(second.decode('Moved', 2, { to: 'x' })).toEqual(present);
    expect(second.decode('Moved', 3, { to: 'x', by: 'unknown' })).toEqual(present);
  });

  it('refuses a version from the future and passes over a type it does not know', () => {
    expect(() => second.decode('Moved', 4, {})).toThrow('this build knows 3');
    expect(second.decode('Other', 1, {})).toBeUndefined();
  });

  it('a version without an upcast is found at start', () => {
    expect(() => codec({ Gap: { version: 2, schema: t.Object({}) } })).toThrow(
      'version 1 has no upcast',
    );
  });

  it('writes only what fits the schema', () => {
    expect(() => second.encode({ type: 'Moved', data: { to: 'x' } as never })).toThrow(
      'does not fit',
    );
  });
});
