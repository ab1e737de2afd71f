import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** `<data>/client.json`: what a client on this machine needs. The `mcpServers` part is ready to paste into MCP clients. */
export interface ClientFile {
  url: string;
  key: string;
  mcpServers: {
    precedent: { type: 'http'; url: string; headers: { Authorization: string } };
  };
}

export function clientSettings(url: string, key: string): ClientFile {
  return {
    url,
    key,
    mcpServers: {
      precedent: { type: 'http', url: `${url}/mcp`, headers: { Authorization: `Bearer ${key}` } },
    },
  };
}

export async function readClientFile(dir: string): Promise<ClientFile | undefined> {
  try {
    return JSON.parse(await readFile(join(dir, 'client.json'), 'utf8')) as ClientFile;
  } catch {
    return undefined;
  }
}

/** Readable by its owner alone; replaced whole, so that a reader never sees half of it. */
export async function writeClientFile(dir: string, file: ClientFile): Promise<void> {
  const path = join(dir, 'client.json');
  const next = `${path}.${process.pid}.tmp`;
  await writeFile(next, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600 });
  await rename(next, path);
}
