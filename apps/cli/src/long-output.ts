import { jsonText, type Output } from './output.js';

/** A result that may be longer than memory: it is written item by item, in the form that was asked for. */
export interface LongOutput {
  /** One item: as JSON, or as the lines that a person reads. */
  item(value: object, lines: () => readonly string[]): Promise<void>;
  /** What is known only in the end; ends the document. */
  end(tail: object, lines: () => readonly string[]): Promise<void>;
}

export interface LongForm {
  schema: string;
  /** Name of the list. */
  list: string;
  /** What is known before the first item. */
  head: object;
  headLines: () => readonly string[];
}

/**
 * Readable lines; with `--json` one document whose members come in the order head, list, tail; with `--ndjson` one document a line, each
 * with `schema` and `part`: `head`, `item` or `end`.
 */
export function longOutput(output: Output, ndjson: boolean, form: LongForm): Promise<LongOutput> {
  if (ndjson) return asLines(form);
  return output.readable ? asText(form) : asDocument(form);
}

async function asText({ headLines }: LongForm): Promise<LongOutput> {
  const say = (lines: () => readonly string[]): Promise<void> =>
    written(
      lines()
        .map((line) => `${line}\n`)
        .join(''),
    );
  await say(headLines);
  return { item: (_, lines) => say(lines), end: (_, lines) => say(lines) };
}

async function asLines({ schema, head }: LongForm): Promise<LongOutput> {
  const write = (part: string, value: object): Promise<void> =>
    written(`${jsonText({ schema, part, ...value }, 0)}\n`);
  await write('head', head);
  return { item: (value) => write('item', value), end: (tail) => write('end', tail) };
}

async function asDocument({ schema, list, head }: LongForm): Promise<LongOutput> {
  // The document is opened without its closing brace and closed in the end.
  await written(`${jsonText({ schema, ...head }).slice(0, -2)},\n  ${JSON.stringify(list)}: [`);
  let items = 0;
  return {
    async item(value) {
      const text = jsonText(value).replaceAll('\n', '\n    ');
      await written(`${items === 0 ? '' : ','}\n    ${text}`);
      items += 1;
    },
    async end(tail) {
      const members = jsonText(tail);
      const rest = members === '{}' ? '\n}' : `,${members.slice(1)}`;
      await written(`${items === 0 ? '' : '\n  '}]${rest}\n`);
    },
  };
}

/** Resolves once the pipe has room again. A reader that left ends the process (`surviveClosedPipes`). */
async function written(text: string): Promise<void> {
  if (text === '' || process.stdout.write(text)) return;
  await new Promise<void>((resolve) => process.stdout.once('drain', resolve));
}
