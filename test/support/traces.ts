import { openSync, closeSync, readdirSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** A place where something was found that should be nowhere. */
export interface Trace {
  file: string;
  form: string;
  offset: number;
}

/** Every regular file below a folder. */
export function filesBelow(dir: string): string[] {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

/** The forms in which programs write a text or some bytes down. Base64 has three, by where in its groups of three the bytes begin. */
export function formsOf(what: string | Uint8Array): Map<string, Buffer> {
  const bytes = Buffer.from(what as Uint8Array);
  const forms = new Map<string, Buffer>([['bytes', bytes]]);
  forms.set('hex', Buffer.from(bytes.toString('hex')));
  forms.set('HEX', Buffer.from(bytes.toString('hex').toUpperCase()));
  for (const shift of [0, 1, 2]) {
    const padded = Buffer.concat([Buffer.alloc(shift), bytes]);
    // Characters that depend on what stands before and after the bytes are left out.
    const from = shift === 0 ? 0 : shift + 1;
    const to = Math.floor((padded.length * 8) / 6);
    forms.set(`base64+${shift}`, Buffer.from(padded.toString('base64').slice(from, to)));
    forms.set(`base64url+${shift}`, Buffer.from(padded.toString('base64url').slice(from, to)));
  }
  if (typeof what !== 'string') return forms;
  const utf16 = Buffer.from(what, 'utf16le');
  forms.set('UTF-16LE', utf16);
  forms.set('UTF-16BE', Buffer.from(utf16).swap16());
  forms.set('lower case', Buffer.from(what.toLowerCase()));
  forms.set('upper case', Buffer.from(what.toUpperCase()));
  forms.set('JSON', Buffer.from(JSON.stringify(what).slice(1, -1)));
  forms.set('JSON in JSON', Buffer.from(JSON.stringify(JSON.stringify(what)).slice(2, -2)));
  forms.set('percent-encoded', Buffer.from(encodeURIComponent(what)));
  const escaped = [...what].map((c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
  forms.set('\\u escapes', Buffer.from(escaped.join('')));
  return forms;
}

const CHUNK = 8 << 20;

/** Looks at every byte of the files for each form; one trace a form and file. */
export function traces(files: readonly string[], forms: ReadonlyMap<string, Buffer>): Trace[] {
  const overlap = Math.max(...[...forms.values()].map((form) => form.length));
  return files.flatMap((file) => {
    const found = new Map<string, Trace>();
    eachChunk(file, overlap, (chunk, at) => {
      for (const [form, bytes] of forms) {
        const place = found.has(form) ? -1 : chunk.indexOf(bytes);
        if (place >= 0) found.set(form, { file, form, offset: at + place });
      }
    });
    return [...found.values()];
  });
}

function eachChunk(file: string, overlap: number, look: (chunk: Buffer, at: number) => void): void {
  // A file that a server removes while the folder is read is no trace.
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size === 0) return;
  const opened = openSync(file, 'r');
  try {
    const buffer = Buffer.alloc(CHUNK);
    for (let at = 0; at < size; at += CHUNK - overlap) {
      const read = readSync(opened, buffer, 0, CHUNK, at);
      look(buffer.subarray(0, read), at);
    }
  } finally {
    closeSync(opened);
  }
}

export function bytesOf(files: readonly string[]): number {
  return files.reduce((n, file) => n + (statSync(file, { throwIfNoEntry: false })?.size ?? 0), 0);
}
