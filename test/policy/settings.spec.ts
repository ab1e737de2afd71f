import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { Refusal } from '#kernel/refusal.js';
import { SETTINGS, readSettings } from '../../apps/server/src/settings.js';

describe('settings', () => {
  it('docs/operations.md lists each with its default and description', () => {
    const rows = readFileSync('docs/operations.md', 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('| `PRECEDENT_'))
      .map((line) => line.replace(/ +/g, ' '));
    const expected = Object.entries(SETTINGS).map(([name, setting]) => {
      const standard = 'default' in setting ? ` \`${setting.default}\` ` : ' ';
      return `| \`PRECEDENT_${name}\` |${standard}| ${setting.description.replace(/: (prec_<[^.]*>)\./, ': `$1`.')} |`;
    });
    expect(rows).toEqual(expected);
  });

  it('have their defaults', () => {
    expect(readSettings({})).toMatchObject({
      HOST: '127.0.0.1',
      PORT: 4600,
      DATA: './data',
      EVENTSTORE: 'sqlite:',
      ZONE: 'UTC',
    });
  });

  it('refuse what is unknown or malformed, naming all of it at once', () => {
    let refusal: unknown;
    try {
      readSettings({
        PRECEDENT_PROT: '1',
        PRECEDENT_PORT: '99999',
        PRECEDENT_ZONE: 'Mars',
        OTHER: 'x',
      });
    } catch (error) {
      refusal = error;
    }
    expect(refusal).toBeInstanceOf(Refusal);
    expect((refusal as Refusal).issues.map((i) => i.path)).toEqual([
      'PRECEDENT_PROT',
      'PRECEDENT_PORT',
      'PRECEDENT_ZONE',
    ]);
    expect((refusal as Refusal).fix).toContain('PRECEDENT_DATA');
  });
});
