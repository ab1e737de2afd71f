import fc from 'fast-check';
import { fixtureCallers, fixtureTools } from './mcp-fixture.js';
import type { WireRequest } from './mcp-wire.js';

/** Requests for the fixture's edge: canonical ones, and the same with one to three things that are not. */

type Members = Record<string, unknown>;
type Headers = Record<string, string | string[]>;

interface Draft {
  key: string;
  path: string;
  headers: Headers;
  message: Members;
  /** Changes the text of the message at last. */
  spell: ((text: string) => string)[];
}

export interface Sample {
  readonly sent: WireRequest;
  readonly key: string;
  /** What was twisted; none in a canonical request. */
  readonly twists: readonly string[];
}

const PROTOCOL_VERSION = 'io.modelcontextprotocol/protocolVersion';
const CLIENT_INFO = 'io.modelcontextprotocol/clientInfo';
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';

const MODERN = '2026-07-28';
const VERSIONS = [MODERN, '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07', ''];

/** Text that JSON.stringify cannot be brought to write: numbers in other spellings, names twice. */
const RAW = /"raw:((?:[^"\\]|\\.)*)"/g;
const raw = (text: string): string => `raw:${text}`;
const rawUnescaped = (text: string): string =>
  text.replace(RAW, (_all, inner: string) => JSON.parse(`"${inner}"`) as string);

const name = fc.constantFrom(...fixtureTools.map((tool) => tool.name));
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.constantFrom('x', '', 'a\u202eb', 'line\nline', '"\\', 'é€😀', '\u0000\u007f', '2026-07-28'),
);
const id = fc.oneof(text, fc.maxSafeInteger(), fc.constantFrom<string | number>(0, 1, -1, '0'));
const value = fc.jsonValue({ maxDepth: 2 });

const echoArguments = fc.record(
  {
    text,
    times: fc.integer({ min: 0, max: 10 }),
    loud: fc.boolean(),
    scope: fc.dictionary(fc.string({ maxLength: 5 }), text, { maxKeys: 2 }),
    value,
    lines: fc.array(fc.record({ text }), { maxLength: 2 }),
    odd: value,
  },
  { requiredKeys: ['text'] },
);
const toolArguments: fc.Arbitrary<Members> = fc.oneof(
  { arbitrary: echoArguments.map((args) => args as Members), weight: 3 },
  fc.constantFrom('refusal', 'misfit', 'layout', 'crash').map((how) => ({ how })),
  fc.constant({}),
  fc.dictionary(fc.constantFrom('text', 'constructor', '7', '', 'toString', 'length'), value),
);

const clientInfo = fc.constantFrom<Members>(
  { name: 'c', version: '1' },
  { name: 'c', version: '1', title: 'C', websiteUrl: 'https://c.example', description: 'd' },
  { version: '', name: '', icons: [{ src: 'x', sizes: ['1x1'], theme: 'dark' }], other: 1 },
);
const capabilities = fc.constantFrom<Members>(
  {},
  { elicitation: {}, roots: { listChanged: true }, sampling: {} },
  { elicitation: { form: { applyDefaults: true }, url: {} }, unknown: 5 },
  { experimental: { a: {} }, extensions: { 'x/y': { deep: [1, { z: null }] } } },
);
const meta = fc.record(
  { progressToken: id, traceparent: text, 'vendor/name': value },
  { requiredKeys: [] },
);

const shuffled = (members: Members): fc.Arbitrary<Members> => {
  const entries = Object.entries(members);
  return fc
    .shuffledSubarray(entries, { minLength: entries.length })
    .map((order) => Object.fromEntries(order));
};

const canonical: fc.Arbitrary<Draft> = fc
  .record({
    key: fc.constantFrom(...Object.keys(fixtureCallers)),
    path: fc.oneof(
      { arbitrary: fc.constant('/mcp'), weight: 2 },
      fc.constantFrom('/mcp?x=1', '/mcp?toolsets=decisions', '/mcp?toolsets=jobs,%20rules,jobs'),
    ),
    version: fc.oneof(fc.constant(MODERN), fc.constantFrom(...VERSIONS)),
    list: fc.integer({ min: 0, max: 3 }).map((n) => n === 0),
    withMeta: fc.boolean(),
    id,
    name,
    arguments: fc.option(toolArguments, { nil: undefined }),
    meta,
    clientInfo: fc.option(clientInfo, { nil: undefined }),
    capabilities,
  })
  .chain((one) => {
    const modern = one.version === MODERN;
    const method = one.list ? 'tools/list' : 'tools/call';
    const envelope = {
      [PROTOCOL_VERSION]: MODERN,
      [CAPABILITIES]: one.capabilities,
      ...(one.clientInfo ? { [CLIENT_INFO]: one.clientInfo } : {}),
    };
    const params: Members = {
      ...(one.list ? {} : { name: one.name }),
      ...(one.list || !one.arguments ? {} : { arguments: one.arguments }),
    };
    const headers: Headers = {
      Authorization: `Bearer ${one.key}`,
      'Content-Type': 'application/json',
      ...(one.version === '' ? {} : { 'MCP-Protocol-Version': one.version }),
      ...(modern ? { 'Mcp-Method': method } : {}),
      ...(modern && !one.list ? { 'Mcp-Name': one.name } : {}),
    };
    return shuffled(modern ? { ...one.meta, ...envelope } : one.meta).chain((_meta) =>
      shuffled(modern || one.withMeta ? { ...params, _meta } : params).chain((inOrder) =>
        shuffled({ jsonrpc: '2.0', id: one.id, method, params: inOrder }).map((message) => ({
          key: one.key,
          path: one.path,
          headers,
          message,
          spell: [],
        })),
      ),
    );
  });

type Twist = (draft: Draft) => void;

const members = (holder: unknown): Members =>
  typeof holder === 'object' && holder !== null ? (holder as Members) : {};
const paramsOf = (draft: Draft): Members => members(draft.message['params']);
const metaOf = (draft: Draft): Members => members(paramsOf(draft)['_meta']);

/** Every way to put each value at a place. */
function set(
  place: string,
  of: (draft: Draft) => Members,
  key: string,
  values: readonly unknown[],
): [string, Twist][] {
  return values.map((item) => [
    `${place}${key} = ${JSON.stringify(item) ?? 'nothing'}`,
    (draft) => {
      const holder = of(draft);
      if (item === undefined) Reflect.deleteProperty(holder, key);
      else holder[key] = structuredClone(item);
    },
  ]);
}

function header(
  key: string,
  values: readonly (string | string[] | undefined)[],
): [string, Twist][] {
  return set('header ', (draft) => draft.headers, key, values);
}

const message = (draft: Draft): Members => draft.message;
const numbers = [1.5, raw('1.0'), raw('1e2'), raw('-0'), raw('1e400'), raw('9007199254740993')];
const unfit = [undefined, null, [], {}, 'x', 5, true];
const deep = (depth: number): unknown =>
  JSON.parse('[{"a":'.repeat(depth) + '1' + '}]'.repeat(depth));
const PROTO = raw('{"\\u005f_proto__":{"text":"x"},"text":"y"}');

const twists: [string, Twist][] = [
  ...set('', message, 'jsonrpc', [undefined, '1.0', 2, raw('"2\\u002e0"')]),
  ...set('', message, 'id', [undefined, null, {}, [1], true, ...numbers, raw('"\\ud800"')]),
  ...set('', message, 'method', [undefined, 5, '', 'Tools/Call', 'tools/call ', 'ping', 'nothing']),
  ...set('', message, 'method', ['initialize', 'server/discover', 'constructor', '__proto__']),
  ...set('', message, 'method', ['notifications/initialized', 'tools/list', 'tools/call']),
  ...set('', message, 'params', [...unfit, PROTO]),
  ...set('', message, 'result', [{}, 1]),
  ...set('', message, 'error', [{ code: 1, message: 'x' }]),
  ...set('', message, 'extra', [1, null]),
  ...set('', message, 'constructor', [1]),
  ...set('params.', paramsOf, 'name', [...unfit, 'govern_all', 'no_such_tool', ' echo_text', 'é']),
  ...set('params.', paramsOf, 'name', ['constructor', '__proto__', 'ECHO_TEXT', 'fail_somehow']),
  ...set('params.', paramsOf, 'arguments', [...unfit, ...numbers, PROTO, { text: deep(20) }]),
  ...set('params.', paramsOf, 'arguments', [
    { text: 'x', value: raw('{"a":1,"a":2,"9":0,"1":0}') },
  ]),
  ...set('params.', paramsOf, 'arguments', [{ text: 'x', value: deep(60) }, { text: numbers[5] }]),
  ...set('params.', paramsOf, 'task', [{}, { ttl: 1 }, null]),
  ...set('params.', paramsOf, 'cursor', ['x', 1, null]),
  ...set('params.', paramsOf, 'inputResponses', [{}, null, { a: { action: 'accept' } }]),
  ...set('params.', paramsOf, 'requestState', ['x', 1, null]),
  ...set('params.', paramsOf, 'extra', [1]),
  ...set('params.', paramsOf, '_meta', [...unfit, PROTO]),
  ...set('_meta.', metaOf, 'progressToken', [null, {}, true, 'x', 0, ...numbers]),
  ...set('_meta.', metaOf, PROTOCOL_VERSION, [undefined, null, 5, '', ...VERSIONS, '2027-01-01']),
  ...set('_meta.', metaOf, CLIENT_INFO, [...unfit, { name: 'x' }, { name: 'x', version: 1 }]),
  ...set('_meta.', metaOf, CLIENT_INFO, [{ name: 'x', version: '1', icons: [{}] }, PROTO]),
  ...set('_meta.', metaOf, CAPABILITIES, [...unfit, { roots: { listChanged: 'x' } }, PROTO]),
  ...set('_meta.', metaOf, CAPABILITIES, [{ experimental: { a: 1 } }, { elicitation: null }]),
  ...set('_meta.', metaOf, CAPABILITIES, [{ extensions: { 'a/b': 'x'.repeat(3_000) } }]),
  ...set('_meta.', metaOf, CAPABILITIES, [{ experimental: { a: { b: 'x'.repeat(3_000) } } }]),
  ...set('_meta.', metaOf, 'io.modelcontextprotocol/related-task', [{ taskId: 'x' }, {}, null]),
  ...set('_meta.', metaOf, 'io.modelcontextprotocol/logLevel', ['info', 'loud']),
  ...set('_meta.', metaOf, 'io.modelcontextprotocol/unheard', [1]),
  ...set('_meta.', metaOf, 'constructor', [1]),
  ...header('MCP-Protocol-Version', [undefined, ...VERSIONS, 'x', '2027-01-01', [MODERN, MODERN]]),
  ...header('MCP-Protocol-Version', [
    ['2025-11-25', '2025-11-25'],
    [MODERN, '2025-11-25'],
  ]),
  ...header('mcp-protocol-version', [MODERN, '2025-06-18']),
  ...header('Mcp-Method', [undefined, '', 'tools/call', 'tools/list', 'TOOLS/CALL', 'x']),
  ...header('Mcp-Method', [['tools/call', 'tools/call']]),
  ...header('Mcp-Name', [undefined, '', 'echo_text', '=?base64?ZWNob190ZXh0?=', '=?base64?!?=']),
  ...header('Mcp-Name', ['Echo_Text', 'no_such_tool', ['echo_text', 'echo_text']]),
  ...header('MCP-NAME', ['lay_out']),
  ...header('Mcp-Session-Id', ['x', '']),
  ...header('Last-Event-ID', ['1']),
  ...header('Accept', ['text/html', '*/*', 'application/json', '']),
  ...header('Content-Type', [undefined, 'text/plain', 'application/json; charset=utf-8', '']),
  ...header('Content-Type', ['APPLICATION/JSON', 'application/json;', 'application/jsonp']),
  ...header('Host', ['', 'a b', 'user@host', '1.2.3.4.5', 'localhost:99999', 'x:1', '[::1]:80']),
  ...header('Host', ['[::1', 'a/b', 'ex%41mple', 'é', 'xn--a', '..', ':1', 'A.EXAMPLE']),
  ...header('Origin', ['https://else.example', 'null']),
  ...header('Connection', ['close', 'keep-alive']),
  ...header('X-Odd', ['\u00e9', ['1', '2'], '']),
  ...header('Cookie', [['a=1', 'b=2']]),
  ...set('key ', (draft) => draft.headers, 'Authorization', ['Bearer none']),
  ...[
    'a',
    '',
    'decisions,',
    'DECISIONS',
    'rules&toolsets=jobs',
    'rules&toolsets=',
    'annotation',
  ].map((list): [string, Twist] => [
    `path toolsets=${list}`,
    (draft) => void (draft.path = `/mcp?toolsets=${list}`),
  ]),
  ...['/mcp?x=@&y=%zz', '/mcp?', '/mcp?toolset=a', '/mcp?%74oolsets=jobs'].map(
    (path): [string, Twist] => [`path ${path}`, (draft) => void (draft.path = path)],
  ),
  ...Object.entries({
    batch: (json: string) => `[${json}]`,
    'batch of two': (json: string) => `[${json},${json}]`,
    'empty batch': () => '[]',
    'id twice': (json: string) => json.replace('{', '{"id":"first",'),
    'method twice': (json: string) => json.replace('{', '{"method":"ping",'),
    'params twice': (json: string) => json.replace(/\}$/, ',"params":{"name":"lay_out"}}'),
    __proto__: (json: string) => json.replace('{', '{"__proto__":{"id":3},'),
    'hidden __proto__': (json: string) => json.replace('{', '{"_\\u005fproto__":{"id":3},'),
    'white space': (json: string) => ` \r\n\t${json.replaceAll('{', '{ ')} \n`,
    'order mark': (json: string) => `\ufeff${json}`,
    cut: (json: string) => json.slice(0, -1),
    'too much': (json: string) => `${json}}`,
    nothing: () => '',
    null: () => 'null',
    'a string': (json: string) => JSON.stringify(json),
    'a number': () => '5',
  }).map(([what, spell]): [string, Twist] => [what, (draft) => void draft.spell.push(spell)]),
];

function sampleOf(draft: Draft, chosen: readonly [string, Twist][]): Sample {
  const twisted: Draft = { ...structuredClone({ ...draft, spell: [] }), spell: [] };
  for (const [, twist] of chosen) twist(twisted);
  const { path, headers, message, spell } = twisted;
  const json = spell.reduce((text, change) => change(text), rawUnescaped(JSON.stringify(message)));
  return {
    key: draft.key,
    twists: chosen.map(([what]) => what),
    sent: {
      path,
      headers: Object.entries(headers).flatMap(([name, values]) =>
        [values].flat().map((item) => [name, item] as const),
      ),
      body: Buffer.from(json),
    },
  };
}

export const canonicalSamples: fc.Arbitrary<Sample> = canonical.map((draft) => sampleOf(draft, []));

export const twistedSamples: fc.Arbitrary<Sample> = fc
  .tuple(canonical, fc.array(fc.constantFrom(...twists), { minLength: 1, maxLength: 3 }))
  .map(([draft, chosen]) => sampleOf(draft, chosen));

/** Every twist alone, on canonical requests of both methods and eras: what chance may leave out. */
export function everyTwist(seed: number): Sample[] {
  const drafts = fc.sample(canonical, { seed, numRuns: 500 });
  const isList = ({ message }: Draft) => message['method'] === 'tools/list';
  const isModern = ({ headers }: Draft) => headers['MCP-Protocol-Version'] === MODERN;
  const kinds = [true, false].flatMap((list) =>
    [true, false].map((modern) =>
      drafts.filter((draft) => isList(draft) === list && isModern(draft) === modern),
    ),
  );
  return twists.flatMap((twist, i) =>
    kinds.map((kind) => sampleOf(kind[i % kind.length]!, [twist])),
  );
}
