import { randomBytes } from 'node:crypto';
import type { Caller } from '#kernel/context.js';
import { Refusal } from '#kernel/refusal.js';
import { escapeUnseen } from '#kernel/text.js';
import type { Buses, Tool } from './tool.js';

/** What a tool call came to, as text that is ready to leave: unseen characters are escaped in every string. */
export type Answer =
  | { readonly ok: true; readonly text: string; readonly json: string }
  /** `text` is the body of the refusal as JSON. */
  | { readonly ok: false; readonly text: string };

/** Told of every error that is no refusal. The caller sees the incident only. */
export type OnDefect = (error: unknown, incident: string) => void;

/** Calls a tool for a caller who may see it. Never throws. */
export async function answer(
  tool: Tool,
  args: unknown,
  caller: Caller,
  buses: Buses,
  onDefect: OnDefect,
): Promise<Answer> {
  try {
    const output = await tool.run(args, caller, buses);
    const misfit = tool.output.misfit(output);
    if (misfit !== undefined)
      throw new Error(`${tool.name} returned what its output schema rejects: ${misfit}`);
    const json = outgoingJson(output);
    const layout = tool.text(output);
    return { ok: true, json, text: layout === undefined ? json : escapeUnseen(layout) };
  } catch (error) {
    return { ok: false, text: outgoingJson(refusalBody(error, onDefect)) };
  }
}

/** What may be told of an error: the refusal's own words, or an incident number. */
export function refusalBody(error: unknown, onDefect: OnDefect): object {
  if (error instanceof Refusal) return error.body();
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
