import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createSecretKey,
  hash,
  type KeyObject,
} from 'node:crypto';

export const [IV_BYTES, TAG_BYTES] = [12, 16];

/** The bytes of a key, `erased`, or undefined where it is not there. */
export type KeyOf = (id: string) => Uint8Array | 'erased' | undefined;

export interface Place {
  workspace: string;
  /** Event id; of a blob the SHA-256 of its text. */
  of: string;
  field: string;
}

/** One key from several: whoever lacks one of them has none. Undefined where one is missing, `erased` where one was destroyed. */
export function combined(ids: readonly string[], keyOf: KeyOf): ReturnType<KeyOf> {
  const keys = ids.map(keyOf);
  if (keys.includes('erased')) return 'erased';
  const [only] = keys;
  if (keys.length < 2) return only;
  const all = createHash('sha256');
  for (const key of keys) {
    if (key === undefined) return undefined;
    all.update(key);
  }
  return new Uint8Array(all.digest());
}

/** As long as the bytes are held: to import them for every text costs more than the cipher. */
const imported = new WeakMap<Uint8Array, KeyObject>();

function keyObjectOf(bytes: Uint8Array): KeyObject {
  let key = imported.get(bytes);
  if (!key) {
    key = createSecretKey(bytes);
    imported.set(bytes, key);
  }
  return key;
}

export function encrypt(
  key: Uint8Array,
  place: Place,
  plain: Uint8Array,
): { iv: Buffer; sealed: Buffer } {
  const aad = Buffer.from(JSON.stringify([place.workspace, place.of, place.field]));
  const digest = hash('sha256', Buffer.concat([key, aad, plain]), 'hex');
  const iv = Buffer.from(digest.slice(0, 2 * IV_BYTES), 'hex');
  const cipher = createCipheriv('aes-256-gcm', keyObjectOf(key), iv).setAAD(aad);
  const sealed = Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
  return { iv, sealed };
}

/** Undefined for what was sealed with another key or at another place, or was changed. */
export function decrypt(
  key: Uint8Array,
  place: Place,
  iv: Uint8Array,
  sealed: Uint8Array,
): Buffer | undefined {
  if (sealed.length < TAG_BYTES || iv.length !== IV_BYTES) return undefined;
  const aad = Buffer.from(JSON.stringify([place.workspace, place.of, place.field]));
  const end = sealed.length - TAG_BYTES;
  const decipher = createDecipheriv('aes-256-gcm', keyObjectOf(key), iv, {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(aad).setAuthTag(sealed.subarray(end));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(0, end)), decipher.final()]);
  } catch {
    return undefined;
  }
}
