import { localAddress } from './address.js';
import { assemble, type Application } from './application.js';
import { clientSettings, readClientFile, writeClientFile } from './client-file.js';
import { exitWith, isTraced, settingsOrExit } from './environment.js';
import { createLog } from './log.js';
import type { Settings } from './settings.js';

/** The HTTP server: REST under /v1, MCP at /mcp. */
async function main(): Promise<void> {
  const settings = settingsOrExit();
  const log = createLog(settings.LOG_LEVEL);
  const tracing = isTraced() ? new (await import('./tracing.js')).Tracing() : undefined;
  const application = await assemble(settings, log, Date.now, tracing);
  await application.app.listen(settings.PORT, settings.HOST);
  let ending = false;
  const end = (): void => {
    if (ending) return;
    ending = true;
    application.close().then(
      () => process.exit(0),
      (error: unknown) => {
        log.fatal({ err: error }, 'the shutdown failed');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', end);
  process.on('SIGINT', end);
  await announce(application, settings);
}

async function announce(application: Application, settings: Settings): Promise<void> {
  const { app, createdKey } = application;
  const url = localAddress(settings, app.getHttpServer());
  const known = settings.EVENTSTORE === 'memory:' ? undefined : await readClientFile(settings.DATA);
  const key = createdKey ?? known?.key ?? (await validKey(application, settings.BOOTSTRAP_KEY));
  const say = (line: string): void => void process.stdout.write(`${line}\n`);
  say(`Precedent is ready at ${url}`);
  say(`  MCP        ${url}/mcp`);
  say(`  REST       ${url}/v1   (described at ${url}/openapi.json)`);
  if (createdKey !== undefined) say(`  Owner key  ${createdKey}   (shown this once)`);
  if (key === undefined) {
    say(`  No key file in ${settings.DATA}: use your key, or copy client.json there`);
    return;
  }
  const client = clientSettings(url, key);
  if (settings.EVENTSTORE !== 'memory:') {
    await writeClientFile(settings.DATA, client);
    say(`  Client settings are in ${settings.DATA}/client.json`);
  }
  if (createdKey === undefined) return;
  say('\nPaste this into your MCP client:\n');
  say(JSON.stringify({ mcpServers: client.mcpServers }, null, 2));
}

/** The bootstrap key, where this ledger knows it: another server may have created the workspace with it. */
async function validKey(
  { authenticate }: Application,
  key: string | undefined,
): Promise<string | undefined> {
  return key !== undefined && (await authenticate(key)) ? key : undefined;
}

main().catch(exitWith);
