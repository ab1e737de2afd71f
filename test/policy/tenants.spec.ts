import { rmSync } from 'node:fs';
import { afterAll, describe, expect, it } from '@jest/globals';
import { TestApplication } from '../support/application.js';
import { routes, sample, tools, type Replied, type Target } from '../support/tenant-targets.js';
import {
  ANSWERED,
  another,
  ARGUMENTS,
  CHOSEN,
  MAKERS,
  TOGETHER,
  type Place,
} from '../support/tenants.js';

// B38: every route and tool × own id, another workspace's id, random id × every role. What is there is read from /openapi.json and the
// tool list, so a new route or tool is in the matrix as soon as it exists, and fails it until its ids have a maker.

interface Org {
  key: string;
  workspace: string;
  principal: string;
  organisation: string;
}

const server = await TestApplication.start();
const organisation = async (name: string): Promise<Org> =>
  (await server.call<Org>('POST', '/v1/organisations', { name, owner_name: name })).body;

/** Theirs, ours, and a second workspace of our organisation. */
const theirs = await organisation('zyxqa');
const ours = await organisation('plumb');
const beside = (await server.call<Org>('POST', '/v1/workspaces', { name: 'wrenk' }, ours.key)).body;
const own: Place = { key: ours.key, word: 'plumb' };
const foreign: Place = { key: theirs.key, word: 'zyxqa', foreign: true };
const neighbour: Place = { key: beside.key, word: 'wrenk', foreign: true };

async function caller(role: string, kind = 'person'): Promise<string> {
  const member = await server.call<Org>(
    'POST',
    '/v1/members',
    { name: 'plumb', kind, role },
    own.key,
  );
  const { principal } = member.body;
  const issued = await server.call<Org>('POST', '/v1/credentials', { principal }, own.key);
  return issued.body.key;
}

const callers: Readonly<Record<string, string>> = {
  owner: ours.key,
  admin: await caller('admin'),
  approver: await caller('approver'),
  member: await caller('member'),
  agent: await caller('member', 'agent'),
  service: await caller('admin', 'service'),
};
const targets = [
  ...(await routes(server)),
  ...(await tools(server, [server.key, ...Object.values(callers)])),
];

afterAll(async () => {
  await server.close();
  rmSync(server.dir, { recursive: true, force: true });
});

const isIdField = (target: Target, field: string): boolean =>
  field in MAKERS && !CHOSEN.includes(`${target.name}: ${field}`);
/** What the whole organisation may know: seen from a second workspace of it these are one's own. */
const ORGANISATION_WIDE =
  /^\w+ \/v1\/(?:principals|organisation|accounts)|^POST \/v1\/members:|^\w+ \/v1\/(?:erasures|legal-holds): principal$/;

const counted = { replies: 0, fields: 0 };

async function ask(target: Target, values: Record<string, unknown>, key: string): Promise<Replied> {
  counted.replies += 1;
  return target.send(values, key);
}

/** Arguments with own ids wherever ids are required. */
async function base(target: Target): Promise<Record<string, unknown>> {
  const values: Record<string, unknown> = {};
  for (const name of target.required)
    values[name] = isIdField(target, name)
      ? shaped(target, name, (await MAKERS[name]?.(server, own)) ?? '')
      : sample(target.fields[name] ?? {});
  return { ...values, ...ARGUMENTS[target.name] };
}

const shaped = (target: Target, name: string, id: string): unknown =>
  target.fields[name]?.type === 'array' ? [id] : id;

/** What a reply says beside the id that was asked for, and beside what moves by itself. */
function told({ status, text }: Replied, id: string): string {
  const plain = text
    .replaceAll('\\"', '"')
    .replaceAll(JSON.stringify(id).slice(1, -1), '<id>')
    .replaceAll(/"(position|known_at|as_of|answered_at|call_id)":"[^"]*"/g, '"$1":"…"');
  return `${status} ${plain}`;
}

describe.each([
  ['another organisation', foreign, () => true],
  [
    'another workspace of the same organisation',
    neighbour,
    (place: string) => !ORGANISATION_WIDE.test(place),
  ],
] as const)('B38: ids of %s', (_what, place, covered) => {
  const withIds = targets
    .flatMap((target) =>
      Object.keys(target.fields)
        .filter((field) => isIdField(target, field))
        .map((field) => ({ target, field })),
    )
    .filter(({ target, field }) => covered(`${target.name}: ${field}`));

  it.each(withIds.map((t) => [`${t.target.name}: ${t.field}`, t] as const))(
    '%s',
    async (_name, { target, field }) => {
      const make = MAKERS[field];
      if (!make) throw new Error('no maker');
      const theirId = await make(server, place);
      const randomId = another(theirId);
      expect(theirId).toMatch(/./);
      expect(randomId).not.toBe(theirId);
      const plain = await base(target);
      const fresh = async () =>
        (await TOGETHER[field]?.(server, own)) ?? { id: await make(server, own), beside: {} };
      let distinguished = false;
      for (const [role, key] of Object.entries(callers)) {
        const { id: ownId, beside } = await fresh();
        const send = (id: string) =>
          ask(target, { ...plain, ...beside, [field]: shaped(target, field, id) }, key);
        const end = await server.end();
        const [random, their] = [await send(randomId), await send(theirId)];
        expect([role, told(their, theirId)]).toEqual([role, told(random, randomId)]);
        expect(their.text.replaceAll(theirId, '')).not.toContain(place.word);
        const appended = (await server.end()) - end;
        const mine = await send(ownId);
        if (told(mine, ownId) !== told(their, theirId)) distinguished = true;
        if (!target.inPath.includes(field)) continue;
        // Nothing there, or a role that may not ask at all: then not for its own either.
        expect(appended).toBe(0);
        if (their.status === 404 || ANSWERED.includes(target.name)) continue;
        expect([role, their.status, mine.status]).toEqual([role, 403, 403]);
      }
      // Else the request never came as far as looking for the id, and the equality above says nothing.
      expect([target.name, field, distinguished]).toEqual([target.name, field, true]);
      counted.fields += 1;
    },
  );
});

describe('B38: lists, counts and answers', () => {
  it.each(targets.map((target) => [target.name, target] as const))(
    '%s holds nothing of others',
    async (_name, target) => {
      for (const key of Object.values(callers)) {
        const { text } = await ask(target, await base(target), key);
        for (const alien of [foreign.word, theirs.workspace, theirs.principal, theirs.organisation])
          expect(text).not.toContain(alien);
        if (!ORGANISATION_WIDE.test(target.name) && key !== ours.key)
          expect(text).not.toContain(neighbour.word);
      }
    },
  );
});

describe('no route and no tool is outside the matrix', () => {
  it('every parameter in a path and every id field has a maker', () => {
    const without = targets.flatMap(({ name, inPath, fields }) =>
      [...new Set([...inPath, ...Object.keys(fields).filter((f) => /_ids?$/.test(f))])]
        .filter((field) => !(field in MAKERS) && !CHOSEN.includes(field))
        .map((field) => `${name}: ${field}`),
    );
    expect(without).toEqual([]);
  });

  it('X-4: every route is described, or is one of those that are open to everybody', () => {
    const described = new Set(targets.map(({ name }) => name));
    const open =
      /^(?:\/health\/|\/openapi\.|\/mcp$|\/metrics$|\/\.well-known\/|\/oauth\/|\/$|\*$|\/console)/;
    const printed: string = server.application.app
      .getHttpAdapter()
      .getInstance()
      .printRoutes({ commonPrefix: false });
    const undescribed = served(printed).filter(
      ([method, path]) => !open.test(path) && !described.has(`${method} ${path}`),
    );
    expect(served(printed).length).toBeGreaterThan(targets.length / 2);
    expect(undescribed).toEqual([]);
  });

  it('X-4: no route under /v1 answers without a credential', async () => {
    for (const target of targets.filter(({ name }) => !name.startsWith('tool ')))
      expect([target.name, (await ask(target, await base(target), '')).status]).toEqual([
        target.name,
        401,
      ]);
  });

  it('says how much it looked at', () => {
    expect(counted.fields).toBeGreaterThan(20);
    process.stdout.write(
      `tenant matrix: ${targets.length} routes and tools, ${Object.keys(callers).length} callers, ` +
        `${counted.fields} id fields, ${counted.replies} replies\n`,
    );
  });
});

/** Method and path of each route in fastify's tree; HEAD goes with GET. */
function served(tree: string): [string, string][] {
  const stack: string[] = [];
  return tree.split('\n').flatMap((line): [string, string][] => {
    const [, indent = '', segment = '', methods = ''] =
      /^((?:[│ ] {3})*)[├└]── (\S*) \(([^)]*)\)/.exec(line) ?? [];
    if (methods === '') return [];
    const depth = indent.length / 4;
    stack.length = depth;
    stack.push(segment);
    const path = stack
      .join('')
      .replaceAll(/:(\w+)/g, '{$1}')
      .replace(/(?<=.)\*$/, '{path}');
    return methods
      .split(', ')
      .filter((method) => method !== 'HEAD')
      .map((method) => [method, path]);
  });
}
