import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseWrittenDate } from './written-date.js';

describe('parseWrittenDate', () => {
  it.each([
    ['2024-02-01', '2024-02-01'],
    ['2024/02/01', '2024-02-01'],
    ['2024.02.01', '2024-02-01'],
    ['2024-2-1', '2024-02-01'],
    ['20240201', '2024-02-01'],
    [' 2024-02-01. ', '2024-02-01'],
    ['2024-02-01T23:59:59Z', '2024-02-01'],
    ['2024-02-01 10:00', '2024-02-01'],
    ['1 February 2024', '2024-02-01'],
    ['1st of February, 2024', '2024-02-01'],
    ['Thursday, 1 Feb 2024', '2024-02-01'],
    ['February 1, 2024', '2024-02-01'],
    ['Sept 3rd, 2020', '2020-09-03'],
    ['26/03/2018', '2018-03-26'],
    ['03/26/2018', '2018-03-26'],
    ['26.03.2018', '2018-03-26'],
    ['11/11/2024', '2024-11-11'],
    ['29/02/2024', '2024-02-29'],
  ])('QO-23 reads %s', (text, iso) => {
    expect(parseWrittenDate(text)).toEqual({ iso });
  });

  it.each([
    ['03/04/2024', 'may mean 2024-04-03 or 2024-03-04'],
    ['05.02.2018', 'may mean 2018-02-05 or 2018-05-02'],
    ['10/04/18', 'has a year of two figures'],
    ['2023-02-30', 'is no day of the calendar'],
    ['31/13/2020', 'is no day of the calendar'],
    ['29/02/2023', 'is no day of the calendar'],
    ['last week', 'is no date this reader knows'],
    ['2024-02', 'is no date this reader knows'],
    ['26/03-2018', 'is no date this reader knows'],
    ['x'.repeat(1000), 'is no date this reader knows'],
  ])('QO-23 does not guess at %s', (text, problem) => {
    expect(parseWrittenDate(text)).toEqual({ problem });
  });

  it.each([
    '',
    '  ',
    'YYYY-MM-DD',
    '[YYYY-MM-DD when the decision was last updated]',
    '{date}',
    '<date>',
  ])('finds no date in %j', (text) => {
    expect(parseWrittenDate(text)).toBeUndefined();
  });

  it('gives back every ISO day, and never throws', () => {
    const day = fc.date({
      min: new Date('1900-01-01'),
      max: new Date('2100-01-01'),
      noInvalidDate: true,
    });
    fc.assert(
      fc.property(day, (date) => {
        const iso = date.toISOString().slice(0, 10);
        expect(parseWrittenDate(iso)).toEqual({ iso });
      }),
    );
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        parseWrittenDate(text);
      }),
    );
  });
});
