import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { Refusal } from '#kernel/refusal.js';
import { SETTINGS, readSettings } from '../../apps/server/src/settings.js';
import { explainSettings } from '../../apps/server/src/settings-shown.js';

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

  it('are explained one by one: where each comes from, what is wrong, and no secret', () => {
    const environment = {
      PRECEDENT_PORT: '99999',
      PRECEDENT_KEY: `prec_SECRET00_${'s'.repeat(40)}`,
      PRECEDENT_EVENTSTORE: 'esdb://admin:changeit@node:2113?tls=true',
      PRECEDENT_PROT: '1',
      OTHER: 'x',
    };
    const file = {
      PRECEDENT_PORT: '1',
      PRECEDENT_ZONE: 'Europe/Paris',
      PRECEDENT_PEPPER: 'p'.repeat(40),
    };
    const shown = explainSettings(environment, file);
    const of = (name: string) => shown.find((s) => s.name === `PRECEDENT_${name}`);
    expect(of('PORT')).toMatchObject({
      value: '99999',
      from: 'environment',
      problem: 'must be a number from 0 to 65535',
    });
    expect(of('ZONE')).toEqual({ name: 'PRECEDENT_ZONE', value: 'Europe/Paris', from: '.env' });
    expect(of('HOST')).toEqual({ name: 'PRECEDENT_HOST', value: '127.0.0.1', from: 'default' });
    expect(of('PUBLIC_URL')).toEqual({ name: 'PRECEDENT_PUBLIC_URL', from: 'not set' });
    expect(of('PROT')).toEqual({
      name: 'PRECEDENT_PROT',
      from: 'environment',
      problem: 'is no setting',
    });
    expect(of('EVENTSTORE')?.value).toBe('esdb://…@node:2113?tls=true');
    expect(JSON.stringify(shown)).not.toMatch(/changeit|s{20}|p{20}/);
    expect(shown.length).toBe(Object.keys(SETTINGS).length + 1);
  });

  it.each([
    ['PUBLIC_URL', 'https://a.example/path'],
    ['PUBLIC_URL', 'a.example'],
    ['ALLOWED_HOSTS', 'https://a.example'],
    ['ALLOWED_ORIGINS', 'a.example'],
    ['ALLOWED_ORIGINS', 'https://a.example/'],
    ['OIDC_ISSUER', 'id.example'],
    ['OIDC_SCOPE', 'two scopes'],
    ['RATE_LIMIT', '-1'],
    ['METRICS', 'yes'],
  ])('%s refuses %s', (name, value) => {
    expect(() => readSettings({ [`PRECEDENT_${name}`]: value })).toThrow(
      `PRECEDENT_${name} must be`,
    );
  });
});
