import { restOf, type Api } from './api.js';
import { findServer } from './connection.js';
import { outputFor, type OutputOptions, type Paint } from './output.js';

/**
 * One exchange with the server, shown as text or as the JSON document `schema`. `next`: what somebody who reads the text may want to do
 * then.
 */
export async function carryOut<T extends object>(
  options: OutputOptions,
  schema: string,
  work: (api: Api) => Promise<T>,
  lines: (result: T, paint: Paint) => readonly string[],
  next: (result: T) => string | undefined = () => undefined,
): Promise<void> {
  const output = outputFor(options);
  const result = await work(restOf(await findServer()));
  if (output.readable) output.say(lines(result, output.paint));
  else output.json(schema, result);
  if ('key' in result) output.note('The key is shown this once: keep it now.');
  const hint = output.readable ? next(result) : undefined;
  if (hint !== undefined) output.note(`\n${hint}`);
}

/** A field of a request only where it was given. */
export function present(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
