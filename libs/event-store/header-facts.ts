import type { EventHeader } from './header.js';

/** What checks and proofs need of a stored header. */
export type HeaderFacts = Pick<
  EventHeader,
  'id' | 'payload_sha256' | 'recorded_at' | 'revision' | 'stream' | 'type' | 'workspace'
>;

const TEXT = '"([ !#-\\[\\]-~]*)"';
const UNNAMED = '"[ !#-\\[\\]-~]*"';
const INSTANT = '\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z';
/** Headers of plain ASCII without an escape, which is nearly all of them: what stands between the quotes is the text itself. */
const PLAIN = new RegExp(
  `^{"actor":{"credential":(?:null|${UNNAMED}),"kind":${UNNAMED},"principal":${UNNAMED}},"causation":${UNNAMED},` +
    `"correlation":${UNNAMED},"id":${TEXT},"payload_sha256":${TEXT},"recorded_at":"(${INSTANT})",` +
    `"revision":(0|[1-9]\\d{0,14}),"stream":${TEXT},"type":${TEXT},"version":\\d{1,15},"workspace":${TEXT}}$`,
);
const ONLY_INSTANT = new RegExp(`^${INSTANT}$`);

/** The facts of a stored header; undefined where it is none. Parses only what is not spelled as nearly all headers are. */
export function factsOf(header: string): HeaderFacts | undefined {
  const plain = PLAIN.exec(header);
  if (!plain) return parsed(header);
  const [, id = '', payload_sha256 = '', recorded_at = '', revision, ...rest] = plain;
  const [stream = '', type = '', workspace = ''] = rest;
  return { id, payload_sha256, recorded_at, revision: Number(revision), stream, type, workspace };
}

function parsed(text: string): HeaderFacts | undefined {
  try {
    const header: unknown = JSON.parse(text);
    return isHeader(header) ? header : undefined;
  } catch {
    return undefined;
  }
}

function isHeader(value: unknown): value is EventHeader {
  const h = (value ?? {}) as Partial<Record<keyof EventHeader, unknown>>;
  const texts = [h.causation, h.correlation, h.id, h.payload_sha256, h.stream, h.type, h.workspace];
  return (
    texts.every((text) => typeof text === 'string') &&
    Number.isSafeInteger(h.revision) &&
    Number.isSafeInteger(h.version) &&
    typeof h.recorded_at === 'string' &&
    ONLY_INSTANT.test(h.recorded_at)
  );
}
