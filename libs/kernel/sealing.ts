import { canonicalJson, derivedId, type Json } from './json.js';
import { Recent } from './recent.js';
import { invalid, Refusal } from './refusal.js';
import { combined, decrypt, encrypt, IV_BYTES, type KeyOf } from './sealing-cipher.js';

/**
 * Personal text at rest: AES-256-GCM under the keys of the subjects that it is about. A sealed JSON value is a string, a token:
 * `sealed:1:<workspace>:<key ids joined by +>:<event id>:<field>:<iv>:<ciphertext and tag>`, the last two in base64url. Workspace,
 * event and field are authenticated with it. The same value at the same place gives the same token, so that a retry repeats its bytes.
 */
const MARK = 'sealed:1:';
const QUOTED_MARK = `"${MARK}`;
const PARTS = 8;

/** Shown in place of text whose key was destroyed, and of text whose key this reader does not have. */
export const ERASED = '[erased]';
export const SEALED = '[sealed]';

/** True for what stands in place of a text that cannot be read. */
export function isHidden(value: unknown): boolean {
  return value === ERASED || value === SEALED;
}

/** Id of the key of a subject: a declared one, a source that has none, or `principal/<id>`, which nobody can declare. */
export function subjectKey(workspace: string, subject: string): string {
  const id = derivedId('subject-key', workspace, subject).replaceAll('-', '');
  return `k_${id.slice(0, 24)}`;
}

/**
 * Id of the key of who acts. In the scope of a workspace it seals words of his for which an event names no key; in that of his
 * organisation what is recorded of himself, which belongs to no one workspace. An erasure of him destroys all of them.
 */
export function principalKey(scope: string, principal: string): string {
  return subjectKey(scope, `principal/${principal}`);
}

/** Where a vocabulary says that an event's data holds personal text: names joined by dots, `*` for every item of a list. */
export type PersonalFields = readonly string[];

export interface Personal {
  /** Text of the subjects whose keys the event names. */
  personal: PersonalFields;
  /** Words of who acts, about those subjects. */
  remarks: PersonalFields;
}

/** Visits each personal value with the ids in the nearest member `keys` around it, and puts what `visit` returns in its place. */
function mapped(
  data: Json,
  fields: PersonalFields,
  visit: (value: Json, field: string, keys: readonly string[]) => Json,
): Json {
  const step = (
    node: Json,
    path: readonly string[],
    trail: string,
    keys: readonly string[],
  ): Json => {
    const [name, ...rest] = path;
    if (name === undefined) return visit(node, trail, keys);
    if (typeof node !== 'object' || node === null) return node;
    const place = (part: string): string => (trail === '' ? part : `${trail}.${part}`);
    if (Array.isArray(node))
      return name === '*' ? node.map((item, i) => step(item, rest, place(String(i)), keys)) : node;
    const item = node[name];
    const own = Array.isArray(node['keys']) ? (node['keys'] as string[]) : keys;
    return item === undefined ? node : { ...node, [name]: step(item, rest, place(name), own) };
  };
  return fields.reduce((all, field) => step(all, field.split('.'), '', []), data);
}

/** Ids of all keys that an event names beside its personal fields. */
export function keysNamed(data: Json, { personal, remarks }: Personal): string[] {
  const named = new Set<string>();
  mapped(data, [...personal, ...remarks], (value, _field, keys) => {
    for (const key of keys) named.add(key);
    return value;
  });
  return [...named];
}

export interface SealedEvent {
  workspace: string;
  /** Event id. */
  id: string;
  /**
   * Key of who acts: for text of which the event names no key, and for remarks on what was erased. Once it was destroyed `[erased]` is
   * stored instead: work that he had begun goes on without his words.
   */
  actor: string;
}

/**
 * Canonical JSON of an event's data with every personal value sealed. Keys that were not destroyed must be there. Refuses text of a
 * subject that was erased (`subject_erased`), and data that has a token itself: whoever reads it would be shown what somebody else may
 * not see.
 */
export function sealedPayload(
  data: Json,
  { personal, remarks }: Personal,
  { workspace, id, actor }: SealedEvent,
  keyOf: KeyOf,
): string {
  let tokens = 0;
  const seal = (value: Json, field: string, ids: readonly string[]): string => {
    const key = combined(ids, keyOf);
    if (key === 'erased') throw subjectErased();
    if (key === undefined) throw new Error(`no key of ${ids.join('+')}`);
    const place = { workspace, of: id, field };
    const { iv, sealed: text } = encrypt(key, place, Buffer.from(canonicalJson(value)));
    tokens += 1;
    const parts = [ids.join('+'), id, field, iv.toString('base64url'), text.toString('base64url')];
    return `${MARK}${workspace}:${parts.join(':')}`;
  };
  const own = (value: Json, field: string): string =>
    keyOf(actor) === 'erased' ? ERASED : seal(value, field, [actor]);
  const said = mapped(data, personal, (value, field, ids) =>
    ids.length === 0 ? own(value, field) : seal(value, field, ids),
  );
  const sealed = mapped(said, remarks, (value, field, ids) =>
    combined(ids, keyOf) instanceof Uint8Array ? seal(value, field, ids) : own(value, field),
  );
  const payload = canonicalJson(sealed);
  assertNoFurtherTokens(payload, tokens);
  return payload;
}

/** As `sealedPayload`, for a ledger without keys. */
export function plainPayload(data: Json): string {
  const payload = canonicalJson(data);
  assertNoFurtherTokens(payload, 0);
  return payload;
}

function subjectErased(): Refusal {
  return new Refusal('conflict', 'subject_erased', 'what this tells of was erased meanwhile', {
    fix: 'ask or propose anew: nothing that was erased is taken again',
  });
}

function assertNoFurtherTokens(payload: string, tokens: number): void {
  let found = 0;
  for (let at = payload.indexOf(QUOTED_MARK); at >= 0; at = payload.indexOf(QUOTED_MARK, at + 1))
    found += 1;
  if (found > tokens)
    throw invalid('', `holds a text that begins with ${MARK}, which is reserved`, 'rephrase it');
}

/**
 * Where the first token of a payload belongs that was sealed for another event, as `<workspace>:<event id>`. Moved, it would be opened
 * for whoever may read the event in which it stands: what a token says of its place is authenticated, and only this compares it with
 * where it is. Needs no key.
 */
export function foreignToken(
  payload: string,
  { workspace, id }: { workspace: string; id: string },
): string | undefined {
  for (let at = payload.indexOf(QUOTED_MARK); at >= 0; at = payload.indexOf(QUOTED_MARK, at + 1)) {
    // Inside of a string that merely quotes one.
    if (payload.charCodeAt(at - 1) === BACKSLASH) continue;
    const parts = payload.slice(at + 1, payload.indexOf('"', at + 1)).split(':');
    const [, , from, , of] = parts;
    if (parts.length === PARTS && (from !== workspace || of !== id)) return `${from}:${of}`;
  }
  return undefined;
}

interface Opened {
  /** JSON text. */
  json: string;
  /** Those that opened it. */
  keys: readonly string[];
}

/** Opened tokens that are kept, twice as many at most. */
const KEPT = 25_000;
/** Longer ones are opened each time. */
const KEPT_LENGTH = 4_000;
/** The end of a token, most of its authentication tag: no two tokens share it. */
const NAME_LENGTH = 20;

/** Opens tokens where texts are read. Keeps what it opened until `forget`. */
export class Opener {
  private readonly kept = new Recent<Opened>(KEPT);
  private collected: Set<string> | undefined;

  constructor(private readonly keyOf: KeyOf) {}

  /** JSON text with every token in it replaced by what it holds. */
  json(text: string): string {
    let at = text.indexOf(QUOTED_MARK);
    if (at < 0) return text;
    let opened = '';
    let from = 0;
    while (at >= 0) {
      const end = text.indexOf('"', at + QUOTED_MARK.length);
      // Inside of a string that merely quotes one.
      if (text.charCodeAt(at - 1) === BACKSLASH || end < 0) opened += text.slice(from, at + 1);
      else opened += text.slice(from, at) + this.token(text.slice(at + 1, end));
      from = text.charCodeAt(at - 1) === BACKSLASH || end < 0 ? at + 1 : end + 1;
      at = text.indexOf(QUOTED_MARK, from);
    }
    return opened + text.slice(from);
  }

  /** A column of a read model: a token by itself, JSON text that may hold some, or any other text. */
  column(text: string): string {
    if (!text.includes(MARK)) return text;
    if (!text.startsWith(MARK)) return this.json(text);
    const value = JSON.parse(this.token(text)) as Json;
    return typeof value === 'string' ? value : JSON.stringify(value);
  }

  /** Runs `work` and says of which keys it has opened texts, sorted. Not for work that waits. */
  collecting<T>(work: () => T): { result: T; keys: string[] } {
    const before = this.collected;
    const mine = new Set<string>();
    this.collected = mine;
    try {
      const result = work();
      return { result, keys: [...mine].sort() };
    } finally {
      this.collected = before;
      for (const key of mine) before?.add(key);
    }
  }

  /** Counts keys as used by the work that is collecting them: what they opened was kept by somebody else. */
  used(keys: readonly string[]): void {
    for (const key of keys) this.collected?.add(key);
  }

  /** Drops everything that was opened: keys were destroyed. */
  forget(): void {
    this.kept.clear();
  }

  private token(token: string): string {
    const name = token.slice(-NAME_LENGTH);
    const kept = this.kept.get(name);
    const { json, keys } = kept ?? this.open(token);
    for (const key of keys) this.collected?.add(key);
    return json;
  }

  private open(token: string): Opened {
    const parts = token.split(':');
    const [, , workspace = '', ids = '', of = '', field = '', iv = '', sealed = ''] = parts;
    const keys = ids.split('+');
    const key = parts.length === PARTS ? combined(keys, this.keyOf) : undefined;
    if (key === 'erased') return { json: `"${ERASED}"`, keys: [] };
    const bytes = Buffer.from(sealed, 'base64url');
    const plain =
      key && decrypt(key, { workspace, of, field }, Buffer.from(iv, 'base64url'), bytes);
    if (!plain) return { json: `"${SEALED}"`, keys: [] };
    const opened = { json: plain.toString('utf8'), keys };
    if (token.length <= KEPT_LENGTH) this.kept.set(token.slice(-NAME_LENGTH), opened);
    return opened;
  }
}

const BACKSLASH = 92;

/** Shows tokens as `[sealed]`: for readers that have no keys. */
export const WITHOUT_KEYS = new Opener(() => undefined);

/** First line of a sealed blob: what it is, its workspace and keys; IV, ciphertext and tag follow. */
const BLOB_MARK = 'precedent-sealed:1:';
const NEWLINE = 10;

/** The bytes to be stored of a text; `sha256` is that of the text. Keys must be there. */
export function sealedText(
  text: { bytes: Uint8Array; sha256: string },
  workspace: string,
  ids: readonly string[],
  keyOf: KeyOf,
): Uint8Array {
  const key = combined(ids, keyOf);
  if (key === undefined || key === 'erased') throw new Error(`no key of ${ids.join('+')}`);
  const place = { workspace, of: text.sha256, field: 'text' };
  const { iv, sealed } = encrypt(key, place, text.bytes);
  const head = Buffer.from(`${BLOB_MARK}${workspace}:${ids.join('+')}:${text.sha256}\n`);
  return Buffer.concat([head, iv, sealed]);
}

/** The text of a sealed blob; `erased`, or undefined where a key is missing or the bytes are no such blob. */
export function openedText(stored: Uint8Array, keyOf: KeyOf): Uint8Array | 'erased' | undefined {
  const end = stored.indexOf(NEWLINE);
  const head = Buffer.from(stored.subarray(0, Math.max(end, 0))).toString('utf8');
  if (!head.startsWith(BLOB_MARK)) return undefined;
  const [workspace = '', ids = '', of = ''] = head.slice(BLOB_MARK.length).split(':');
  const key = combined(ids.split('+'), keyOf);
  if (key === undefined || key === 'erased') return key;
  const from = end + 1 + IV_BYTES;
  const place = { workspace, of, field: 'text' };
  return decrypt(key, place, stored.subarray(end + 1, from), stored.subarray(from));
}
