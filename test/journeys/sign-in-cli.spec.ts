import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Browser, CALLBACK } from '../support/oauth.js';
import { done, listen, post, type Place } from '../support/oauth-people.js';
import { plainEnvironment } from '../support/server.js';

const run = promisify(execFile);
const FROM_SOURCE = ['--conditions=precedent-source', '--import', './test/support/ts-hooks.mjs'];

describe('the command line for accounts and settings', () => {
  let place: Place;
  beforeAll(async () => {
    place = await listen();
  });
  afterAll(() => done(place));

  async function precedent(...args: string[]): Promise<Record<string, unknown>> {
    const { stdout } = await run(
      process.execPath,
      [...FROM_SOURCE, 'apps/cli/src/main.ts', ...args, '--json'],
      {
        env: { ...plainEnvironment(), PRECEDENT_URL: place.url, PRECEDENT_KEY: place.server.key },
      },
    );
    return JSON.parse(stdout) as Record<string, unknown>;
  }

  it('an owner gets a link for a person, and the link is a page to set a password on', async () => {
    const { body } = await post(place, 'principals', { name: 'Anna', kind: 'person' });
    const principal = String(body['principal']);
    const invited = await precedent('people', 'invite', principal, '--login', 'Anna@Example.com');
    expect(invited).toMatchObject({
      schema: 'precedent.invitation/1',
      principal,
      login: 'anna@example.com',
    });
    const page = await new Browser().open(String(invited['url']), CALLBACK);
    expect([page.status, page.html]).toEqual([200, expect.stringContaining('anna@example.com')]);
  });

  it('doctor shows where settings come from, finds the server ready, and tells no key', async () => {
    const found = await precedent('doctor');
    expect(found).toMatchObject({
      schema: 'precedent.doctor/1',
      server: { url: place.url, ready: { status: 'ready' } },
    });
    expect(found['settings']).toContainEqual({
      name: 'PRECEDENT_URL',
      value: place.url,
      from: 'environment',
    });
    expect(found['settings']).toContainEqual({
      name: 'PRECEDENT_KEY',
      value: '(set, not shown)',
      from: 'environment',
    });
    expect(JSON.stringify(found)).not.toContain(place.server.key);
  });
});
