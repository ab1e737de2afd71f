import {
  readDocumentSet,
  type DecisionDocument,
  type DocumentSet,
} from '#decisions/domain/document-set.js';

/** A record with a status and, after the decision, more text. */
export const record = (status: string, more = '', title = 'A record'): string =>
  `# ${title}\n\n## Status\n\n${status}\n\n## Decision\n\nWe will do it.\n\n${more}\n`;

export const setOf = (files: Record<string, string>): DocumentSet =>
  readDocumentSet(Object.entries(files).map(([path, text]) => ({ path, text })));

/** `newer kind older (who says so)`. */
export const linksOf = ({ links }: DocumentSet): string[] =>
  links.map(
    ({ kind, newer, older, statedBy }) => `${newer} ${kind} ${older} (${statedBy.join('+')})`,
  );

/** `kind: documents`. */
export const findingsOf = ({ findings }: DocumentSet): string[] =>
  findings.map(({ kind, documents }) => `${kind}: ${documents.join(' ')}`);

/** What follows the fields of a record that has decided something. */
export const body = '\n\n## Decision\n\nWe will use queues.\n';

/** The one decision of a file. */
export function read(text: string, path = 'adr/0001-use-queues.md'): DecisionDocument {
  const { decisions, skipped } = readDocumentSet([{ path, text }]);
  const [document] = decisions;
  if (document === undefined) throw new Error(`skipped: ${skipped[0]?.reason}`);
  return document;
}
