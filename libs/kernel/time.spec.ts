import { describe, expect, it } from '@jest/globals';
import { BEGINNING, FOREVER, isoMs, isWhen, isZone, timeWindow, whenMs } from './time.js';

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

describe('B19: a window of time', () => {
  const at = (instant: string, since?: string, until?: string, zone = 'UTC') => {
    const { startMs, endMs } = timeWindow(since, until, zone, Date.parse(instant));
    return [
      startMs === BEGINNING ? 'ever' : isoMs(startMs),
      endMs === FOREVER ? 'ever' : isoMs(endMs),
    ];
  };
  const now = '2026-09-14T09:21:33Z';

  it('a day word alone is that day, whole; everything else begins there and goes on', () => {
    expect(at(now, 'yesterday')).toEqual(['2026-09-13T00:00:00.000Z', '2026-09-14T00:00:00.000Z']);
    expect(at(now, 'today')).toEqual(['2026-09-14T00:00:00.000Z', '2026-09-15T00:00:00.000Z']);
    expect(at(now, '2026-09-13')).toEqual(['2026-09-13T00:00:00.000Z', 'ever']);
    expect(at(now, '2026-09-13T10:00:00+02:00')).toEqual(['2026-09-13T08:00:00.000Z', 'ever']);
    expect(at(now)).toEqual(['ever', 'ever']);
  });

  it('an end is the first moment that is outside', () => {
    expect(at(now, 'yesterday', now)).toEqual(['2026-09-13T00:00:00.000Z', isoMs(Date.parse(now))]);
    expect(at(now, undefined, 'today')).toEqual(['ever', '2026-09-14T00:00:00.000Z']);
    expect(at(now, '2026-01-01', '2026-02-01')).toEqual([
      '2026-01-01T00:00:00.000Z',
      '2026-02-01T00:00:00.000Z',
    ]);
  });

  it('days are those of the zone, also where one has 23 or 25 hours', () => {
    expect(at(now, 'yesterday', undefined, 'Pacific/Kiritimati')).toEqual([
      '2026-09-12T10:00:00.000Z',
      '2026-09-13T10:00:00.000Z',
    ]);
    expect(at('2026-03-30T00:30:00+02:00', 'yesterday', undefined, 'Europe/Berlin')).toEqual([
      '2026-03-28T23:00:00.000Z',
      '2026-03-29T22:00:00.000Z',
    ]);
    expect(at('2026-10-25T23:30:00+01:00', 'today', undefined, 'Europe/Berlin')).toEqual([
      '2026-10-24T22:00:00.000Z',
      '2026-10-25T23:00:00.000Z',
    ]);
  });
});
