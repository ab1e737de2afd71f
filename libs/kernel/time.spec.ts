import { describe, expect, it } from '@jest/globals';
import { isWhen, isZone, whenMs } from './time.js';

describe('isWhen', () => {
  it.each(['2026-01-31', '2024-02-29', '2026-01-31T09:00Z', '2026-01-31T09:00:00.123+02:00'])(
    'takes %s',
    (text) => {
      expect(isWhen(text)).toBe(true);
    },
  );

  it.each([
    '2026-13-01',
    '2025-02-29',
    '2026-01-31T25:00Z',
    '2026-01-31T09:00',
    '31.01.2026',
    'yesterday',
    '',
    '20260131',
  ])('refuses %s', (text) => {
    expect(isWhen(text)).toBe(false);
  });
});

describe('B18: a date is the first moment of that day in the given zone, whatever zone the process has', () => {
  it.each(['America/Los_Angeles', 'UTC', 'Pacific/Kiritimati'])('process in %s', (zone) => {
    const before = process.env['TZ'];
    process.env['TZ'] = zone;
    try {
      expect(whenMs('2026-01-01', 'UTC')).toBe(Date.UTC(2026, 0, 1));
      expect(whenMs('2026-01-01', 'Europe/Paris')).toBe(Date.UTC(2025, 11, 31, 23));
      expect(whenMs('2026-01-01T00:00:00+02:00', 'UTC')).toBe(Date.UTC(2025, 11, 31, 22));
    } finally {
      process.env['TZ'] = before;
    }
  });

  it('a day that begins late because of a clock change begins when it begins', () => {
    // In Sao Paulo clocks skipped midnight on 2018-11-04.
    expect(new Date(whenMs('2018-11-04', 'America/Sao_Paulo')).toISOString()).toBe(
      '2018-11-04T03:00:00.000Z',
    );
  });
});

it('knows zones', () => {
  expect(isZone('Europe/Paris')).toBe(true);
  expect(isZone('Mars/Olympus')).toBe(false);
});
