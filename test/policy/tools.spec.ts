import { basename } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { Ajv } from 'ajv';
import { Refusal } from '#kernel/refusal.js';
import type { JsonSchema } from '#kernel/shape.js';
import { toolFiles } from '../support/tools.js';
import { MISSION_TOOLS } from './mission-tools.js';

const files = await toolFiles();
const tools = files.map(({ tool }) => tool);
const metaSchema = new Ajv();
const mission = new Map(MISSION_TOOLS.map((tool) => [tool.name, tool]));

describe('tools as a product', () => {
  it('are the mission’s, each once, and called like their files', () => {
    expect(MISSION_TOOLS).toHaveLength(42);
    for (const { file, tool } of files) expect(tool.name).toBe(basename(file, '.ts'));
    const names = tools.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names.filter((name) => !mission.has(name))).toEqual([]);
    const missing = MISSION_TOOLS.filter(({ name }) => !names.includes(name));
    process.stdout.write(`tools: ${names.length} of 42, ${missing.length} still to build\n`);
  });

  it.each(tools)(
    'O-02, O-03, F-08: $name is marked read-only exactly where it only reads',
    (tool) => {
      expect(tool.hints.readOnly).toBe(mission.get(tool.name)?.readOnly);
      expect(tool.hints.destructive && tool.hints.readOnly).toBe(false);
      expect(tool.toolset).toBe(mission.get(tool.name)?.toolset);
    },
  );

  // O-03: a client asks before it calls a tool that is not marked.
  it.each(tools)('invariant 3: $name has a title and all four hints', ({ title, hints }) => {
    expect(title).toMatch(/^\S.{2,39}$/);
    expect(Object.values(hints).map((hint) => typeof hint)).toEqual(Array(4).fill('boolean'));
    expect(Object.keys(hints).sort()).toEqual([
      'destructive',
      'idempotent',
      'openWorld',
      'readOnly',
    ]);
  });

  it.each(tools)('$name has schemas that the strict clients take', ({ input, output }) => {
    for (const root of [input.schema, output.resultSchema]) {
      expect(root.type).toBe('object');
      expect(
        Object.keys(root).filter((keyword) => /^(?:any|one|all)Of$|^not$/.test(keyword)),
      ).toEqual([]);
      expect(flaws(root, '')).toEqual([]);
      expect(metaSchema.validateSchema(root)).toBe(true);
    }
    // Servers compile a check when they first need it.
    expect(() => input.parse(undefined)).toThrow(Refusal);
    expect(output.misfit(undefined)).toBeDefined();
  });

  it.each(tools)('$name says when to use it and when not, within limits', (tool) => {
    expect(tool.name).toMatch(/^[a-z]+(_[a-z]+)*$/);
    expect(tool.name.length).toBeLessThanOrEqual(29);
    expect(tool.title.length).toBeLessThanOrEqual(40);
    expect(tool.description.length).toBeGreaterThan(100);
    expect(tool.description.length).toBeLessThanOrEqual(700);
    expect(tool.description).toMatch(/\b(Use|Call) /);
    expect(tool.description).toMatch(/\b(not|never|no|no other|is shorter|why)\b/i);
  });

  it.each(tools)('$name: every input field is described or speaks for itself', (tool) => {
    const obvious = new Set([
      'decision_id',
      'reason',
      'kind',
      'topic',
      'effective_to',
      'job_id',
      'records',
      'at_least',
      'action',
      'question',
      'limit',
      'cursor',
    ]);
    for (const [field, schema] of Object.entries(tool.input.schema.properties))
      if (!obvious.has(field))
        expect([field, schema.description]).toEqual([field, expect.stringMatching(/.{8,}/)]);
  });

  it.each(tools)('$name: its schemas are an API, reviewed like one', (tool) => {
    expect({ input: tool.input.schema, output: tool.output.schema }).toMatchSnapshot();
  });
});

const NEVER = [
  '$ref',
  '$defs',
  '$schema',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'oneOf',
  'allOf',
];

/** Where a schema says what some client does not take. */
function flaws(node: JsonSchema, path: string): string[] {
  const own = NEVER.filter((keyword) => keyword in node).map((keyword) => `${path} has ${keyword}`);
  if (Array.isArray(node['type'])) own.push(`${path} has several types`);
  const { items, properties, anyOf } = node as Record<string, JsonSchema | undefined>;
  if (items && 'anyOf' in items) own.push(`${path}[] has anyOf`);
  const inner: [string, unknown][] = [
    ...Object.entries(properties ?? {}).map(([name, one]): [string, unknown] => [
      `${path}.${name}`,
      one,
    ]),
    ...(items ? [[`${path}[]`, items] as [string, unknown]] : []),
    ...Object.entries(anyOf ?? {}).map(([i, one]): [string, unknown] => [`${path}|${i}`, one]),
  ];
  return [...own, ...inner.flatMap(([where, one]) => flaws(one as JsonSchema, where))];
}
