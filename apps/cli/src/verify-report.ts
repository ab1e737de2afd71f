import type { Finding } from '#event-store/ledger-check.js';
import type { ComparedModels, LogReport, Verified } from '#ledger/index.js';
import type { Evidence } from './evidence.js';
import { inline, type Paint } from './output.js';
import type { AuditSource } from './source.js';
import { counted, extentLines, field, section } from './words.js';

/** What a check says nothing about, and what would. */
export interface Unchecked {
  what: string;
  why: string;
  settle: string;
}

/** `precedent.verify/1`. Positions are text. */
export interface Report {
  ok: boolean;
  source: { kind: AuditSource['kind']; name: string };
  finding?: Omit<Finding, 'first' | 'last'> & { first_position?: string; last_position?: string };
  checked: {
    events: number;
    last_position: string;
    last_recorded_at: string | null;
    /** Empty where the check ended before the last event. */
    headers_sha256: string;
    workspaces: number;
    checkpoints: number;
    keys: number;
    texts: number;
    blobs: number;
    receipts: number;
    kept_checkpoints: number;
    read_models: { tables: number; rows: number; position: string };
  };
  /** Events that no checkpoint covers yet, checkpoint events aside. */
  unsigned_events: number;
  logs: LogReport[];
  not_checked: Unchecked[];
}

export function reportOf(all: {
  source: AuditSource;
  evidence: Evidence;
  unchecked: readonly Unchecked[];
  trust: ReadonlySet<string> | undefined;
  verified: Verified;
  compared: ComparedModels | undefined;
  finding: Finding | undefined;
}): Report {
  const { source, evidence, verified, compared, finding } = all;
  const { coverage, logs } = verified;
  const { tables = 0, rows = 0, position = 0 } = compared ?? {};
  return {
    ok: finding === undefined,
    source: { kind: source.kind, name: source.name },
    ...(finding ? { finding: found(finding) } : {}),
    checked: {
      ...coverage,
      last_position: String(coverage.last_position),
      workspaces: logs.length,
      checkpoints: logs.reduce((n, log) => n + log.checkpoints, 0),
      keys: new Set(logs.flatMap((log) => log.vkeys)).size,
      texts: verified.texts,
      receipts: evidence.receipts,
      kept_checkpoints: evidence.checkpoints,
      read_models: { tables, rows, position: String(position) },
    },
    unsigned_events: logs.reduce((n, log) => n + log.unsigned, 0),
    logs,
    not_checked: [...all.unchecked, ...limitsOf(all)],
  };
}

function found({ first, last, ...finding }: Finding): NonNullable<Report['finding']> {
  return {
    ...finding,
    ...(first === undefined ? {} : { first_position: String(first) }),
    ...(last === undefined ? {} : { last_position: String(last) }),
  };
}

/** What no reading of the ledger alone can show. */
function limitsOf({
  evidence,
  trust,
  verified: { logs },
}: {
  evidence: Evidence;
  trust: ReadonlySet<string> | undefined;
  verified: Verified;
}): Unchecked[] {
  const limits: Unchecked[] = [];
  if (logs.some((log) => log.vkeys.length > 0) && !trust)
    limits.push({
      what: 'whose the keys are',
      why: 'the checkpoints were checked with the keys that the ledger itself names',
      settle: 'give the public keys from a source of your own, with --keys',
    });
  const unsigned = logs.filter((log) => log.vkeys.length === 0).length;
  if (unsigned > 0)
    limits.push({
      what: `the logs of ${counted(unsigned, 'workspace')}`,
      why: 'nothing of them was ever signed: a header that was changed together with all that is derived from it would not be seen',
      settle: 'let a server with a log key sign them, or compare with a backup or export',
    });
  if (evidence.receipts + evidence.checkpoints === 0)
    limits.push({
      what: 'whether the end was cut off',
      why: 'a ledger that ends earlier is whole as well, unless its read models have seen more',
      settle:
        'give a checkpoint or receipts that were kept elsewhere, with --checkpoint or --receipts',
    });
  return limits;
}

export function reportLines(report: Report, paint: Paint): string[] {
  const { checked, logs, unsigned_events, source } = report;
  const { read_models: models } = checked;
  return [
    paint.bold(`${inline(source.name)} holds what it says`),
    ...extentLines(checked, paint),
    field(
      paint,
      'signed',
      `${counted(checked.checkpoints, 'checkpoint')} of ${counted(checked.workspaces, 'workspace')}, ${counted(checked.keys, 'key')}`,
    ),
    field(paint, '', `not yet under a signature: ${counted(unsigned_events, 'event')}`),
    field(paint, 'texts', `${checked.texts} named, ${counted(checked.blobs, 'blob')}`),
    field(
      paint,
      'kept',
      `${counted(checked.receipts, 'receipt')}, ${counted(checked.kept_checkpoints, 'checkpoint')}`,
    ),
    field(
      paint,
      'models',
      `${counted(models.tables, 'table')}, ${counted(models.rows, 'row')}, as of position ${models.position}`,
    ),
    ...section(
      paint,
      'Logs',
      logs.map((log) => logLines(log, paint)),
    ),
    ...section(
      paint,
      'Not checked',
      report.not_checked.map(({ what, why, settle }) => [
        `  ${inline(what)}: ${inline(why)}`,
        `    ${paint.dim('to settle it:')} ${inline(settle)}`,
      ]),
    ),
  ];
}

function logLines(log: LogReport, paint: Paint): string[] {
  const name = log.origin === null ? 'never signed' : inline(log.origin);
  return [
    `  ${inline(log.workspace)}  ${paint.dim(name)}`,
    `    ${counted(log.size, 'event')}, ${log.signed_size} signed, root ${log.root}`,
  ];
}
