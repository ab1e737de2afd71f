import { rmSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startServer, type RunningServer } from '../support/server.js';
import { TestApplication } from '../support/application.js';

// What a build laid down is what the application says of itself, and a built server only hands it out.

/** A process that is started with it cannot make a description: that takes a second, in which it would answer nobody. */
const CANNOT_DESCRIBE = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module';
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier === '@nestjs/swagger') throw new Error('makes the description itself');
      return next(specifier, context);
    },
  });`)}`;

let source: TestApplication;
let built: RunningServer;
beforeAll(async () => {
  source = await TestApplication.start();
  built = await startServer({ env: { NODE_OPTIONS: `--import=${CANNOT_DESCRIBE}` } });
}, 120_000);
afterAll(async () => {
  await source.close();
  await built.stop();
  for (const { dir } of [source, built]) rmSync(dir, { recursive: true, force: true });
});

it.each([
  ['openapi.json', 'application/json; charset=utf-8'],
  ['openapi.yaml', 'text/yaml; charset=utf-8'],
])(
  '/%s of the built server is, byte for byte, what the application generates, and is not made while it serves',
  async (name, type) => {
    const generated = await source.application.app.inject({ method: 'GET', url: `/${name}` });
    const served = await fetch(`${built.url}/${name}`);
    expect([served.status, served.headers.get('content-type')]).toEqual([200, type]);
    expect(generated.statusCode).toBe(200);
    expect(Buffer.from(await served.arrayBuffer()).equals(generated.rawPayload)).toBe(true);
  },
);

it('/openapi.yaml says the same as /openapi.json', async () => {
  const { parse } = await import('yaml');
  const json = await fetch(`${built.url}/openapi.json`);
  const yaml = await fetch(`${built.url}/openapi.yaml`);
  expect(parse(await yaml.text(), { maxAliasCount: 0 })).toEqual(await json.json());
});
