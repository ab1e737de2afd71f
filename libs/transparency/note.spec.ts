import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { proved } from '../../test/support/proved.js';
import { formatCheckpoint, openCheckpoint, parseCheckpoint } from './checkpoint.js';
import { leafHash } from './merkle.js';
import {
  SIGNATURE_TYPE,
  cosigner,
  ed25519Vkey,
  noteSigner,
  openNote,
  parseVkey,
  parseVkeys,
  signNote,
  signatureLine,
} from './note.js';
import { ProofError } from './proof-error.js';

/** The example of C2SP signed-note, and the one of Go's golang.org/x/mod/sumdb/note. */
const FOREIGN = [
  {
    vkey: 'example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k',
    note: 'This is an example message.\n\n— example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n',
  },
  {
    vkey: 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW',
    note: "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n\n— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n",
  },
];

const key = () => generateKeyPairSync('ed25519').privateKey;
const vkeyOf = (name: string, privateKey: ReturnType<typeof key>, type?: 1 | 4): string =>
  ed25519Vkey(name, createPublicKey(privateKey), type);

function caught(run: () => unknown): ProofError | undefined {
  try {
    run();
  } catch (error) {
    if (error instanceof ProofError) return error;
    throw error;
  }
  return undefined;
}

describe('signed notes of C2SP (P9)', () => {
  it.each(FOREIGN)('opens a foreign note of $vkey', ({ vkey, note }) => {
    const verifier = parseVkey(vkey);
    const { text, signatures } = openNote(note, [verifier]);
    expect(note.startsWith(`${text}\n`)).toBe(true);
    expect(signatures).toEqual([
      { name: verifier.name, keyId: verifier.keyId, verified: true, type: 1 },
    ]);
    expect(ed25519Vkey(verifier.name, verifier.publicKey)).toBe(vkey);
  });

  it('refuses a foreign note in which one bit is another', () => {
    const counts = { flipped: 0, refused: 0 };
    for (const { vkey, note } of FOREIGN) {
      const verifier = parseVkey(vkey);
      const bytes = Buffer.from(note);
      for (let bit = 0; bit < bytes.length * 8; bit++) {
        const changed = Buffer.from(bytes);
        changed[bit >> 3] = (changed[bit >> 3] as number) ^ (1 << (bit & 7));
        counts.flipped += 1;
        // Bytes that are no UTF-8 any more are read with a replacement character, which is another text.
        if (caught(() => openNote(changed.toString('utf8'), [verifier]))) counts.refused += 1;
      }
    }
    expect(counts.refused).toBe(counts.flipped);
    proved('bits of foreign notes', counts);
  });

  it('signs what it opens, whatever the text', () => {
    const privateKey = key();
    const verifier = parseVkey(vkeyOf('log.example/a', privateKey));
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), (raw) => {
        // eslint-disable-next-line no-control-regex
        const text = `${raw.toWellFormed().replaceAll(/[\0-\x09\x0b-\x1f]/g, '')}\n`;
        const note = signNote(text, [noteSigner('log.example/a', privateKey)]);
        expect(openNote(note, [verifier]).text).toBe(text);
      }),
    );
  });

  it('keeps a text that has empty lines whole', () => {
    const privateKey = key();
    const text = 'one\n\n— nobody AAAAAAAA\n\nthree\n';
    const note = signNote(text, [noteSigner('k', privateKey)]);
    expect(openNote(note, [parseVkey(vkeyOf('k', privateKey))]).text).toBe(text);
  });

  it('ignores what unknown keys say, and wants one that is known', () => {
    const [known, stranger] = [key(), key()];
    const note = signNote('text\n', [noteSigner('known', known), noteSigner('known', stranger)]);
    const opened = openNote(note, [parseVkey(vkeyOf('known', known))]);
    expect(opened.signatures.map(({ verified }) => verified)).toEqual([true, false]);
    const onlyStranger = signNote('text\n', [noteSigner('known', stranger)]);
    expect(() => openNote(onlyStranger, [parseVkey(vkeyOf('known', known))])).toThrow(
      'no known key',
    );
    expect(() => openNote(note, [])).toThrow(ProofError);
  });

  it('refuses the whole note where one known key has a wrong signature beside a right one', () => {
    const [a, b] = [key(), key()];
    const verifiers = [parseVkey(vkeyOf('a', a)), parseVkey(vkeyOf('b', b))];
    const wrong = `${signNote('text\n', [noteSigner('a', a)])}${signatureLine('other\n', noteSigner('b', b))}`;
    expect(() => openNote(wrong, verifiers)).toThrow('the signature of b+');
    const twice = `${signNote('text\n', [noteSigner('a', a)])}${signatureLine('other\n', noteSigner('a', a))}`;
    expect(() => openNote(twice, verifiers)).toThrow(ProofError);
  });

  it.each([
    ['nothing', ''],
    ['no signatures', 'text\n'],
    ['no last newline', 'text\n\n— a AAAAAAAAAA=='],
    ['an empty list of signatures', 'text\n\n'],
    ['a hyphen for a dash', 'text\n\n- a AAAAAAAAAA==\n'],
    ['a name with a plus sign', 'text\n\n— a+b AAAAAAAAAA==\n'],
    ['a name with a no-break space', 'text\n\n— a\u00a0b AAAAAAAAAA==\n'],
    ['no base64', 'text\n\n— a AAAA*AAAAA==\n'],
    ['base64 that is spelled in another way', 'text\n\n— a AAAAAAAAAB==\n'],
    ['a key id alone', 'text\n\n— a AAAAAA==\n'],
    ['a tabulator', 'te\txt\n\n— a AAAAAAAAAA==\n'],
    ['a carriage return', 'text\r\n\n— a AAAAAAAAAA==\n'],
    ['half of a surrogate pair', 'te\ud800xt\n\n— a AAAAAAAAAA==\n'],
    ['101 signatures', `text\n\n${'— a AAAAAAAAAA==\n'.repeat(101)}`],
    ['a megabyte', `${'x'.repeat(1_000_000)}\n\n— a AAAAAAAAAA==\n`],
  ])('refuses a note with %s', (_what, note) => {
    expect(() => openNote(note, [parseVkey(FOREIGN[0]?.vkey ?? '')])).toThrow(ProofError);
  });

  it.each([
    ['no parts', 'example.com/foo'],
    ['another key id', 'example.com/foo+530d903b+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k'],
    ['another name', 'example.com/fop+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k'],
    ['another kind', 'example.com/foo+530d903a+BukyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k'],
    ['a short key', 'example.com/foo+530d903a+Aekyeg=='],
  ])('refuses a verifier key with %s', (_what, vkey) => {
    expect(() => parseVkey(vkey)).toThrow(ProofError);
  });

  it('reads keys one a line', () => {
    const text = `# keys of the log\n\n${FOREIGN.map(({ vkey }) => vkey).join('\r\n')}\n`;
    expect(parseVkeys(text).map(({ name }) => name)).toEqual(['example.com/foo', 'PeterNeumann']);
  });
});

describe('checkpoints and cosignatures of C2SP (P9)', () => {
  const root = leafHash('r');

  it('writes a checkpoint as the format asks', () => {
    const text = formatCheckpoint({ origin: 'example.com/log', size: 20852163, root });
    expect(text).toBe(`example.com/log\n20852163\n${Buffer.from(root).toString('base64')}\n`);
    expect(parseCheckpoint(text)).toMatchObject({ origin: 'example.com/log', size: 20852163 });
    const extended = `${text}one\ntwo\n`;
    expect(parseCheckpoint(extended).extensions).toEqual(['one', 'two']);
    expect(formatCheckpoint(parseCheckpoint(extended))).toBe(extended);
  });

  it.each([
    ['two lines', 'o\n1\n'],
    ['a leading zero', `o\n01\n${Buffer.from(root).toString('base64')}\n`],
    ['a negative size', `o\n-1\n${Buffer.from(root).toString('base64')}\n`],
    [
      'a size that no double counts',
      `o\n9007199254740993\n${Buffer.from(root).toString('base64')}\n`,
    ],
    ['a short root', 'o\n1\nAAAA\n'],
    ['an empty origin', `\n1\n${Buffer.from(root).toString('base64')}\n`],
    ['an empty extension', `o\n1\n${Buffer.from(root).toString('base64')}\n\nx\n`],
    ['no last newline', `o\n1\n${Buffer.from(root).toString('base64')}`],
  ])('refuses a checkpoint with %s', (_what, text) => {
    expect(() => parseCheckpoint(text)).toThrow(ProofError);
  });

  it('takes no witness for the log', () => {
    const [log, witness] = [key(), key()];
    const text = formatCheckpoint({ origin: 'example.com/log', size: 1, root });
    const bySigner = signNote(text, [noteSigner('example.com/log', log)]);
    const cosigned = `${bySigner}${signatureLine(text, cosigner('w.example', witness, 1_700_000_000))}`;
    const keys = [
      parseVkey(vkeyOf('example.com/log', log)),
      parseVkey(vkeyOf('w.example', witness, SIGNATURE_TYPE.cosignature)),
    ];
    expect(openCheckpoint(cosigned, keys).signatures).toMatchObject([
      { name: 'example.com/log', verified: true, type: 1 },
      { name: 'w.example', verified: true, type: 4, timestamp: 1_700_000_000 },
    ]);
    const byWitness = signNote(text, [cosigner('w.example', witness, 1_700_000_000)]);
    expect(() => openCheckpoint(byWitness, keys)).toThrow('no known key of the log');
    const byOther = signNote(text, [noteSigner('w.example', witness)]);
    const other = [parseVkey(vkeyOf('w.example', witness))];
    expect(() => openCheckpoint(byOther, other)).toThrow('no known key of the log');
    expect(openCheckpoint(byOther, other, 'example.com/log').size).toBe(1);
    expect(() => openCheckpoint(bySigner, keys, 'example.com/other')).toThrow('of another log');
  });

  it('binds a cosignature to its time', () => {
    const witness = key();
    const text = formatCheckpoint({ origin: 'o', size: 1, root });
    const line = signatureLine(text, cosigner('w', witness, 1_700_000_000));
    const [, , encoded = ''] = line.trim().split(' ');
    const bytes = Buffer.from(encoded, 'base64');
    bytes.writeBigUInt64BE(1_700_000_001n, 4);
    const later = `${text}\n— w ${bytes.toString('base64')}\n`;
    const verifier = parseVkey(vkeyOf('w', witness, SIGNATURE_TYPE.cosignature));
    expect(() => openNote(later, [verifier])).toThrow('the signature of w+');
    expect(openNote(`${text}\n${line}`, [verifier]).text).toBe(text);
  });
});
