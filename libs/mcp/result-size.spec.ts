import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { IsArray, IsInt, IsOptional, Max, Min, ValidateNested } from 'class-validator';
import { Type } from 'class-transformer';
import type { FastifyInstance } from 'fastify';
import { IsText } from '#kernel/shape-decorators.js';
import { fixtureEdge } from '../../test/support/mcp-fixture.js';
import { callModern, type Members } from '../../test/support/mcp-raw.js';
import { fixtureServer } from '../../test/support/mcp-server.js';
import { tool, type Tool } from './tool.js';

const MAX = 4_000;
const TOTAL = 500;

class ListInput {
  @IsOptional() @IsText() cursor?: string;
  @IsOptional() @IsInt() @Min(1) @Max(200) limit?: number;
}
class Item {
  @IsInt() n!: number;
  @IsText() text!: string;
}
class List {
  @IsArray() @ValidateNested({ each: true }) @Type(() => Item) items!: Item[];
  @IsOptional() @IsText() next_cursor?: string;
}
class SizeInput {
  @IsInt() bytes!: number;
}
class Text {
  @IsText() text!: string;
}

const shared = {
  title: 'T',
  description: 'D.',
  toolset: 'decisions',
  audience: ['person'],
  role: 'member',
} as const;
const READ = { readOnly: true, destructive: false, idempotent: true, openWorld: false };

let runs = 0;
const written: number[] = [];
/** Items differ in size: one in ten is eight times as long. */
const itemAt = (n: number): Item => ({ n, text: 'é'.repeat(n % 10 === 0 ? 320 : 40) });

const tools: Tool[] = [
  tool({
    ...shared,
    name: 'list_items',
    hints: READ,
    input: ListInput,
    output: List,
    run: async ({ cursor = '0', limit = TOTAL }) => {
      runs += 1;
      const from = Number(cursor);
      const to = Math.min(TOTAL, from + limit);
      const items = Array.from({ length: to - from }, (_, i) => itemAt(from + i));
      return { items, ...(to < TOTAL ? { next_cursor: String(to) } : {}) };
    },
  }),
  tool({
    ...shared,
    name: 'read_text',
    hints: READ,
    input: SizeInput,
    output: Text,
    run: async ({ bytes }) => ({ text: 'x'.repeat(bytes) }),
  }),
  tool({
    ...shared,
    name: 'write_text',
    hints: { ...READ, readOnly: false },
    input: SizeInput,
    output: Text,
    run: async ({ bytes }) => {
      written.push(bytes);
      return { text: 'x'.repeat(bytes) };
    },
  }),
];

let app: FastifyInstance;
let url: string;
beforeAll(async () => {
  const limits = { resultBytes: MAX };
  ({ app, url } = await fixtureServer([], 0, fixtureEdge([], { tools, limits })));
});
afterAll(async () => {
  await app.close();
});

async function call(name: string, args: object): Promise<Members> {
  const { body } = await callModern(url, name, args);
  return body.result ?? {};
}

describe('a result that is too large', () => {
  it.each([{}, { limit: 150 }])(
    'ends at an item, and its cursor leads on to the rest: %j',
    async (args) => {
      const seen: number[] = [];
      let pages = 0;
      runs = 0;
      for (let cursor: string | undefined; ;) {
        const { structuredContent } = await call('list_items', {
          ...args,
          ...(cursor ? { cursor } : {}),
        });
        expect(Buffer.byteLength(JSON.stringify(structuredContent))).toBeLessThanOrEqual(MAX);
        pages += 1;
        seen.push(...(structuredContent as List).items.map(({ n }) => n));
        cursor = (structuredContent as List).next_cursor;
        if (cursor === undefined) break;
      }
      expect(seen).toEqual(Array.from({ length: TOTAL }, (_, n) => n));
      process.stdout.write(`result size: ${TOTAL} items in ${pages} pages, ${runs} runs\n`);
      expect(runs).toBeLessThan(4 * pages);
    },
  );

  it('is sent as it is up to the limit, and refused with a way out above', async () => {
    const most = MAX - Buffer.byteLength('{"text":""}');
    expect(await call('read_text', { bytes: most })).not.toHaveProperty('isError');
    const refused = await call('read_text', { bytes: most + 1 });
    expect(refused['isError']).toBe(true);
    expect(JSON.parse(refused['content'][0].text)).toEqual({
      error: 'result_too_large',
      message: `the answer has ${MAX + 1} bytes, ${MAX} is the most that is sent`,
      issues: [{ path: '', problem: `asks for more than ${MAX} bytes` }],
      fix: 'ask for less with bytes, or read it over REST, which has no such limit',
    });
  });

  it('is sent by a tool that writes, once: what was done is never called refused', async () => {
    const { structuredContent } = await call('write_text', { bytes: 3 * MAX });
    expect((structuredContent as Text).text).toHaveLength(3 * MAX);
    expect(written).toEqual([3 * MAX]);
  });
});
