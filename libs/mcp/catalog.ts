import { TOOLSETS } from '#kernel/context.js';
import type { JsonSchemaObject } from '#kernel/shape.js';
import { isVisible, type Tool, type Viewer } from './tool.js';

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

/** Who sees what. A view is worked out once for each kind, role and choice of toolsets. */
export interface Catalog {
  /** In order of name. The same array for every caller with the same view. */
  list(viewer: Viewer): readonly ListedTool[];
  /** Undefined both for a tool that is not there and for one that the caller may not see. */
  find(viewer: Viewer, name: string): Tool | undefined;
}

interface View {
  readonly list: readonly ListedTool[];
  readonly byName: ReadonlyMap<string, Tool>;
}

/** Clients call a tool `mcp__<server>__<tool>` and cut that at 60 to 64 characters. */
const MAX_NAME = 60;

/** Throws where two tools share a name or a declaration cannot be served. */
export function catalogOf(tools: readonly Tool[], server: string): Catalog {
  const sorted = [...tools].sort((a, b) => (a.name < b.name ? -1 : 1));
  const room = MAX_NAME - `mcp__${server}__`.length;
  sorted.forEach((tool, i) => assertServable(tool, sorted[i + 1], room));
  const views = new Map<string, View>();
  const of = (viewer: Viewer): View => {
    const key = `${viewer.kind} ${viewer.role}${toolsetsKey(viewer)}`;
    let view = views.get(key);
    if (!view) views.set(key, (view = viewOf(sorted, viewer)));
    return view;
  };
  return {
    list: (viewer) => of(viewer).list,
    find: (viewer, name) => of(viewer).byName.get(name),
  };
}

/** Names that are no toolset grant nothing; without them there are few views, whatever credentials say. */
function toolsetsKey({ toolsets }: Viewer): string {
  if (toolsets === undefined) return '';
  return ` of ${TOOLSETS.filter((toolset) => toolsets.includes(toolset)).join()}`;
}

function viewOf(sorted: readonly Tool[], viewer: Viewer): View {
  const seen = sorted.filter((tool) => isVisible(tool, viewer));
  let list: readonly ListedTool[] | undefined;
  return {
    get list() {
      return (list ??= seen.map(listed));
    },
    byName: new Map(seen.map((tool) => [tool.name, tool])),
  };
}

function assertServable(tool: Tool, next: Tool | undefined, room: number): void {
  if (!/^[a-z][a-z0-9_]*$/.test(tool.name) || tool.name.length > room)
    throw new Error(`tool "${tool.name}": a name is snake_case, here ${room} characters at most`);
  if (next?.name === tool.name) throw new Error(`two tools are called ${tool.name}`);
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
