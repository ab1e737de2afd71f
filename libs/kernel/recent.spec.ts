import { expect, it } from '@jest/globals';
import { Recent } from './recent.js';

it('keeps what was used last and never more than twice its capacity', () => {
  const recent = new Recent<number>(10);
  for (let i = 0; i < 1_000; i++) {
    recent.set(`k${i}`, i);
    expect(recent.get('k0')).toBe(0);
  }
  expect(recent.get('k999')).toBe(999);
  expect(recent.get('k991')).toBe(991);
  expect(recent.get('k900')).toBeUndefined();
  const held = Array.from({ length: 1_000 }, (_, i) => `k${i}`).filter(
    (k) => recent.get(k) !== undefined,
  );
  expect(held.length).toBeLessThanOrEqual(20);
});

it('forgets what is deleted, wherever it was', () => {
  const recent = new Recent<number>(1);
  recent.set('a', 1);
  recent.set('b', 2);
  recent.delete('a');
  recent.delete('b');
  expect([recent.get('a'), recent.get('b')]).toEqual([undefined, undefined]);
  recent.set('c', 3);
  recent.clear();
  expect(recent.get('c')).toBeUndefined();
});
