import { Refusal } from '#kernel/refusal.js';
import type { Tool } from './tool.js';

/** A tool's output, checked, and as JSON that is ready to leave. */
export interface Page {
  readonly output: object;
  readonly json: string;
}

/** So that the next try fits although items differ in size. */
const SLACK = 0.9;

/**
 * What a tool gives within `max` bytes. A list that is longer is asked for again with a smaller `limit`, so that it ends at an item
 * and its cursor leads on. What cannot be cut is refused. A tool that writes is never asked twice, and its receipt is never withheld.
 */
export async function fitted(
  tool: Tool,
  args: object,
  run: (args: object) => Promise<Page>,
  max: number,
): Promise<Page> {
  let page = await run(args);
  if (!tool.hints.readOnly) return page;
  for (let most = itemsOf(page.output); ;) {
    const bytes = Buffer.byteLength(page.json);
    if (bytes <= max) return page;
    const limit = Math.min(pageOf(tool), Math.floor(((most * max) / bytes) * SLACK));
    if (limit < 1) throw tooLarge(tool, bytes, max);
    page = await run({ ...args, limit });
    // Items differ in size, and not all may count: at least by half, so that this ends soon.
    most = Math.min(limit, most / 2);
  }
}

/** Items that a page of this tool may have; 0 where it has no pages. */
function pageOf(tool: Tool): number {
  const { limit, cursor } = tool.input.schema.properties;
  return limit && cursor ? ((limit as { maximum?: number }).maximum ?? Infinity) : 0;
}

/** A page may hold lists of several kinds; one limit holds for all of them together. */
function itemsOf(output: object): number {
  return Object.values(output).reduce(
    (sum: number, value: unknown) => sum + (Array.isArray(value) ? value.length : 0),
    0,
  );
}

function tooLarge(tool: Tool, bytes: number, max: number): Refusal {
  const narrow = Object.keys(tool.input.schema.properties).filter((name) => name !== 'at_least');
  return new Refusal(
    'too_large',
    'result_too_large',
    `the answer has ${bytes} bytes, ${max} is the most that is sent`,
    {
      issues: [{ path: '', problem: `asks for more than ${max} bytes` }],
      fix:
        (narrow.length === 0 ? '' : `ask for less with ${narrow.join(', ')}, or `) +
        'read it over REST, which has no such limit',
    },
  );
}
