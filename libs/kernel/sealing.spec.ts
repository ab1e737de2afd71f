import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { proved } from '../../test/support/proved.js';
import { canonicalJson, MAX_DEPTH, sha256, type Json } from './json.js';
import { Refusal } from './refusal.js';
import {
  ERASED,
  foreignToken,
  keysNamed,
  openedText,
  Opener,
  plainPayload,
  SEALED,
  sealedPayload,
  sealedText,
  subjectKey,
  WITHOUT_KEYS,
} from './sealing.js';
import type { KeyOf } from './sealing-cipher.js';

const [s1, s2, ada] = ['s1', 's2', 'principal:ada'].map((s) => subjectKey('w', s)) as [
  string,
  string,
  string,
];

/** Keys that tests can make again; `gone` are destroyed, `lost` are not there. */
function vault({ gone = [], lost = [] }: { gone?: string[]; lost?: string[] } = {}): KeyOf {
  return (id) => {
    if (gone.includes(id)) return 'erased';
    return lost.includes(id) ? undefined : new Uint8Array(createHash('sha256').update(id).digest());
  };
}

const place = { workspace: 'w', id: 'e-1', actor: ada };
const fields = { personal: ['said', 'quotes.*.words', 'parts.*.value'], remarks: ['reason'] };
const open = (payload: string, keyOf: KeyOf = vault()): unknown =>
  JSON.parse(new Opener(keyOf).json(payload));

const event = {
  id: 'x.1',
  keys: [s1],
  said: 'Zyxq Personne 4711',
  quotes: [{ words: 'one "quoted"' }, { words: 'zwei\n' }],
  parts: [{ keys: [s2], value: { deep: ['of s2'] } }, { value: null }],
  reason: 'because',
};

describe('a sealed event', () => {
  const payload = sealedPayload(event, fields, place, vault());

  it('B48: holds none of the text, in no encoding, and all of it for who has the keys', () => {
    for (const text of ['Zyxq', 'Personne', 'quoted', 'zwei', 'of s2', 'because']) {
      expect(payload).not.toContain(text);
      expect(payload).not.toContain(Buffer.from(text).toString('base64').slice(0, -2));
      expect(payload).not.toContain(Buffer.from(text).toString('hex'));
    }
    expect(open(payload)).toEqual(event);
    expect(canonicalJson(JSON.parse(payload))).toBe(payload);
  });

  it('a retry gives the same bytes; another event, field or workspace gives others', () => {
    expect(sealedPayload(event, fields, place, vault())).toBe(payload);
    const twice = { keys: [s1], said: 'same', reason: 'same' };
    const tokens = [place, { ...place, id: 'e-2' }, { ...place, workspace: 'v' }].flatMap((p) =>
      Object.values(JSON.parse(sealedPayload(twice, fields, p, vault())) as object),
    );
    const texts = tokens.filter((t) => typeof t === 'string');
    expect(new Set(texts).size).toBe(6);
  });

  it('the nearest `keys` seal: a part of another subject has its own', () => {
    const without1 = open(payload, vault({ gone: [s1] })) as typeof event;
    expect(without1.said).toBe(ERASED);
    expect(without1.parts).toEqual([{ keys: [s2], value: { deep: ['of s2'] } }, { value: ERASED }]);
    const without2 = open(payload, vault({ gone: [s2] })) as typeof event;
    expect(without2).toEqual({ ...event, parts: [{ keys: [s2], value: ERASED }, { value: null }] });
    expect(keysNamed(event, fields).sort()).toEqual([s1, s2].sort());
  });

  it('without keys it is shown as sealed, and nothing fails', () => {
    expect((open(payload, () => undefined) as typeof event).said).toBe(SEALED);
    expect(JSON.parse(WITHOUT_KEYS.json(payload))).toMatchObject({ said: SEALED, id: 'x.1' });
    const others: KeyOf = () => new Uint8Array(32);
    expect((open(payload, others) as typeof event).said).toBe(SEALED);
  });

  it('several keys are one: either of them erases', () => {
    const both = sealedPayload({ ...event, keys: [s1, s2] }, fields, place, vault());
    expect(open(both)).toMatchObject({ said: event.said });
    for (const gone of [[s1], [s2]])
      expect(open(both, vault({ gone }))).toMatchObject({ said: ERASED });
  });

  it('text without keys is sealed with that of who acts', () => {
    const { keys: _keys, ...bare } = event;
    const sealed = sealedPayload(bare, fields, place, vault());
    expect(open(sealed, vault({ gone: [ada] }))).toMatchObject({ said: ERASED, reason: ERASED });
    expect(open(sealed, vault({ gone: [s1] }))).toMatchObject({ said: event.said });
  });

  it('of an erased subject no further text is sealed, but what is remarked on it', () => {
    const gone = vault({ gone: [s1] });
    expect(refusalOf(() => sealedPayload(event, fields, place, gone))?.error).toBe(
      'subject_erased',
    );
    const remark = sealedPayload({ keys: [s1], reason: 'asked for' }, fields, place, gone);
    expect(open(remark, gone)).toEqual({ keys: [s1], reason: 'asked for' });
    expect(remark).toContain(ada);
  });

  it('P4: a token that was moved to another event or workspace is told without keys', () => {
    expect(foreignToken(payload, place)).toBeUndefined();
    expect(foreignToken(payload, { ...place, id: 'e-2' })).toBe('w:e-1');
    expect(foreignToken(payload, { ...place, workspace: 'v' })).toBe('w:e-1');
    const { said } = JSON.parse(payload) as typeof event;
    const quoted = canonicalJson({ topic: `"${said}"` });
    expect(foreignToken(quoted, { ...place, id: 'e-2' })).toBeUndefined();
  });

  it('any change of a token hides it: nothing else is ever shown', () => {
    const token = (JSON.parse(payload) as typeof event).said;
    let [changed, caught] = [0, 0];
    for (let at = 0; at < token.length; at += 1) {
      for (const by of ['A', 'B', '7', '_']) {
        if (token[at] === by) continue;
        const other = token.slice(0, at) + by + token.slice(at + 1);
        const shown = open(JSON.stringify({ said: other })) as { said: string };
        changed += 1;
        // Base64 without padding has unused bits at its end: the same bytes may be spelled in several ways.
        const same = at === token.length - 1 && shown.said === event.said;
        if (shown.said === SEALED || shown.said === other || same) caught += 1;
      }
    }
    proved('tokens of sealed text, one character changed', { changed, caught });
    expect(caught).toBe(changed);
  });
});

describe('text that somebody hands in', () => {
  const token = (JSON.parse(sealedPayload(event, fields, place, vault())) as typeof event).said;

  it('B39: a token in clear text is refused, so that nobody has it opened for him', () => {
    const asName = (): string => sealedPayload({ ...event, id: token }, fields, place, vault());
    expect(asName).toThrow(Refusal);
    expect(() => plainPayload({ topic: [token] })).toThrow(Refusal);
    expect(() => plainPayload({ [token]: 1 })).toThrow(Refusal);
    expect(() => plainPayload({ topic: `see ${token}` })).not.toThrow();
  });

  it('inside of personal text it is text like any other', () => {
    const said = `"${token}" and ${token}`;
    const payload = sealedPayload({ keys: [s1], said }, fields, place, vault());
    expect(open(payload)).toEqual({ keys: [s1], said });
    const own = sealedPayload({ keys: [s1], said: token }, fields, place, vault());
    expect(open(own)).toEqual({ keys: [s1], said: token });
  });

  it('quoted in clear text it is shown as it is', () => {
    const text = plainPayload({ topic: `x ${token}` });
    expect(open(text)).toEqual({ topic: `x ${token}` });
  });

  it('B45: any JSON value comes back as it was', () => {
    let values = 0;
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
        const said = JSON.parse(JSON.stringify(value)) as Json;
        if (!canSeal(said)) return;
        const payload = sealedPayload({ keys: [s1], said }, fields, place, vault());
        expect(open(payload)).toEqual({ keys: [s1], said });
        values += 1;
      }),
      { numRuns: 500 },
    );
    expect(MAX_DEPTH).toBeGreaterThan(6);
    proved('JSON values sealed and opened', { values });
  });
});

function refusalOf(work: () => unknown): Refusal | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    return error instanceof Refusal ? error : undefined;
  }
}

function canSeal(value: Json): boolean {
  try {
    canonicalJson(value);
    return true;
  } catch {
    return false;
  }
}

describe('columns of read models', () => {
  const opener = new Opener(vault());
  const payload = sealedPayload(event, fields, place, vault());
  const { said, parts } = JSON.parse(payload) as typeof event;

  it('a token by itself is its text, or the JSON text of what is no text', () => {
    expect(opener.column(said)).toBe(event.said);
    expect(opener.column(parts[0]?.value as unknown as string)).toBe('{"deep":["of s2"]}');
    expect(opener.column('nothing of that kind')).toBe('nothing of that kind');
    expect(JSON.parse(opener.column(JSON.stringify({ a: [said] })))).toEqual({ a: [event.said] });
  });

  it('says with which keys sealed what was read, again from what it keeps', () => {
    for (let turn = 0; turn < 2; turn += 1) {
      const read = opener.collecting(() => opener.json(payload));
      expect(read.keys).toEqual([s1, s2].sort());
    }
    expect(opener.collecting(() => opener.column('clear')).keys).toEqual([]);
  });

  it('B48: after an erasure nothing that it kept is shown', () => {
    const gone: string[] = [];
    const lasting = new Opener((id) => vault({ gone })(id));
    expect(lasting.column(said)).toBe(event.said);
    gone.push(s1);
    lasting.forget();
    expect(lasting.column(said)).toBe(ERASED);
  });
});

describe('a sealed text', () => {
  const bytes = new TextEncoder().encode('Zyxq Personne 4711 said so\n'.repeat(50));
  const text = { bytes, sha256: sha256(bytes) };
  const stored = sealedText(text, 'w', [s1, s2], vault());

  it('B48: comes back for who has all keys, and for nobody else', () => {
    expect(Buffer.from(stored).includes('Zyxq')).toBe(false);
    expect(Buffer.from(openedText(stored, vault()) as Uint8Array)).toEqual(Buffer.from(bytes));
    expect(openedText(stored, vault({ gone: [s2] }))).toBe('erased');
    expect(openedText(stored, vault({ lost: [s1] }))).toBeUndefined();
    expect(openedText(bytes, vault())).toBeUndefined();
  });

  it('the same text is the same blob, so that storing it again adds nothing', () => {
    expect(sealedText(text, 'w', [s1, s2], vault())).toEqual(stored);
    expect(sealedText(text, 'v', [s1, s2], vault())).not.toEqual(stored);
  });

  it('one changed bit anywhere, and it is not opened', () => {
    let [flipped, caught] = [0, 0];
    for (let at = 0; at < stored.length; at += 7) {
      const other = new Uint8Array(stored);
      other[at] = (other[at] ?? 0) ^ (1 << (at % 8));
      flipped += 1;
      if (openedText(other, vault()) === undefined) caught += 1;
    }
    proved('bits of sealed texts flipped', { flipped, caught });
    expect(caught).toBe(flipped);
  });
});
