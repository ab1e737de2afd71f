import { randomBytes } from 'node:crypto';
import type { Caller } from '#kernel/context.js';
import { noteRefusal } from '#kernel/notices.js';
import { Refusal } from '#kernel/refusal.js';
import { escapeUnseen } from '#kernel/text.js';
import { fitted, type Page } from './result-size.js';
import { Asking, type Question, type ToolRequest } from './tool-request.js';
import type { Buses, Tool } from './tool.js';

/** What a tool call came to, as text that is ready to leave: unseen characters are escaped in every string. */
export type Answer =
  | { readonly kind: 'result'; readonly text: string; readonly json: string }
  /** `text` is the body of the refusal as JSON. */
  | { readonly kind: 'refusal'; readonly text: string }
  /** Nothing yet: the user is to be asked first. */
  | { readonly kind: 'question'; readonly question: Question };

/** Told of every error that is no refusal. The caller sees the incident only. */
export type OnDefect = (error: unknown, incident: string) => void;

export interface Answering {
  readonly buses: Buses;
  readonly onDefect: OnDefect;
  readonly limits: { readonly resultBytes: number };
}

/** Calls a tool for a caller who may see it. Never throws. */
export async function answer(
  { buses, onDefect, limits }: Answering,
  tool: Tool,
  args: object,
  caller: Caller,
  request: ToolRequest,
): Promise<Answer> {
  try {
    const run = async (given: object): Promise<Page> => {
      const output = await tool.run(given, caller, buses, request);
      const misfit = tool.output.misfit(output);
      if (misfit !== undefined)
        throw new Error(`${tool.name} returned what its output schema rejects: ${misfit}`);
      return { output, json: outgoingJson(output) };
    };
    const { output, json } = await fitted(tool, args, run, limits.resultBytes);
    const layout = tool.text(output);
    return { kind: 'result', json, text: layout === undefined ? json : escapeUnseen(layout) };
  } catch (error) {
    if (error instanceof Asking) return { kind: 'question', question: error.question };
    return { kind: 'refusal', text: outgoingJson(refusalBody(error, onDefect)) };
  }
}

/** What may be told of an error: the refusal's own words, or an incident number. */
export function refusalBody(error: unknown, onDefect: OnDefect): object {
  if (error instanceof Refusal) {
    noteRefusal('mcp', error.error);
    return error.body();
  }
  const incident = randomBytes(6).toString('hex');
  onDefect(error, incident);
  return {
    error: 'internal_error',
    message: `something went wrong on the server; it is recorded as incident ${incident}`,
    issues: [],
  };
}

/** JSON of a value, in which unseen characters of all names and strings are escaped. */
export function outgoingJson(value: unknown): string {
  const json = JSON.stringify(value);
  // JSON.stringify writes control characters as \b, \f or \uXXXX; all others it leaves as they are.
  return /\\[bfu]/.test(json) || escapeUnseen(json) !== json ? JSON.stringify(seen(value)) : json;
}

function seen(value: unknown): unknown {
  if (typeof value === 'string') return escapeUnseen(value);
  if (Array.isArray(value)) return value.map(seen);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [escapeUnseen(name), seen(item)]),
  );
}
