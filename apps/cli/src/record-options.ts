import type { Command } from 'commander';
import { withSource, type SourceOptions } from './source.js';

export interface RecordOptions extends SourceOptions {
  workspace?: string;
}

/** Files of a ledger were named, where a server would be asked otherwise. */
export function isOffline({ data, bundle, eventstore, workspace }: RecordOptions): boolean {
  return [data, bundle, eventstore, workspace].some((given) => given !== undefined);
}

/** The ledger that is read, and the workspace in it. */
export function withRecord(command: Command): Command {
  return withSource(command).option(
    '--workspace <id>',
    'the workspace that is read (default: the only one)',
  );
}
