import { Refusal } from '#kernel/refusal.js';
import { readToolsets } from '#mcp/toolsets.js';
import { assemble } from './application.js';
import { readClientFile, writeClientFile, clientSettings } from './client-file.js';
import { exitWith, settingsOrExit } from './environment.js';
import { createLog } from './log.js';

/** The stdio server for one MCP client: same ledger, same tools, no port. The key comes from PRECEDENT_KEY or the data folder. */
async function main(): Promise<void> {
  const settings = settingsOrExit();
  const application = await assemble(settings, createLog(settings.LOG_LEVEL));
  if (application.createdKey !== undefined && settings.EVENTSTORE !== 'memory:')
    await writeClientFile(
      settings.DATA,
      clientSettings(`http://${settings.HOST}:${settings.PORT}`, application.createdKey),
    );
  const key = settings.KEY ?? application.createdKey ?? (await readClientFile(settings.DATA))?.key;
  const connection = application.edge.serveStdio(
    async () => {
      const caller = key === undefined ? undefined : await application.authenticate(key);
      if (caller) return caller;
      throw new Refusal('unauthenticated', 'unauthenticated', 'no valid credential', {
        fix: 'set PRECEDENT_KEY to a valid key',
      });
    },
    process.stdin,
    process.stdout,
    settings.TOOLSETS && readToolsets(settings.TOOLSETS.join()),
  );
  const end = (): void => void connection.close();
  process.on('SIGTERM', end);
  process.on('SIGINT', end);
  await connection.closed;
  await application.close();
  process.exit(0);
}

main().catch(exitWith);
