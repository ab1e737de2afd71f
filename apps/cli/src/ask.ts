import type { Command } from 'commander';
import type { Answer } from '#decisions/contract.js';
import type { RefusalBody } from '#kernel/refusal.js';
import { VERSION } from '../../server/src/version.js';
import { answerLines } from './answer-text.js';
import { bodyOf, exchange, failureOfReply } from './api.js';
import { findServer, type Connection } from './connection.js';
import { EXIT, Failure } from './failure.js';
import { axesOf, filled, withAxes, type AxesOptions } from './options.js';
import { inline, outputFor, type OutputOptions } from './output.js';
import { saveReceipt } from './receipt-get.js';

interface Options extends OutputOptions, AxesOptions {
  topic?: string;
  receipt?: string;
}

const TOOL = 'resolve_decision_state';

export function askVerb(program: Command): void {
  withAxes(
    program
      .command('ask')
      .summary('what is decided?')
      .description(
        'Asks for the decision in force, over MCP. The name or an alias of a topic gives its decision; ' +
          'other words give suggestions.',
      )
      .argument('<question>', 'a topic, or words that may lead to one', filled)
      .option('--topic <name>', 'topic id, name or alias, when you know it', filled)
      .option('--receipt <file>', 'have the answer recorded, and write its receipt there', filled),
  )
    .addHelpText(
      'after',
      '\nExamples:\n  precedent ask "Use PostgreSQL"\n  precedent ask "How long do we keep logs?" --topic log-retention --scope region=eu\n' +
        '  precedent ask "Use PostgreSQL" --as-of 2024-01-01\n' +
        '  precedent ask "Use PostgreSQL" --receipt receipt.json --json > answer.json\n' +
        '\nAn answer is exit code 0, also one that says "Unknown" or "Contested".\n',
    )
    .action(ask);
}

async function ask(question: string, options: Options): Promise<void> {
  const output = outputFor(options);
  const { topic, receipt: file } = options;
  const answer = await callTool<Answer>(await findServer(), TOOL, {
    question,
    ...(topic === undefined ? {} : { topic }),
    ...axesOf(options),
    ...(file === undefined ? {} : { receipt: true }),
  });
  if (output.readable) output.say(answerLines(answer, options.asOf, output.paint));
  else output.json('precedent.answer/1', answer);
  if (file !== undefined && answer.receipt) await saveReceipt(file, answer.receipt, output);
  const [first] = answer.candidate_topics;
  if (first && output.readable)
    output.note(`\nAsk again with a name or an id: precedent ask ${inline(first.topic)}`);
}

/** One tool over MCP; `onProgress` hears how far a long one is. Rejects with a `Failure`, in the server's own words where it refused. */
export async function callTool<T>(
  connection: Connection,
  name: string,
  input: Record<string, unknown>,
  onProgress?: (done: number, total: number) => void,
): Promise<T> {
  // Loaded by this verb alone: it costs a quarter of a second.
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
  const client = new Client(
    { name: 'precedent-cli', version: VERSION },
    { versionNegotiation: { mode: 'auto' } },
  );
  const door = doorTo(connection);
  try {
    const transport = new StreamableHTTPClientTransport(new URL(`${connection.url}/mcp`), {
      fetch: door.fetch,
    });
    await client.connect(transport);
    const result = await client.callTool(
      { name, arguments: input },
      onProgress && {
        onprogress: ({ progress, total = progress }) => {
          onProgress(progress, total);
        },
      },
    );
    if (result.isError === true) throw refusalIn(connection, result.content);
    return result.structuredContent as T;
  } catch (error) {
    throw door.failure ?? asFailure(connection, error);
  } finally {
    await client.close();
  }
}

/** The client's way to the server. It wraps what `fetch` rejects with, so the first failure is kept in its own words here. */
function doorTo(connection: Connection) {
  const door = {
    failure: undefined as Failure | undefined,
    fetch: async (address: URL | string, init: RequestInit = {}): Promise<Response> => {
      try {
        const response = await exchange(connection, address, init);
        if (!TELLING.has(response.status)) return response;
        throw failureOfReply(connection, response.status, await bodyOf(connection, response));
      } catch (error) {
        if (error instanceof Failure) door.failure ??= error;
        throw error;
      }
    },
  };
  return door;
}

/** Other codes belong to the protocol, which negotiates with some of them. */
const TELLING: ReadonlySet<number> = new Set([401, 403, 500, 502, 503, 504]);

/** A tool says no as JSON text with the members of a refusal. */
function refusalIn(connection: Connection, content: unknown): Failure {
  const [block] = Array.isArray(content) ? (content as { text?: unknown }[]) : [];
  try {
    return new Failure(EXIT.refused, JSON.parse(String(block?.text)) as RefusalBody);
  } catch {
    return unreadable(connection, 'an error without words');
  }
}

function asFailure(connection: Connection, error: unknown): Failure {
  if (error instanceof Failure) return error;
  return unreadable(connection, error instanceof Error ? error.message : String(error));
}

function unreadable({ url }: Connection, what: string): Failure {
  return new Failure(EXIT.unreachable, {
    error: 'unreadable_reply',
    message: `what answers at ${url}/mcp cannot be understood: ${what}`,
    fix: 'set PRECEDENT_URL to the address that the server printed when it started',
  });
}
