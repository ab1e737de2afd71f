import type { Caller, PrincipalKind, Role } from '#kernel/context.js';
import type { JsonSchemaObject } from '#kernel/shape.js';
import { isVisible, type Tool } from './tool.js';

/** A tool as `tools/list` shows it. */
export type ListedTool = {
  name: string;
  title: string;
  description: string;
  inputSchema: JsonSchemaObject;
  outputSchema: JsonSchemaObject;
  annotations: {
    title: string;
    readOnlyHint: boolean;
    destructiveHint: boolean;
    idempotentHint: boolean;
    openWorldHint: boolean;
  };
};

/** Who sees what, worked out once. */
export interface Catalog {
  /** In order of name. The same array for every caller of the same kind and role. */
  list(caller: Pick<Caller, 'kind' | 'role'>): readonly ListedTool[];
  /** Undefined both for a tool that is not there and for one that the caller may not see. */
  find(caller: Pick<Caller, 'kind' | 'role'>, name: string): Tool | undefined;
}

const KINDS: readonly PrincipalKind[] = ['person', 'agent', 'service'];
const ROLES: readonly Role[] = ['member', 'approver', 'admin', 'owner'];
/** Clients cut `mcp__<server>__<tool>` at 60 to 64 characters. */
const MAX_NAME = 40;

/** Throws where two tools share a name or a declaration cannot be served. */
export function catalogOf(tools: readonly Tool[]): Catalog {
  const sorted = [...tools].sort((a, b) => (a.name < b.name ? -1 : 1));
  sorted.forEach(assertServable);
  const visible = new Map(
    KINDS.flatMap((kind) =>
      ROLES.map((role) => {
        const seen = sorted.filter((tool) => isVisible(tool, { kind, role }));
        const byName = new Map(seen.map((tool) => [tool.name, tool]));
        return [`${kind} ${role}`, { list: seen.map(listed), byName }] as const;
      }),
    ),
  );
  const of = ({ kind, role }: Pick<Caller, 'kind' | 'role'>) => visible.get(`${kind} ${role}`);
  return {
    list: (caller) => of(caller)?.list ?? [],
    find: (caller, name) => of(caller)?.byName.get(name),
  };
}

function assertServable(tool: Tool, index: number, sorted: readonly Tool[]): void {
  if (!/^[a-z][a-z0-9_]*$/.test(tool.name) || tool.name.length > MAX_NAME)
    throw new Error(`tool "${tool.name}": a name is snake_case, ${MAX_NAME} characters at most`);
  if (sorted[index + 1]?.name === tool.name) throw new Error(`two tools are called ${tool.name}`);
  if (tool.audience.length === 0) throw new Error(`tool ${tool.name} is for nobody`);
  if (tool.title === '' || tool.description === '')
    throw new Error(`tool ${tool.name} has no title or description`);
}

function listed(tool: Tool): ListedTool {
  return {
    name: tool.name,
    title: tool.title,
    description: tool.description,
    inputSchema: tool.input.schema,
    outputSchema: tool.output.resultSchema,
    annotations: {
      title: tool.title,
      readOnlyHint: tool.hints.readOnly,
      destructiveHint: tool.hints.destructive,
      idempotentHint: tool.hints.idempotent,
      openWorldHint: tool.hints.openWorld,
    },
  };
}
