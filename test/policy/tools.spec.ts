import { describe, expect, it } from '@jest/globals';
import { decisionTools } from '#decisions/module.js';

const tools = [...decisionTools];
const READ = [
  'get_workspace_context',
  'resolve_decision_state',
  'get_decision_history',
  'get_ingestion_status',
  'list_pending_decisions',
];

describe('tools as a product', () => {
  it('are these, each once', () => {
    expect(tools.map((t) => t.name).sort()).toEqual([...READ, 'ingest', 'review_decision'].sort());
  });

  it.each(tools)('O-02, O-03: $name is marked read-only exactly where it only reads', (tool) => {
    expect(tool.hints.readOnly).toBe(READ.includes(tool.name));
    expect(tool.hints.destructive && tool.hints.readOnly).toBe(false);
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
