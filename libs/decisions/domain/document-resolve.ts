import { foldName } from '#kernel/text.js';
import type { ReadDocument } from './document.js';
import {
  idOfStem,
  isRecordPrefix,
  stemOf,
  type Mention,
  type RecordId,
} from './document-references.js';
import { shown } from './document-text.js';

/** What a mention means within a set. */
export type Resolution =
  | { kind: 'found'; path: string; dangling?: string }
  | { kind: 'several'; paths: string[] }
  /** `record`: the mention plainly means a record that is not here, rather than anything else. */
  | { kind: 'missing'; record: boolean; why: string };

/** Finds the documents that mentions mean: by path, else by file name, else by anchor, number or title. Nothing is guessed. */
export class DocumentIndex {
  private readonly skipped: ReadonlyMap<string, string>;
  private readonly byPath = new Map<string, ReadDocument>();
  private readonly byStem = new Map<string, ReadDocument[]>();
  private readonly byAnchor = new Map<string, ReadDocument[]>();
  private readonly byNumber = new Map<string, ReadDocument[]>();
  private readonly byTitle = new Map<string, ReadDocument[]>();
  private readonly bySpace = new Map<string, ReadDocument[]>();
  private readonly linked = new Map<ReadDocument, ReadonlySet<ReadDocument>>();
  private readonly prefixes = new Set<string>();
  /** The prefixes each directory's series uses; `''` for bare numbers. */
  private readonly series = new Map<string, Set<string>>();

  /** `skipped` maps the paths that are no decisions to the reason. */
  constructor(documents: readonly ReadDocument[], skipped: ReadonlyMap<string, string>) {
    this.skipped = skipped;
    for (const document of documents) {
      const { names } = document;
      this.byPath.set(document.document.path.toLowerCase(), document);
      add(this.byStem, names.stem.toLowerCase(), document);
      add(this.byTitle, foldName(names.title), document);
      if (names.anchor !== undefined) add(this.byAnchor, names.anchor, document);
      for (const number of new Set(names.ids.map((id) => id.number)))
        add(this.byNumber, number, document);
      for (const name of document.document.identifiers)
        if (name.includes('/')) add(this.bySpace, name.toLowerCase(), document);
      const series = this.series.get(names.directory) ?? new Set();
      this.series.set(names.directory, series);
      for (const { prefix } of names.ids) {
        series.add(prefix);
        this.prefixes.add(prefix);
      }
    }
  }

  resolve(mention: Mention, from: ReadDocument): Resolution {
    const target = mention.href === undefined ? undefined : this.byTarget(mention.href, from);
    const named = target?.documents.length ? target.documents : this.byName(mention, from);
    const fitting = named.length > 1 ? this.byEvidence(named, mention, from) : named;
    if (fitting.length > 1) return { kind: 'several', paths: fitting.map(pathOf).sort() };
    const [only] = fitting;
    if (only === undefined) return this.missing(mention, from);
    const dangling = isPlace(mention.href) && target?.exact !== true ? mention.href : undefined;
    return { kind: 'found', path: pathOf(only), ...(dangling === undefined ? {} : { dangling }) };
  }

  /** The documents that the links of `one` lead to, wherever they stand in its text. */
  private linkedFrom(one: ReadDocument): ReadonlySet<ReadDocument> {
    const known = this.linked.get(one);
    if (known !== undefined) return known;
    const linked = new Set(
      one.hrefs.flatMap((href) => {
        const { documents } = this.byTarget(href, one);
        return documents.length === 1 ? documents : [];
      }),
    );
    this.linked.set(one, linked);
    return linked;
  }

  /** The documents whose path or anchor a link's target is (`exact`), or whose file name it ends with. */
  private byTarget(href: string, from: ReadDocument): Target {
    const anchor = /^@ref\/([\w-]+)/.exec(href)?.[1];
    if (anchor !== undefined) return exactly(this.byAnchor.get(anchor));
    const target = placeOf(href);
    if (target === '') return NOWHERE;
    if (isAbsolute(target)) return exactly(this.byAddress(target));
    const path = joined(from.names.directory, target).toLowerCase();
    for (const candidate of [path, `${path}.md`]) {
      const document = this.byPath.get(candidate);
      if (document !== undefined) return exactly([document]);
      if (this.skipped.has(candidate)) return NOWHERE;
    }
    return this.byFileName(target, path, from);
  }

  private byFileName(target: string, path: string, from: ReadDocument): Target {
    const spaced = this.bySpace.get(target.toLowerCase());
    if (spaced !== undefined) return exactly(spaced);
    const name = path.slice(path.lastIndexOf('/') + 1);
    const same = this.byStem.get(name);
    // A bare file name without its extension claims no place, and so cannot be wrong about it.
    if (same !== undefined && name === target.toLowerCase()) return exactly(nearest(same, from));
    return { documents: nearest(same ?? this.byStem.get(stemOf(path)) ?? [], from), exact: false };
  }

  /** The document whose whole path ends an absolute address: the same folder seen through a web page. */
  private byAddress(address: string): ReadDocument[] {
    const path = address.replace(/^[a-z][a-z0-9+.-]*:\/*/i, '').toLowerCase();
    const parts = path.split('/').slice(0, DEEPEST);
    for (let i = 1; i < parts.length; i += 1) {
      const document = this.byPath.get(parts.slice(i).join('/'));
      if (document !== undefined) return [document];
    }
    return [];
  }

  private byName(mention: Mention, from: ReadDocument): ReadDocument[] {
    const target = mention.href === undefined ? undefined : placeOf(mention.href);
    if (target !== undefined && isAbsolute(target)) return [];
    const directory = this.directoryOf(target, from);
    const ids = [target === undefined ? undefined : idOfStem(stemOf(target)), mention.id];
    for (const id of ids) {
      const matching = id === undefined ? [] : this.byId(id, directory);
      if (matching.length > 0) return matching;
    }
    return mention.id === undefined ? (this.byTitle.get(foldName(mention.label)) ?? []) : [];
  }

  private directoryOf(target: string | undefined, from: ReadDocument): string {
    if (target === undefined || !target.includes('/')) return from.names.directory;
    const path = joined(from.names.directory, target);
    const directory = path.slice(0, Math.max(0, path.lastIndexOf('/')));
    return this.series.has(directory) ? directory : from.names.directory;
  }

  /** In the directory by prefix and number, or by number where one side has no prefix; elsewhere by both, if the series is not this directory's. */
  private byId({ prefix, number }: RecordId, directory: string): ReadDocument[] {
    const numbered = this.byNumber.get(number) ?? [];
    const near = numbered.filter(({ names }) => names.directory === directory);
    const hasPrefix = ({ names }: ReadDocument): boolean =>
      names.ids.some((id) => id.number === number && id.prefix === prefix);
    const exact = prefix === '' ? [] : near.filter(hasPrefix);
    if (exact.length > 0) return exact;
    const loose = near.filter(({ names }) => names.ids.every((id) => id.prefix === ''));
    if (prefix === '') return near;
    if (loose.length > 0 && isRecordPrefix(prefix)) return loose;
    const series = this.series.get(directory);
    const own = series?.has(prefix) === true || (series?.has('') === true && prefix === 'adr');
    return own ? [] : numbered.filter(hasPrefix);
  }

  /** Of several documents of one name: another than the one that speaks; the one whose title stands beside it; the one that links back. */
  private byEvidence(
    candidates: readonly ReadDocument[],
    mention: Mention,
    from: ReadDocument,
  ): readonly ReadDocument[] {
    const others = candidates.filter((candidate) => candidate !== from);
    if (others.length === 1) return others;
    const label = foldName(mention.label);
    const titled = others.filter(({ names }) => label.endsWith(foldName(names.title)));
    if (titled.length === 1) return titled;
    const back = others.filter((candidate) => this.linkedFrom(candidate).has(from));
    return back.length === 1 ? back : candidates;
  }

  private missing({ href, label, id }: Mention, from: ReadDocument): Resolution {
    const written = shown(href ?? label);
    const path = href === undefined ? '' : joined(from.names.directory, placeOf(href));
    const reason = this.skipped.get(path.toLowerCase());
    if (reason !== undefined)
      return { kind: 'missing', record: true, why: `${written} is no decision record (${reason})` };
    const file = !isAbsolute(href ?? '') && /\.(?:md|markdown|mdx)$/i.test(path);
    const record = file || href?.startsWith('@ref/') === true || this.isRecordId(id);
    return { kind: 'missing', record, why: `${written} is not in the set` };
  }

  private isRecordId(id: RecordId | undefined): boolean {
    if (id === undefined || id.prefix === '') return false;
    return isRecordPrefix(id.prefix) || this.prefixes.has(id.prefix);
  }
}

interface Target {
  documents: readonly ReadDocument[];
  exact: boolean;
}

const NOWHERE: Target = { documents: [], exact: false };
const DEEPEST = 64;

function exactly(documents: readonly ReadDocument[] = []): Target {
  return { documents, exact: true };
}

function nearest(documents: readonly ReadDocument[], from: ReadDocument): readonly ReadDocument[] {
  const near = documents.filter(({ names }) => names.directory === from.names.directory);
  return near.length > 0 ? near : documents;
}

function add<T>(index: Map<string, T[]>, key: string, value: T): void {
  const values = index.get(key);
  if (values === undefined) index.set(key, [value]);
  else if (!values.includes(value)) values.push(value);
}

function pathOf({ document }: ReadDocument): string {
  return document.path;
}

function isAbsolute(target: string): boolean {
  return /^(?:[a-z][a-z0-9+.-]*:|\/\/)/i.test(target);
}

/** Whether a link's target claims to be a place, as `#section` does not. */
function isPlace(href: string | undefined): href is string {
  return href !== undefined && placeOf(href) !== '';
}

/** A link's target without query and fragment. */
function placeOf(href: string): string {
  return decoded(href).replace(/[?#].*$/s, '');
}

function decoded(href: string): string {
  try {
    return decodeURI(href);
  } catch {
    return href;
  }
}

/** `target` seen from `directory`, without `.` and `..`; a leading `/` is the folder's root. */
function joined(directory: string, target: string): string {
  const parts = target.startsWith('/') ? [] : directory.split('/').filter((part) => part !== '');
  for (const part of target.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return parts.join('/');
}
