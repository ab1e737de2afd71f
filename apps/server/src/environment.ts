import { existsSync, readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { Refusal } from '#kernel/refusal.js';
import { readSettings, type Settings } from './settings.js';

/** Settings of this process: `.env` in the working folder, overruled by the environment. Ends the process with what is wrong. */
export function settingsOrExit(): Settings {
  try {
    const file = existsSync('.env') ? parseEnv(readFileSync('.env', 'utf8')) : {};
    return readSettings({ ...file, ...process.env });
  } catch (error) {
    return exitWith(error);
  }
}

/** Ends the process: a refusal in its own words, anything else with its trace. */
export function exitWith(error: unknown): never {
  if (error instanceof Refusal) {
    process.stderr.write(`precedent: ${error.message}\n`);
    if (error.fix !== undefined) process.stderr.write(`  ${error.fix}\n`);
    process.exit(2);
  }
  process.stderr.write(
    `${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
  );
  process.exit(1);
}

/** Whether a collector for traces is named, by OpenTelemetry's own variables. */
export function isTraced(): boolean {
  const { OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT } = process.env;
  return Boolean(OTEL_EXPORTER_OTLP_ENDPOINT ?? OTEL_EXPORTER_OTLP_TRACES_ENDPOINT);
}
