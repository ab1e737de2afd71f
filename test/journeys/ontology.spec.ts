import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { TestApplication } from '../support/application.js';
import { TestApplications } from '../support/applications.js';
import { ontologyKit as kit, type Refused } from '../support/ontology.js';

const servers = new TestApplications();
const { start } = servers;
afterAll(() => servers.close());

const DESCRIPTION =
  '# Topics\n- Payment terms (aliases: net days)\n  - Late fees\n# Scopes\n- region:\n  - eu\n    - de\n';

describe('the life of an ontology', () => {
  let server: TestApplication;
  let at: ReturnType<typeof kit>;
  beforeAll(async () => {
    server = await start();
    at = kit(server);
  });

  it('O-34, O-35: start proposes and no more; the proposal waits in the queue', async () => {
    const before = await at.overview();
    expect([before.active.version, before.versions, before.proposals]).toEqual([0, [], []]);
    const drafted = await at.draft({ description: DESCRIPTION });
    expect(drafted.status).toBe(201);
    const after = await at.overview();
    expect(after.active).toMatchObject({ version: 0, topics: [] });
    expect(after.proposals).toMatchObject([
      {
        proposal_id: drafted.body.proposal_id,
        status: 'open',
        content_hash: drafted.body.content_hash,
      },
    ]);
    const queue = await server.call('GET', '/v1/pending?kind=ontology');
    expect(queue.body['items']).toMatchObject([
      { kind: 'ontology', id: drafted.body.proposal_id, content_hash: drafted.body.content_hash },
    ]);
    const context = await server.call('GET', '/v1/workspace');
    expect(context.body['ontology']).toEqual({ version: 0, status: 'none', open_proposals: 1 });
    const end = await server.end();
    const again = await at.draft({ description: DESCRIPTION });
    expect([again.body.proposal_id, await server.end()]).toEqual([drafted.body.proposal_id, end]);
  });

  it('B43, O-36: approval is a call of its own and names the hash that was inspected', async () => {
    const [proposal] = (await at.overview()).proposals;
    if (!proposal) throw new Error('no proposal');
    const end = await server.end();
    for (const [body, error] of [
      [{ action: 'approve', proposal_id: proposal.proposal_id }, 'invalid_arguments'],
      [
        { action: 'approve', proposal_id: proposal.proposal_id, content_hash: 'x' },
        'stale_revision',
      ],
      [
        { action: 'approve', ...pick(proposal), change: [{ op: 'remove_topic', topic: 'x' }] },
        'invalid_arguments',
      ],
      [{ action: 'reject', proposal_id: proposal.proposal_id }, 'invalid_arguments'],
      [{ action: 'approve', proposal_id: 'ontology-7', content_hash: 'x' }, 'unknown_proposal'],
    ] as const)
      expect((await at.edit<Refused>(body)).body.error).toBe(error);
    expect(await server.end()).toBe(end);

    const approved = await at.approve(proposal);
    expect(approved.body).toMatchObject({ status: 'approved', version: 1 });
    expect((await at.approve<Refused>(proposal)).body.error).toBe('already_decided');
    const { active, versions } = await at.overview();
    expect(active.topics).toMatchObject([
      { id: 'late-fees', parent: 'payment-terms' },
      { id: 'payment-terms', aliases: ['net days'], succession: 'stated' },
    ]);
    expect(versions).toMatchObject([{ version: 1, approved_by: 'owner', kind: 'ontology' }]);
    expect((await server.call('GET', '/v1/pending?kind=ontology')).body['items']).toEqual([]);
    const context = await server.call('GET', '/v1/workspace');
    expect(context.body['ontology']).toEqual({ version: 1, status: 'active', open_proposals: 0 });
    expect(context.body['counts']).toMatchObject({ topics: 2 });
  });

  it('B43: what builds on an outdated version is refused with what changed in between', async () => {
    const slow = await at.edit({
      action: 'propose',
      change: [{ op: 'add_topic', name: 'Backups' }],
    });
    await at.change({ op: 'rename_topic', topic: 'net days', name: 'Terms of payment' });
    const refused = await at.approve<Refused>(slow.body);
    expect([refused.status, refused.body.error]).toEqual([409, 'stale_revision']);
    expect(refused.body.issues.map((i) => i.problem)).toEqual([
      'since version 1: changed topic payment-terms (aliases)',
      'since version 1: changed topic payment-terms (name)',
    ]);
    const { proposals } = await at.overview();
    expect(proposals.find((p) => p.proposal_id === slow.body.proposal_id)?.status).toBe('outdated');
    const stale = await at.edit<Refused>({
      action: 'propose',
      base_version: 1,
      change: [{ op: 'add_topic', name: 'Backups' }],
    });
    expect(stale.body.error).toBe('stale_revision');
  });

  it('O-36: a rollback is prepared as a proposal and takes effect when it is approved', async () => {
    const prepared = await at.edit({ action: 'rollback', to_version: 1, reason: 'too early' });
    expect(prepared.body).toMatchObject({ status: 'open' });
    expect((await at.overview()).active.version).toBe(2);
    await at.approve(prepared.body);
    const { active, versions, requested } = await at.overview('?version=2');
    expect(active.topics.map((t) => t.name)).toEqual(['Late fees', 'Payment terms']);
    expect(versions.map((v) => [v.version, v.kind])).toEqual([
      [3, 'rollback'],
      [2, 'change'],
      [1, 'ontology'],
    ]);
    expect(requested?.version).toBe(2);
    const first = await server.call<{ versions: { version: number }[]; next_cursor?: string }>(
      'GET',
      '/v1/ontology?limit=2',
    );
    expect(first.body.versions.map((v) => v.version)).toEqual([3, 2]);
    const rest = await at.overview(`?limit=2&cursor=${first.body.next_cursor ?? ''}`);
    expect(rest.versions.map((v) => v.version)).toEqual([1]);
  });

  it('time travel: known_at shows the version, the proposals and the names of then', async () => {
    const second = (
      await server.call<{ versions: { version: number; position: string }[] }>(
        'GET',
        '/v1/ontology',
      )
    ).body.versions.find((v) => v.version === 2);
    const then = await at.overview(`?known_at=${second?.position ?? ''}`);
    expect([then.active.version, then.versions.length]).toEqual([2, 2]);
    expect((await at.ask({ topic: 'Terms of payment', known_at: second?.position })).topic).toEqual(
      {
        topic: 'payment-terms',
        name: 'Terms of payment',
      },
    );
    const now = await at.ask({ topic: 'Payment terms' });
    expect([now.topic?.name, now.ontology_version]).toEqual(['Payment terms', 3]);
    expect((await at.ask({ topic: 'Terms of payment' })).topic).toBeUndefined();
  });

  it('every refusal of a change names its path, and stores nothing', async () => {
    const end = await server.end();
    for (const [change, status, error, path] of [
      [{ op: 'add_topic', name: 'PAYMENT  TERMS' }, 409, 'duplicate_name', 'change[0].name'],
      [
        { op: 'set_parent', topic: 'Payment terms', parent: 'late fees' },
        409,
        'hierarchy_cycle',
        'change[0].parent',
      ],
      [
        { op: 'merge_topics', topic: 'Late fees', into: 'nothing' },
        400,
        'unknown_topic',
        'change[0].into',
      ],
      [{ op: 'explode' }, 400, 'invalid_arguments', 'change[0].op'],
      [{ op: 'add_topic', name: 'x'.repeat(201) }, 400, 'invalid_arguments', 'change[0].name'],
    ] as const) {
      const refused = await at.edit<Refused>({ action: 'propose', change: [change] });
      expect([refused.status, refused.body.error, refused.body.path]).toEqual([
        status,
        error,
        path,
      ]);
    }
    const many = Array.from({ length: 201 }, (_, i) => ({ op: 'add_topic', name: `t${i}` }));
    expect((await at.edit<Refused>({ action: 'propose', change: many })).body.error).toBe(
      'invalid_arguments',
    );
    expect((await at.draft<Refused>({ description: 'just prose' })).body.path).toBe('description');
    expect((await server.call<Refused>('GET', '/v1/ontology?version=9')).body.error).toBe(
      'unknown_version',
    );
    expect(await server.end()).toBe(end);
  });
});

const pick = ({ proposal_id, content_hash }: { proposal_id: string; content_hash: string }) => ({
  proposal_id,
  content_hash,
});

describe('who may do what', () => {
  const WHO = [
    ['member', 'person', false],
    ['approver', 'person', false],
    ['admin', 'person', true],
    ['owner', 'person', true],
    ['owner', 'agent', false],
    ['admin', 'service', true],
    ['member', 'service', false],
  ] as const;

  it.each(['reviewed', 'peer'])(
    'O-07, O-08, %s: everybody proposes and reads, only an admin or owner decides, an agent never',
    async (mode) => {
      const server = await start({ PRECEDENT_MODE: mode });
      const at = kit(server);
      const seen: unknown[] = [];
      for (const [role, kind, decides] of WHO) {
        const name = `${role}-${kind}`;
        const key = await server.member(name, role, kind);
        const proposed = await at.edit(
          { action: 'propose', change: [{ op: 'add_topic', name }] },
          key,
        );
        const drafted = await at.draft({ description: `# Topics\n- ${name} too\n` }, key);
        const read = await server.call('GET', '/v1/ontology', undefined, key);
        const end = await server.end();
        const rejected = await at.edit<Refused>(
          { action: 'reject', ...pick(drafted.body), reason: 'no' },
          key,
        );
        const approved = await at.approve<Refused>(proposed.body, key);
        seen.push([
          name,
          proposed.status,
          drafted.status,
          read.status,
          rejected.status,
          approved.status,
        ]);
        expect([name, rejected.body.error, approved.body.error]).toEqual(
          decides ? [name, undefined, undefined] : [name, 'requires_admin', 'requires_admin'],
        );
        if (!decides) expect(await server.end()).toBe(end);
      }
      expect(seen).toEqual(
        WHO.map(([role, kind, decides]) => [
          `${role}-${kind}`,
          200,
          201,
          200,
          decides ? 200 : 403,
          decides ? 200 : 403,
        ]),
      );
      process.stdout.write(`${mode}: ${WHO.length} kinds of callers, 5 operations each\n`);
    },
  );
});

describe('MCP', () => {
  it('O-03, O-34 to O-36: start, get, approve, edit and roll back by tools', async () => {
    const server = await start();
    const agent = await server.member('bot', 'member', 'agent');
    let id = 0;
    const tool = async (name: string, args: object, key = server.key) => {
      id += 1;
      const { body } = await server.call<{
        result: {
          isError?: boolean;
          structuredContent?: Record<string, unknown>;
          content: { text: string }[];
        };
      }>(
        'POST',
        '/mcp',
        { jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } },
        key,
      );
      return body.result;
    };
    const drafted = await tool(
      'start_ontology',
      { description: 'd', draft: { topics: [{ name: 'Hosting', aliases: ['cloud'] }] } },
      agent,
    );
    const { proposal_id, content_hash } = drafted.structuredContent ?? {};
    const refused = await tool(
      'edit_ontology',
      { action: 'approve', proposal_id, content_hash },
      agent,
    );
    expect([refused.isError, JSON.parse(refused.content[0]?.text ?? '').error]).toEqual([
      true,
      'requires_admin',
    ]);
    const approved = await tool('edit_ontology', { action: 'approve', proposal_id, content_hash });
    expect(approved.structuredContent).toMatchObject({ status: 'approved', version: 1 });
    const changed = await tool(
      'edit_ontology',
      {
        action: 'propose',
        change: [{ op: 'set_succession', topic: 'cloud', succession: 'by_effective_date' }],
      },
      agent,
    );
    await tool('edit_ontology', {
      action: 'approve',
      proposal_id: changed.structuredContent?.['proposal_id'],
      content_hash: changed.structuredContent?.['content_hash'],
    });
    const back = await tool('edit_ontology', { action: 'rollback', to_version: 1 }, agent);
    expect(back.structuredContent).toMatchObject({
      status: 'open',
      diff: [
        {
          kind: 'changed',
          what: 'topic',
          id: 'hosting',
          field: 'succession',
          before: 'by_effective_date',
          after: 'stated',
        },
      ],
    });
    const got = await tool('get_ontology', {}, agent);
    expect(got.structuredContent).toMatchObject({
      active: { version: 2, topics: [{ id: 'hosting', succession: 'by_effective_date' }] },
      proposals: [
        { kind: 'rollback', status: 'open' },
        { status: 'approved' },
        { status: 'approved' },
      ],
    });
    const other = await tool('edit_ontology', {
      action: 'approve',
      change: [{ op: 'remove_topic', topic: 'hosting' }],
    });
    expect(other.isError).toBe(true);
  });
});
