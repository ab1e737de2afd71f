import { fastify, type FastifyInstance } from 'fastify';
import { guardPerimeter } from '#http/perimeter.js';
import { Refusal } from '#kernel/refusal.js';
import { Doc, IsText } from '#kernel/shape-decorators.js';
import { createMcpEdge } from '#mcp/edge.js';
import { mountMcp } from '#mcp/mount.js';
import type { Question, ToolRequest } from '#mcp/tool-request.js';
import { tool, type Tool } from '#mcp/tool.js';
import type { Caller } from '#kernel/context.js';
import { IsOptional } from 'class-validator';
import { setTimeout } from 'node:timers/promises';
import { spentHere } from './mcp-fixture.js';

/** The registry that the conformance suite's scenarios ask for, as far as the product's own edge can hold it. */

class Nothing {}

class Asked {
  @IsOptional() @Doc('What the user reads.') @IsText({ max: 200 }) message?: string;
}

class Said {
  @IsText() said!: string;
}

const question = (key: string, message: string, fields: Question['fields']): Question => ({
  key,
  message,
  fields,
  otherwise: 'nothing else answers it',
});
const NAME = { name: { kind: 'text', title: 'Name' } } as const;
const COLOUR = { color: { kind: 'text', title: 'Colour' } } as const;
const OK = { ok: { kind: 'yes_no', title: 'OK' } } as const;

type Run = (input: Asked, request: ToolRequest) => Promise<string>;

function declared(
  name: string,
  run: Run | (() => Promise<string>),
  input: new () => Asked = Nothing,
): Tool {
  const shared = {
    name,
    title: name,
    description: `For the scenario of this name: ${name}.`,
    toolset: 'decisions',
    audience: ['person'],
    role: 'member',
    hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
    input,
    output: Said,
    text: ({ said }: Said) => said,
  } as const;
  return run.length > 0
    ? tool<Asked, Said>({
        ...shared,
        run: async (given, _c, _b, request) => ({ said: await run(given, request) }),
      })
    : tool<Asked, Said>({
        ...shared,
        run: async () => ({ said: await (run as () => Promise<string>)() }),
      });
}

const asks = (name: string, one: Question): Tool =>
  declared(name, async (_input, request) => {
    const reply = await request.elicit(one);
    return `state-ok: ${JSON.stringify(reply)}`;
  });

const tools: Tool[] = [
  declared('test_simple_text', async () => 'This is a simple text response for testing.'),
  declared('test_error_handling', async () => {
    throw new Refusal(
      'conflict',
      'test_error',
      'This tool intentionally returns an error for testing',
    );
  }),
  declared('test_tool_with_progress', async (_input, request) => {
    for (const done of [0, 50, 100]) {
      request.progress(done, 100, `Completed step ${done} of 100`);
      await setTimeout(50);
    }
    return 'done';
  }),
  declared(
    'test_elicitation',
    async ({ message = 'Who are you?' }, request) => {
      const fields = {
        username: { kind: 'text', title: 'User name' },
        email: { kind: 'text', title: 'Address' },
      } as const;
      return `User response: ${JSON.stringify(await request.elicit(question('user', message, fields)))}`;
    },
    Asked,
  ),
  declared('test_logging_tool', async () => 'Nothing is logged to a client.'),
  declared('test_streaming_elicitation', async (_input, request) => {
    request.progress(1);
    return JSON.stringify(await request.elicit(question('name', 'Your name?', NAME)));
  }),
  asks('test_input_required_result_elicitation', question('user_name', 'What is your name?', NAME)),
  asks('test_input_required_result_request_state', question('confirm', 'Please confirm', OK)),
  asks('test_input_required_result_tampered_state', question('confirm', 'Please confirm', OK)),
  asks('test_input_required_result_capabilities', question('confirm', 'Please confirm', OK)),
  declared('test_input_required_result_multi_round', async (_input, request) => {
    if (!request.asked.includes('step2'))
      await request.elicit(question('step1', 'Your name?', NAME));
    return JSON.stringify(await request.elicit(question('step2', 'Your colour?', COLOUR)));
  }),
];

const CALLER: Caller = {
  workspace: 'w1',
  organisation: 'o1',
  principal: 'suite',
  kind: 'person',
  role: 'owner',
  credential: 'prec_suite',
  mode: 'reviewed',
  fourEyes: false,
};

/** The product's edge, mount and perimeter on a port of their own. The suite sends no credential, so every request is its. */
export async function conformanceServer(): Promise<{ app: FastifyInstance; url: string }> {
  const app = fastify();
  guardPerimeter(app, { hosts: ['127.0.0.1', 'localhost'], origins: [] });
  app.addHook('onRequest', async (request) => {
    request.caller = CALLER;
  });
  const edge = createMcpEdge({
    tools,
    resources: [
      {
        uri: 'test://static-text',
        name: 'static-text',
        title: 'Static text',
        description: 'A text.',
        mimeType: 'text/plain',
        text: 'This is the content of the static text resource.',
      },
    ],
    buses: {} as never,
    serverInfo: { name: 'conformance', version: '1.0.0' },
    instructions: 'For the suite.',
    onDefect: (error) => process.stderr.write(`${String(error)}\n`),
    requestState: { secret: Buffer.alloc(32, 1), spend: spentHere() },
  });
  await mountMcp(app, edge);
  app.addHook('onClose', () => edge.close());
  return { app, url: `${await app.listen({ port: 0, host: '127.0.0.1' })}/mcp` };
}
