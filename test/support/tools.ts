import { existsSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Tool } from '#mcp/tool.js';

export interface ToolFile {
  readonly file: string;
  readonly tool: Tool;
}

/** Every tool that any context declares, by its file, whether a module lists it or not. */
export async function toolFiles(): Promise<ToolFile[]> {
  const folders = readdirSync('libs').map((context) => join('libs', context, 'tools'));
  const files = folders
    .filter(existsSync)
    .flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)))
    .filter((file) => /^[a-z0-9_]+\.ts$/.test(basename(file)));
  return Promise.all(
    files.map(async (file) => {
      const declared = (await import(pathToFileURL(file).href)) as { default: Tool };
      return { file, tool: declared.default };
    }),
  );
}
