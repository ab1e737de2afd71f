import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { dirname, join, resolve } from 'node:path';
import type { Command } from 'commander';
import { toBase64 } from '#transparency/base64.js';
import type { SignedCheckpoint } from '#transparency/checkpoint.js';
import { fetchCheckpoint, TiledTree, type FetchResource } from '#transparency/log-reader.js';
import {
  SIGNATURE_TYPE,
  cosigner,
  ed25519Vkey,
  isKeyName,
  parseVkey,
  signatureLine,
  splitNote,
} from '#transparency/note.js';
import { ProofError } from '#transparency/proof-error.js';
import { EXIT, Failure, unusable } from './failure.js';
import { readGiven, readKeys } from './given.js';
import { onLedger } from './ledger.js';
import { filled } from './options.js';
import { inline, outputFor, type OutputOptions } from './output.js';
import { onLog } from './witness-log.js';
import { WitnessState } from './witness-state.js';
import { counted } from './words.js';

interface Options extends OutputOptions {
  key: string;
  name: string;
  logKeys: string;
  origin?: string;
  state?: string;
  workspace?: string;
}

export function witnessVerb(program: Command): void {
  program
    .command('witness')
    .summary('cosign the checkpoints of a log after checking that it only grew')
    .description(
      'Reads the newest checkpoint of a log, proves from its tiles that it continues the one that was cosigned before, and prints it with a ' +
        'signature of this witness (C2SP tlog-cosignature). What does not continue it is a fork: it is kept as evidence and refused.',
    )
    .argument(
      '<log>',
      'URL of the log as …/v1/log, a folder with its tiles, or a data folder',
      filled,
    )
    .requiredOption('--key <file>', 'Ed25519 private key of this witness, in PEM', filled)
    .requiredOption('--name <name>', 'name of this witness, such as witness.example.com/w1', filled)
    .requiredOption('--log-keys <file>', 'verifier keys of the log that you trust', filled)
    .option('--origin <origin>', 'origin of the log, where its keys have another name', filled)
    .option(
      '--state <folder>',
      'what was cosigned (default: the folder "witness" beside the key)',
      filled,
    )
    .option('--workspace <id>', 'whose log, where a data folder has several', filled)
    .addHelpText(
      'after',
      '\nExamples:\n  openssl genpkey -algorithm ed25519 -out witness.pem\n' +
        '  precedent witness https://ledger.example.com/v1/log --key witness.pem --name witness.example.com/w1 \\\n' +
        '    --log-keys log-keys.txt > cosigned.checkpoint\n' +
        '\nTo a server that PRECEDENT_URL names, PRECEDENT_KEY is shown; to no other.\n' +
        'Exit code: 0 cosigned, 1 the log is forked, went back or does not hold together, 2 wrong usage,\n' +
        '3 it cannot be read, 4 nothing to cosign yet or another run was faster, 5 the key was not accepted.\n',
    )
    .action(witness);
}

interface Cosigned {
  before: number;
  checkpoint: SignedCheckpoint;
  seconds: number;
  line: string;
  note: string;
}

async function witness(location: string, options: Options): Promise<void> {
  const output = outputFor(options);
  const { name } = options;
  if (!isKeyName(name))
    throw unusable('invalid_name', 'the name has a space or a plus sign', {
      path: '--name',
      fix: 'give a name like witness.example.com/w1',
    });
  const key = await privateKey(options.key);
  const vkey = ed25519Vkey(name, createPublicKey(key), SIGNATURE_TYPE.cosignature);
  const folder = resolve(options.state ?? join(dirname(options.key), 'witness'));
  const logKeys = await readKeys(options.logKeys);
  const cosigned = await onLedger('ledger', () =>
    onLog(location, options.workspace, async (fetch) => {
      const checkpoint = await fetchCheckpoint(fetch, logKeys, options.origin);
      const state = new WitnessState(folder, checkpoint.origin, parseVkey(vkey));
      return cosign(fetch, checkpoint, state, { key, name, vkey });
    }),
  );
  const { before, checkpoint, seconds, line, note } = cosigned;
  const { origin, size, root } = checkpoint;
  const cosigned_at = new Date(seconds * 1000).toISOString();
  if (output.readable) process.stdout.write(note);
  else
    output.json('precedent.witness/1', {
      origin,
      previous_size: before,
      size,
      root: toBase64(root),
      cosigned_at,
      vkey,
      cosignature: line.trimEnd(),
      checkpoint: note,
    });
  output.note(
    `Cosigned ${counted(size, 'event')} of ${inline(origin)}, ${size - before} of them new. Key of this witness: ${inline(vkey)}`,
  );
}

/** Checks, keeps, and only then gives out a cosignature. */
async function cosign(
  fetch: FetchResource,
  checkpoint: SignedCheckpoint,
  state: WitnessState,
  { key, name, vkey }: { key: KeyObject; name: string; vkey: string },
): Promise<Cosigned> {
  const { size, origin, text } = checkpoint;
  if (size === 0)
    throw new Failure(EXIT.incomplete, {
      error: 'empty_log',
      message: `the log ${origin} is empty: there is nothing to cosign`,
      fix: 'run the command again when it has events',
    });
  const last = state.last();
  const before = last?.size ?? 0;
  try {
    if (size < before)
      throw new ProofError('the log shows an older tree than it has shown before', {
        expected: `${before} events or more`,
        found: `${size} events`,
      });
    const tree = await TiledTree.open(fetch, checkpoint);
    if (last) await tree.consistency(last);
  } catch (error) {
    if (!(error instanceof ProofError)) throw error;
    const kept = await state.keepRefused(size, checkpoint.note);
    throw new ProofError(`${error.message}; the checkpoint is kept in ${kept}`, {
      ...(error.expected === undefined ? {} : { expected: error.expected }),
      ...(error.found === undefined ? {} : { found: error.found }),
    });
  }
  const seconds = Math.floor(Date.now() / 1000);
  const line = signatureLine(text, cosigner(name, key, seconds));
  const note = `${withoutLinesOf(checkpoint, name, vkey)}${line}`;
  if (size > before) await state.advance(before, note);
  else await state.publish(note);
  return { before, checkpoint, seconds, line, note };
}

/** A log may hand out what this witness cosigned before. */
function withoutLinesOf({ note, text }: SignedCheckpoint, name: string, vkey: string): string {
  const { keyId } = parseVkey(vkey);
  const others = splitNote(note).lines.filter((line) => {
    const [, signer, signature = ''] = line.split(' ');
    return signer !== name || Buffer.from(signature, 'base64').toString('hex', 0, 4) !== keyId;
  });
  return `${text}\n${others.map((line) => `${line}\n`).join('')}`;
}

async function privateKey(file: string): Promise<KeyObject> {
  const pem = await readGiven(file);
  try {
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyType === 'ed25519') return key;
  } catch {
    // Said below.
  }
  throw unusable('invalid_key', `${file} holds no Ed25519 private key in PEM`, {
    path: '--key',
    fix: 'make one with: openssl genpkey -algorithm ed25519 -out witness.pem',
  });
}
