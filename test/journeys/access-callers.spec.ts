import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { workspaceView } from '#access/index.js';
import { workspaceStream, workspaceStreams } from '#access/streams.js';
import { TestApplication, type Reply } from '../support/application.js';

interface Issued {
  short: string;
  key: string;
}

let server: TestApplication;
const get = (path: string, key = server.key): Promise<Reply> =>
  server.call('GET', `/v1/${path}`, undefined, key);
const post = <T = Record<string, unknown>>(path: string, body: object): Promise<Reply<T>> =>
  server.call<T>('POST', `/v1/${path}`, body);
const knock = async (key: string): Promise<number> => (await get('organisation', key)).status;

beforeAll(async () => {
  server = await TestApplication.start();
});
afterAll(async () => {
  await server.close();
  rmSync(server.dir, { recursive: true, force: true });
});

describe('B39: a caller needs a workspace and an organisation', () => {
  const system = { principal: 'system', kind: 'system', credential: null } as const;

  it('a key of a workspace whose organisation is not there opens nothing', async () => {
    const { short, key } = (await post<Issued>('credentials', { label: 'copy' })).body;
    const caller = await server.callerOf(key);
    const { streams, models } = server.application.ledger;
    const { state } = await streams.load(workspaceStreams, workspaceStream('main'));
    const secret = state.status === 'open' ? state.credentials.get(short)?.secret : undefined;
    for (const [workspace, organisation] of [
      ['wgone', 'ogone'],
      ['wnone', ''],
    ] as const) {
      const other = `${short.split('').reverse().join('').slice(0, 7)}${workspace.charAt(1)}`;
      await streams.execute(
        workspaceStreams,
        workspaceStream(workspace),
        {
          type: 'Create',
          name: 'Gone',
          organisation,
          zone: 'UTC',
          owner: caller.principal,
          credential: {
            short: other,
            secret: secret ?? '',
            label: '',
            toolsets: null,
            expiresAt: null,
          },
        },
        { workspace, actor: system, command: `b39-${workspace}`, correlation: 'b39' },
      );
      await models.settled();
      expect(await knock(key.replace(short, other))).toBe(401);
    }
    expect(await knock(key)).toBe(200);
  });

  it.each([
    ['no header', {}],
    ['an empty bearer', { authorization: 'Bearer ' }],
    ['null', { authorization: 'Bearer null' }],
    ['a list', { authorization: 'Bearer []' }],
    ['an organisation header beside no key', { 'x-organisation': 'main', 'x-workspace': 'main' }],
  ])('%s is 401', async (_what, headers) => {
    const reply = await server.application.app.inject({
      method: 'GET',
      url: '/v1/members',
      headers,
    });
    expect(reply.statusCode).toBe(401);
  });

  it('a header, a query or a field never chooses the workspace', async () => {
    const headers = {
      authorization: `Bearer ${server.key}`,
      'x-workspace': 'wgone',
      'x-organisation': 'ogone',
    };
    const reply = await server.application.app.inject({
      method: 'GET',
      url: '/v1/workspace/settings',
      headers,
    });
    expect(JSON.parse(reply.body)).toMatchObject({ id: 'main', organisation: 'main' });
    expect((await get('members?workspace=wgone')).status).toBe(400);
    expect((await post('members', { name: 'X', role: 'member', workspace: 'wgone' })).status).toBe(
      400,
    );
  });

  it('the store layer throws where the workspace is empty, and stores nothing', async () => {
    const { streams, models } = server.application.ledger;
    const end = await server.end();
    await expect(
      streams.execute(
        workspaceStreams,
        workspaceStream(''),
        {
          type: 'Create',
          name: 'X',
          organisation: 'main',
          zone: 'UTC',
          owner: 'owner',
          credential: { short: 'S', secret: 's', label: '', toolsets: null, expiresAt: null },
        },
        { workspace: '', actor: system, command: 'x', correlation: 'x' },
      ),
    ).rejects.toThrow('has no workspace');
    expect(await server.end()).toBe(end);
    expect(() => models.now((reads) => workspaceView(reads, ''))).toThrow('not in the directory');
  });
});
