import type { CommandBus, QueryBus } from '@nestjs/cqrs';
import type { Caller, PrincipalKind, Role, Toolset } from '#kernel/context.js';
import { shapeOf, type Shape } from '#kernel/shape.js';
import type { ToolRequest } from './tool-request.js';

/** Where a tool's one message goes. */
export interface Buses {
  readonly commands: CommandBus;
  readonly queries: QueryBus;
}

export { TOOLSETS, type Toolset } from '#kernel/context.js';

/** What clients may assume of a tool. All four are always said. */
export interface Hints {
  readonly readOnly: boolean;
  readonly destructive: boolean;
  readonly idempotent: boolean;
  readonly openWorld: boolean;
}

export interface ToolDeclaration<I extends object, O extends object> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly toolset: Toolset;
  /** Kinds of callers for whom the tool exists. */
  readonly audience: readonly PrincipalKind[];
  /** Least role for which it exists. */
  readonly role: Role;
  readonly hints: Hints;
  /** It decides what counts: approves, revokes, settles, measures. An operator may have the user confirm such calls. */
  readonly governs?: boolean;
  readonly input: new () => I;
  readonly output: new () => O;
  /**
   * Puts one message on a bus. Throws a `Refusal` for an expected no; anything else it throws is a defect.
   * A tool that takes `request` may report progress and ask the user; one that does not is answered faster.
   */
  run(input: I, caller: Caller, bus: Buses, request: ToolRequest): Promise<O>;
  /** The text block, where the product promises a layout of its own; else it is the result as JSON. */
  text?(output: O): string;
}

/** A declaration with its shapes, its types forgotten. */
export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly toolset: Toolset;
  readonly audience: readonly PrincipalKind[];
  readonly role: Role;
  readonly hints: Hints;
  readonly governs: boolean;
  readonly input: Shape<object>;
  readonly output: Shape<object>;
  /** It takes the request: it may report progress or ask. */
  readonly interactive: boolean;
  /** Checks the arguments (a `Refusal` for what is wrong with them), then runs. */
  run(args: unknown, caller: Caller, bus: Buses, request: ToolRequest): Promise<object>;
  text(output: object): string | undefined;
}

export function tool<I extends object, O extends object>(d: ToolDeclaration<I, O>): Tool {
  return {
    name: d.name,
    title: d.title,
    description: d.description,
    toolset: d.toolset,
    audience: [...d.audience],
    role: d.role,
    hints: { ...d.hints },
    governs: d.governs ?? false,
    // Read when they are first asked for: few servers show or run all tools.
    get input() {
      return shapeOf(d.input);
    },
    get output() {
      return shapeOf(d.output);
    },
    interactive: d.run.length > 3,
    run: async (args, caller, bus, request) =>
      d.run(shapeOf(d.input).parse(args), caller, bus, request),
    text: (result) => d.text?.(result as O),
  };
}

const RANK: Readonly<Record<Role, number>> = { member: 0, approver: 1, admin: 2, owner: 3 };

export function hasRole(caller: Pick<Caller, 'role'>, least: Role): boolean {
  return RANK[caller.role] >= RANK[least];
}

/** What decides on what a caller sees. */
export type Viewer = Pick<Caller, 'kind' | 'role' | 'toolsets'>;

/** The one rule for what a caller sees and may call. */
export function isVisible(tool: Tool, caller: Viewer): boolean {
  const granted = caller.toolsets?.includes(tool.toolset) ?? true;
  return granted && tool.audience.includes(caller.kind) && hasRole(caller, tool.role);
}
