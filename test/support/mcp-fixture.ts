import { IsArray, IsBoolean, IsInt, IsOptional, Max, Min, ValidateNested } from 'class-validator';
import { Type } from 'class-transformer';
import type { Caller } from '#kernel/context.js';
import { Refusal } from '#kernel/refusal.js';
import { Doc, IsScope, IsText, IsValue, IsWhen, OrNull } from '#kernel/shape-decorators.js';
import { createMcpEdge, type McpEdge, type McpEdgeOptions } from '#mcp/edge.js';
import type { SpendState } from '#mcp/request-state.js';
import type { GuideText } from '#mcp/resources.js';
import { tool, type Buses, type Tool } from '#mcp/tool.js';

/** Tools of every kind of outcome, a handful of keys, and no context: what the edge's own tests serve. */

class Line {
  @Doc('What the line says.') @IsText({ max: 100 }) text!: string;
  @IsOptional() @Doc('Since when.') @IsWhen() since?: string;
}

class EchoInput {
  @Doc('Comes back.') @IsText({ max: 50 }) text!: string;
  @IsOptional() @IsInt() @Min(1) @Max(9) times?: number;
  @IsOptional() @IsBoolean() loud?: boolean;
  @IsOptional() @IsScope() scope?: Record<string, string>;
  @IsOptional() @IsValue() value?: unknown;
  @IsOptional() @IsArray() @ValidateNested({ each: true }) @Type(() => Line) lines?: Line[];
}

class EchoOutput extends EchoInput {
  @Doc('Who asked.') @IsText() principal!: string;
  @OrNull() @IsText() note!: string | null;
}

class Nothing {}

class Outcome {
  @IsBoolean() done!: boolean;
}

class FailInput {
  @IsText() how!: string;
}

const READ = { readOnly: true, destructive: false, idempotent: true, openWorld: false };
const WRITE = { readOnly: false, destructive: true, idempotent: false, openWorld: false };

export const fixtureTools: Tool[] = [
  tool({
    name: 'echo_text',
    title: 'Echo',
    description: 'Gives back what it is given.',
    toolset: 'decisions',
    audience: ['person', 'agent'],
    role: 'member',
    hints: READ,
    input: EchoInput,
    output: EchoOutput,
    run: async (input, caller) => ({ ...input, principal: caller.principal, note: null }),
  }),
  tool({
    name: 'fail_somehow',
    title: 'Fail',
    description: 'Fails in the way it is told.',
    toolset: 'decisions',
    audience: ['person', 'agent', 'service'],
    role: 'member',
    hints: READ,
    input: FailInput,
    output: Outcome,
    run: async ({ how }) => {
      if (how === 'refusal')
        throw new Refusal('conflict', 'already_decided', 'it is decided\u202e', {
          path: 'how',
          issues: [{ path: 'how', problem: 'was decided before' }],
          fix: 'look again',
        });
      if (how === 'misfit') return { done: 'yes' as unknown as boolean };
      if (how === 'layout') return { done: true };
      throw new Error(`a secret: ${how}`);
    },
  }),
  tool({
    name: 'lay_out',
    title: 'Lay out',
    description: 'Has a text of its own.',
    toolset: 'rules',
    audience: ['person', 'service'],
    role: 'member',
    hints: READ,
    input: Nothing,
    output: Outcome,
    run: async () => ({ done: true }),
    text: () => 'laid\u200bout',
  }),
  tool({
    name: 'govern_all',
    title: 'Govern',
    description: 'For admins.',
    toolset: 'jobs',
    audience: ['person'],
    role: 'admin',
    hints: WRITE,
    input: Nothing,
    output: Outcome,
    run: async () => ({ done: true }),
  }),
];

const someone = (principal: string, more: Partial<Caller> = {}): Caller => ({
  workspace: 'w1',
  organisation: 'o1',
  principal,
  kind: 'person',
  role: 'member',
  credential: `prec_${principal}`,
  mode: 'reviewed',
  fourEyes: false,
  ...more,
});

const KINDS = ['person', 'agent', 'service'] as const;
const ROLES = ['member', 'approver', 'admin', 'owner'] as const;

/** By key: four people and programs by name, and one caller of every kind and role (`key-agent-approver`). */
export const fixtureCallers: Readonly<Record<string, Caller>> = {
  ...Object.fromEntries(
    KINDS.flatMap((kind) =>
      ROLES.map((role) => [`key-${kind}-${role}`, someone(`${kind}-${role}`, { kind, role })]),
    ),
  ),
  'key-member': someone('mia'),
  'key-admin': someone('ada', { role: 'admin' }),
  'key-agent': someone('bot', { kind: 'agent', role: 'owner' }),
  'key-service': someone('erp', { kind: 'service' }),
  'key-few': someone('few', { role: 'admin', toolsets: ['rules', 'jobs'] }),
  'key-elsewhere': someone('mia', { workspace: 'w2' }),
  'key-none': someone('none', { toolsets: [] }),
  'key-odd': someone('odd', { toolsets: ['decisions', 'no longer there'] }),
};

export const fixtureTexts: GuideText[] = ['b', 'a'].map((name) => ({
  uri: `fixture://guide/${name}`,
  name,
  title: name.toUpperCase(),
  description: `Text ${name}.`,
  mimeType: 'text/markdown',
  text: `# ${name} é\n`,
}));

/** What the ledger does, for one process: the second use of a state is refused. */
export function spentHere(): SpendState {
  const spent = new Set<string>();
  return async (_caller, { id }) => {
    if (spent.has(id)) throw new Refusal('conflict', 'request_state_spent', 'was taken before');
    spent.add(id);
  };
}

export interface Defect {
  error: unknown;
  incident: string;
}

export function fixtureEdge(
  defects: Defect[] = [],
  options: Partial<McpEdgeOptions> = {},
): McpEdge {
  return createMcpEdge({
    tools: fixtureTools,
    resources: fixtureTexts,
    buses: {} as Buses,
    requestState: { secret: Buffer.alloc(32, 7), spend: spentHere() },
    serverInfo: { name: 'fixture', version: '1.2.3', title: 'Fixture' },
    instructions: 'Echo first.',
    onDefect: (error, incident) => defects.push({ error, incident }),
    ...options,
  });
}
