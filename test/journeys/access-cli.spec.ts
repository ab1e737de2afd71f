import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { precedent } from '../support/cli.js';
import { startServer, type RunningServer } from '../support/server.js';

/** Organisations, members and keys by the command line, against the built server. */
// Every call is a process.
jest.setTimeout(180_000);
let server: RunningServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(async () => {
  await server.stop();
  rmSync(server.dir, { recursive: true, force: true });
});

const as =
  (key: string) =>
  (...args: string[]) =>
    precedent(args, { PRECEDENT_URL: server.url, PRECEDENT_KEY: key });
const owner = (...args: string[]) => as(server.key)(...args);

interface Printed {
  schema: string;
  key: string;
  short: string;
  principal: string;
  items: Record<string, unknown>[];
}

async function json(run: typeof owner, ...args: string[]): Promise<Printed> {
  const { code, stdout, stderr } = await run(...args, '--json');
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout) as Printed;
}

describe('precedent members, keys, people, workspace, organisation', () => {
  it('a member gets a key that works, changes it and loses it', async () => {
    const life = async (role: string): Promise<void> => {
      const member = await json(owner, 'members', 'add', `New ${role}`, '--role', role);
      expect(member.schema).toBe('precedent.member/1');
      const issued = await json(owner, 'keys', 'issue', member.principal, '--label', role);
      const own = as(issued.key);
      expect(JSON.parse((await own('context', '--json')).stdout)).toMatchObject({
        caller: { principal: member.principal, role },
      });
      const rerolled = await json(own, 'keys', 'reroll', issued.short);
      expect((await own('context')).code).toBe(5);
      expect((await as(rerolled.key)('context')).code).toBe(0);
      const revoked = await owner('keys', 'revoke', `prec_${issued.short}`, '--reason', 'test');
      expect([revoked.code, revoked.stdout]).toEqual([0, expect.stringContaining('is revoked')]);
      expect((await as(rerolled.key)('context')).code).toBe(5);
    };
    await Promise.all(['approver', 'owner'].map(life));
    const keys = await json(owner, 'keys', 'list', '--ended');
    expect(keys.items.map((k) => k['state']).sort()).toEqual(['revoked', 'revoked', 'valid']);
  });

  it('an agent’s key is limited, and administers nothing', async () => {
    const agent = await json(
      owner,
      'members',
      'add',
      'CI bot',
      '--kind',
      'agent',
      '--role',
      'member',
    );
    const { key } = await json(
      owner,
      ...['keys', 'issue', agent.principal, '--toolset', 'decisions', '--expires', '2100-01-01'],
    );
    const tried = await as(key)('members');
    expect([tried.code, tried.stderr]).toEqual([5, expect.stringContaining('requires_admin')]);
    const raised = await owner('members', 'role', agent.principal, 'admin');
    expect([raised.code, raised.stderr]).toEqual([1, expect.stringContaining('agent_role')]);
  });

  it('a second organisation: its owner rules there, and sees nothing of the first', async () => {
    const made = await json(
      owner,
      ...[
        'organisation',
        'create',
        'Acme',
        '--owner',
        'Olga',
        '--mode',
        'peer',
        '--request-id',
        'acme',
      ],
    );
    const olga = as(made.key);
    const again = await json(
      owner,
      ...[
        'organisation',
        'create',
        'Acme',
        '--owner',
        'Olga',
        '--mode',
        'peer',
        '--request-id',
        'acme',
      ],
    );
    expect(again).toMatchObject({ principal: made.principal });
    expect(again.key).toBeUndefined();
    expect(
      (await olga('organisation', 'set', '--four-eyes', 'on', '--name', 'Acme Ltd')).stdout,
    ).toContain('Acme Ltd');
    expect((await json(olga, 'members')).items).toMatchObject([{ name: 'Olga', role: 'owner' }]);
    expect((await json(olga, 'people')).items).toHaveLength(1);
    expect((await olga('organisation', 'list')).code).toBe(5);
    expect((await olga('workspace', 'set', '--capture', 'on')).stdout).toMatch(/capture +on/);
    const second = await json(olga, 'workspace', 'create', 'Payments', '--zone', 'Europe/Paris');
    expect((await as(second.key)('workspace')).stdout).toContain('Europe/Paris');
    expect((await json(olga, 'workspace', 'list')).items).toHaveLength(2);
    expect((await json(owner, 'organisation', 'list')).items).toMatchObject([
      { id: 'main' },
      { name: 'Acme Ltd' },
    ]);
  });

  it('people are linked, deactivated and gone with their keys', async () => {
    const ada = await json(
      owner,
      'members',
      'add',
      'Ada',
      '--role',
      'member',
      '--issuer',
      'https://id.example.com',
      '--subject',
      '1',
    );
    const { key } = await json(owner, 'keys', 'issue', ada.principal);
    const unlinked = await json(
      owner,
      ...[
        'people',
        'unlink',
        ada.principal,
        '--issuer',
        'https://id.example.com',
        '--subject',
        '1',
      ],
    );
    expect(unlinked).toMatchObject({ identities: [] });
    const gone = await owner('people', 'deactivate', ada.principal, '--reason', 'left');
    expect(gone.stdout).toContain('is deactivated');
    expect((await as(key)('context')).code).toBe(5);
    const last = await owner('people', 'deactivate', 'owner', '--reason', 'x');
    expect([last.code, last.stderr]).toEqual([1, expect.stringContaining('last_owner')]);
  });

  it('says what is wrong with the words it is given', async () => {
    for (const args of [
      ['members', 'add', 'X'],
      ['members', 'add', 'X', '--role', 'king'],
      ['members', 'add', 'X', '--role', 'member', '--issuer', 'https://x'],
      ['keys', 'reroll', 'A', '--overlap', 'soon'],
      ['workspace', 'set', '--capture', 'perhaps'],
      ['organisation', 'create', 'X'],
    ]) {
      const { code, stdout, stderr } = await owner(...args);
      expect([args, code, stdout]).toEqual([args, 2, '']);
      expect(stderr).toContain('fix');
    }
  });
});
