import { InvalidArgumentError, type Command } from 'commander';
import type { RecordedEvent } from '#event-store/event-store.js';
import { openCheckpoint, type SignedCheckpoint } from '#transparency/checkpoint.js';
import { inclusionProof, leafHash } from '#transparency/merkle.js';
import type { Verifier } from '#transparency/note.js';
import { formatTlogProof, verifyTlogProof, type TlogProof } from '#transparency/tlog-proof.js';
import { EXIT, Failure, unusable } from './failure.js';
import { interruption } from './interruption.js';
import { keysFor } from './given.js';
import { onLedger } from './ledger.js';
import { filled } from './options.js';
import { inline, outputFor, type OutputOptions } from './output.js';
import type { SignedLog } from './signed-log.js';
import { openSource, withSource, type AuditSource, type SourceOptions } from './source.js';

interface Options extends OutputOptions, SourceOptions {
  keys?: string;
  bare?: boolean;
}

export function proveVerb(program: Command): void {
  withSource(
    program
      .command('prove')
      .summary('prove that an event is in the signed log')
      .description(
        'Prints a proof (C2SP tlog-proof) that the event at a position of the log is under the latest signed checkpoint of its ' +
          'workspace. It is checked before it is printed. "precedent receipt verify" checks it again, anywhere, without the ledger.',
      )
      .argument(
        '<position>',
        'position of the event, as receipts and "precedent history" show it',
        position,
      ),
  )
    .option(
      '--keys <file>',
      'verifier keys that you trust (default: those the ledger names)',
      filled,
    )
    .option('--bare', 'leave the header of the event out of the proof')
    .addHelpText(
      'after',
      '\nExamples:\n  precedent prove 120 > event.tlog-proof\n' +
        '  precedent prove 120 --data /mnt/copy --keys log-keys.txt --json\n' +
        '\nExit code: 0 proved, 1 the log does not prove it, 2 wrong usage or no such event, 3 no ledger can be read,\n' +
        '4 no checkpoint covers the event yet.\n',
    )
    .action(prove);
}

function position(text: string): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(number)) return number;
  throw new InvalidArgumentError('Give a position of the log, like 120.');
}

interface Proved {
  event: RecordedEvent;
  proof: TlogProof;
  checkpoint: SignedCheckpoint;
}

async function prove(at: number, options: Options): Promise<void> {
  const output = outputFor(options);
  const { event, proof, checkpoint } = await onLedger('ledger', async () => {
    const source = await openSource(options);
    try {
      const keys = await keysFor(source, options.keys);
      const event = await eventAt(source, at);
      const { onTrees } = await import('./signed-log.js');
      const found = await onTrees(source, (logs) => proofOf(logs.of(event.workspace), event, keys));
      return { event, ...found };
    } finally {
      await source.close();
    }
  });
  const text = formatTlogProof(
    options.bare === true ? proof : { ...proof, extra: Buffer.from(event.header) },
  );
  if (output.readable) process.stdout.write(text);
  else
    output.json('precedent.prove/1', { ...described({ event, proof, checkpoint }), proof: text });
  output.note(
    `Event ${event.id} (${inline(event.type)}) is entry ${proof.index} of ${inline(checkpoint.origin)}, under a checkpoint of ${checkpoint.size}.`,
  );
  if (options.keys === undefined)
    output.note(
      'The keys are those that the ledger names itself: give --keys with keys that you trust.',
    );
}

function described({ event, proof, checkpoint }: Proved): object {
  return {
    position: String(event.position),
    event_id: event.id,
    event_type: event.type,
    recorded_at: event.recordedAt,
    leaf_sha256: Buffer.from(leafHash(event.header)).toString('hex'),
    origin: checkpoint.origin,
    index: proof.index,
    size: checkpoint.size,
    root: Buffer.from(checkpoint.root).toString('base64'),
  };
}

/** Proved against what a key of the log signed; throws a `ProofError` where that cannot be. */
function proofOf(
  log: SignedLog,
  event: RecordedEvent,
  keys: readonly Verifier[],
): Omit<Proved, 'event'> {
  const index = log.indexAt(event.position);
  const note = log.newest();
  const size = note === undefined ? 0 : openCheckpoint(note, keys).size;
  if (index === undefined || note === undefined || size <= index) throw notCovered(event.position);
  const proof: TlogProof = {
    index,
    hashes: inclusionProof(index, size, log.read),
    checkpoint: note,
  };
  return { proof, checkpoint: verifyTlogProof(proof, leafHash(event.header), keys) };
}

/** The event at a position of the whole log. Rejects with a `Failure` where there is none. */
export async function eventAt(source: AuditSource, at: number): Promise<RecordedEvent> {
  const { store, kind } = source;
  const options = { signal: interruption, live: false, batch: kind === 'eventstoredb' ? 512 : 1 };
  // On a cluster only the position of an event is a place to read on from.
  const after = kind === 'eventstoredb' ? 0 : Math.max(0, at - 1);
  for await (const batch of store.follow(after, options)) {
    const event = batch.find((candidate) => candidate.position >= at);
    if (event?.position === at) return event;
    if (event) break;
  }
  throw unusable('unknown_position', `the log has no event at position ${at}`, {
    path: 'position',
    fix: 'take a position from "precedent history", a receipt or GET /v1/events',
  });
}

function notCovered(at: number): Failure {
  return new Failure(EXIT.incomplete, {
    error: 'not_covered',
    message: `no signed checkpoint covers the event at position ${at} yet`,
    fix: 'let the server sign: it does so within seconds while it runs, and when it is stopped; on a cluster it needs PRECEDENT_LOG_KEY',
  });
}
