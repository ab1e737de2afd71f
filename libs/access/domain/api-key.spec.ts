import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import {
  apiKeyFrom,
  checksum,
  hashLike,
  parseApiKey,
  pepperOf,
  secretHash,
  shortOf,
} from './api-key.js';

describe('API keys', () => {
  it('have one form with a checksum that tells them from what only looks like one', () => {
    for (let i = 0; i < 200; i++) {
      const key = apiKeyFrom(randomBytes(128));
      expect(key).toMatch(/^prec_[A-Za-z0-9]{8}_[A-Za-z0-9]{46}$/);
      expect(key.slice(-6)).toBe(checksum(key.slice(0, -6)));
      const changed = `${key.slice(0, 20)}${key[20] === 'a' ? 'b' : 'a'}${key.slice(21)}`;
      expect(changed.slice(-6)).not.toBe(checksum(changed.slice(0, -6)));
    }
  });

  it('keep the short part they are given, for a reroll and for a repeated request', () => {
    const key = apiKeyFrom(randomBytes(128), 'AAAAAAAA');
    expect(parseApiKey(key)).toMatchObject({ short: 'AAAAAAAA' });
    expect(shortOf('w', 'r1')).toMatch(/^[A-Za-z0-9]{8}$/);
    expect(shortOf('w', 'r1')).toBe(shortOf('w', 'r1'));
    expect(shortOf('w', 'r1')).not.toBe(shortOf('w', 'r2'));
  });

  it('a key of the form without a checksum, chosen elsewhere, goes on working', () => {
    expect(parseApiKey(`prec_TESTTEST_${'k'.repeat(40)}`)).toEqual({
      short: 'TESTTEST',
      long: 'k'.repeat(40),
    });
  });

  it.each([
    '',
    'prec_',
    'prec_short_x',
    'PREC_AAAAAAAA_' + 'a'.repeat(40),
    'prec_AAAAAAAA_' + 'a'.repeat(31),
    'prec_AAAAAAAA_' + 'é'.repeat(40),
  ])('refuses %s', (text) => {
    expect(parseApiKey(text)).toBeUndefined();
  });

  it('what is stored names its method and holds neither the secret nor the pepper', () => {
    const long = 's'.repeat(40);
    const pepper = pepperOf('p'.repeat(64));
    const [plain, peppered] = [secretHash(long, undefined), secretHash(long, pepper)];
    expect(plain).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(peppered).toMatch(/^sha256-pepper-[0-9a-f]{8}:[0-9a-f]{64}$/);
    expect(plain + peppered).not.toContain('ssss');
    expect(peppered).not.toContain('pppp');
    // Each is checked by its own method, whatever this server makes now; another pepper never fits.
    expect(hashLike(plain, long, pepper)).toBe(plain);
    expect(hashLike(peppered, long, pepper)).toBe(peppered);
    expect(hashLike(peppered, long, undefined)).toBeUndefined();
    expect(hashLike(peppered, long, pepperOf('q'.repeat(64)))).toBeUndefined();
  });
});
