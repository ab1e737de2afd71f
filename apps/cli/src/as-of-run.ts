import {
  answer as answerFrom,
  approvalsOf,
  axesOf as readAxes,
  type Approval,
} from '#decisions/index.js';
import type { Reads } from '#projections/read-database.js';
import { sourceView } from '#sources/index.js';
import { answerLines, type Reading } from './answer-text.js';
import { onRecord, times } from './on-record.js';
import type { RecordOptions } from './record-options.js';
import { axesOf } from './options.js';
import { inline, outputFor, type OutputOptions, type Paint } from './output.js';
import { section, when } from './words.js';

export interface AsOfOptions extends OutputOptions, RecordOptions {
  valid?: string;
  known?: string;
  scope?: Record<string, string>;
}

/** What an auditor needs beside it to find and prove what it rests on. */
interface Proofs {
  approvals: Approval[];
  sources: { source_id: string; sha256: string }[];
}

export async function asOf(topic: string, options: AsOfOptions): Promise<void> {
  const output = outputFor(options);
  const { valid, known, scope } = options;
  times({ valid }, { known });
  await onRecord(options, ({ reads, workspace, position }) => {
    const input = {
      question: topic,
      topic,
      ...axesOf({
        ...(scope === undefined ? {} : { scope }),
        ...(valid === undefined ? {} : { asOf: valid }),
        ...(known === undefined ? {} : { knownAt: known }),
      }),
    };
    const now = Date.now();
    const { answered_at: _, ...reading } = answerFrom(reads, workspace, input, now, position);
    const proofs = proofsOf(
      reads,
      workspace,
      reading,
      readAxes(reads, workspace, input, now).known,
    );
    if (output.readable) output.say(readingLines(reading, proofs, valid, output.paint));
    else output.json('precedent.as-of/1', { workspace, answer: reading, ...proofs });
  });
}

function proofsOf(
  reads: Reads,
  workspace: string,
  { decision, alternatives, sources }: Reading,
  known: Parameters<typeof approvalsOf>[3],
): Proofs {
  return {
    approvals: [...(decision ? [decision] : []), ...alternatives].flatMap((shown) =>
      approvalsOf(reads, workspace, shown, known),
    ),
    sources: sources.flatMap(({ source_id }) => {
      const view = sourceView(reads, workspace, source_id);
      return view ? [{ source_id, sha256: view.sha256 }] : [];
    }),
  };
}

function readingLines(
  reading: Reading,
  { approvals, sources }: Proofs,
  valid: string | undefined,
  paint: Paint,
): string[] {
  return [
    ...answerLines(reading, valid, paint),
    ...section(
      paint,
      'Approvals',
      approvals.map((a) => [
        `  position ${a.position}  ${a.kind} by ${inline(a.by)}, ${when(a.at)}${a.reason === undefined ? '' : `: ${inline(a.reason)}`}`,
        `    ${paint.dim(`${inline(a.decision_id)}, content ${a.content_hash}`)}`,
      ]),
    ),
    ...section(
      paint,
      'Sources',
      sources.map(({ source_id, sha256 }) => [
        `  ${inline(source_id)}`,
        `    ${paint.dim(`sha256 ${sha256}`)}`,
      ]),
    ),
    '',
    paint.dim(`  read at position ${reading.position}, dates in ${reading.zone}`),
  ];
}
