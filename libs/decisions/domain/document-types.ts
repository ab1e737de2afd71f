/** One file of an imported folder; `path` is relative to that folder, with forward slashes. */
export interface DocumentFile {
  path: string;
  text: string;
}

export type DocumentStatus =
  | 'accepted'
  | 'proposed'
  | 'rejected'
  | 'deprecated'
  | 'superseded'
  | 'draft'
  | 'unstated'
  | 'unrecognised';

/** A verbatim quote: `text` is `file.text.slice(start, end)`. */
export interface Span {
  text: string;
  start: number;
  end: number;
}

export interface DecisionDocument {
  path: string;
  /** Without the leading number or id; the readable file name where the document has none of its own. */
  title: string;
  /** The names people may use for it, most specific first; the title is not among them, and two documents may share one. */
  identifiers: string[];
  status: DocumentStatus;
  /** As written; empty when none is stated. */
  statusText: string;
  /** ISO date, absent where the text does not settle it. */
  decidedOn?: string;
  decidedOnText?: string;
  deciders: string[];
  /** What was decided, in the document's words: 1..500 UTF-16 units. */
  decision?: Span;
}

export type LinkKind = 'supersedes' | 'partially_supersedes' | 'amends';

/** A succession between two documents (paths); `statedBy` tells which of them says so. */
export interface DocumentLink {
  kind: LinkKind;
  newer: string;
  older: string;
  statedBy: ('newer' | 'older')[];
}

export type FindingKind =
  | 'one_sided_link'
  | 'dangling_link'
  | 'fork'
  | 'ring'
  | 'status_contradicts_links'
  | 'ambiguous_link'
  | 'ambiguous_status'
  | 'unrecognised_status'
  | 'duplicate_identifier'
  | 'unreadable_date';

/** What a person should look at. It never changes what was read. */
export interface Finding {
  kind: FindingKind;
  documents: string[];
  detail: string;
}

/** Documents joined by `supersedes`, oldest first, named after the first. */
export interface DecisionLine {
  name: string;
  documents: string[];
}

export interface DocumentSet {
  decisions: DecisionDocument[];
  skipped: { path: string; reason: string }[];
  links: DocumentLink[];
  findings: Finding[];
  lines: DecisionLine[];
}
