import { describe, expect, it } from '@jest/globals';
import { sha256 } from '#kernel/json.js';
import { t } from '#kernel/schema.js';
import { ERASED, principalKey, subjectKey } from '#kernel/sealing.js';
import { codec } from '#kernel/vocabulary.js';
import { MemoryKeys } from './key-vault.js';
import { MemoryStore } from './memory.js';
import { Sealing } from './sealing.js';
import { Streams, type Origin } from './streams.js';

const keys = t.Optional(t.Array(t.String()));
const notes = codec({
  Said: {
    version: 1,
    schema: t.Object({ id: t.String(), text: t.String(), keys }),
    personal: ['text'],
  },
  Remarked: {
    version: 1,
    schema: t.Object({ text: t.String(), keys }),
    remarks: ['text'],
  },
});
type Note = NonNullable<ReturnType<typeof notes.decode>>;
const kind = {
  codec: notes,
  decider: {
    initial: (): string[] => [],
    decide: (note: Note): readonly Note[] => [note],
    evolve: (all: string[], { data }: Note) => [...all, data.text],
  },
};

const s1 = subjectKey('w', 's1');
const said = (text: string, by: string[] = [s1]): Note => ({
  type: 'Said',
  data: { id: 'x', text, keys: by },
});
const origin = (command: string): Origin => ({
  workspace: 'w',
  actor: { principal: 'ada', kind: 'person', credential: null },
  command,
  correlation: command,
});

function ledger() {
  const store = new MemoryStore(() => 1_000);
  const sealing = new Sealing(new MemoryKeys());
  const open = (sealed = sealing): Streams => new Streams(store, undefined, sealed);
  return { store, sealing, open, streams: open() };
}

const payloads = (store: MemoryStore): string => store.log.events.map((e) => e.payload).join('\n');

describe('streams that seal', () => {
  it('B48: store no word of it, and fold it as if nothing were sealed', async () => {
    const { store, streams, open } = ledger();
    const done = await streams.execute(kind, 'n', said('Zyxq'), origin('c-1'));
    expect(done.state).toEqual(['Zyxq']);
    expect(payloads(store)).not.toContain('Zyxq');
    expect((await open().load(kind, 'n')).state).toEqual(['Zyxq']);
  });

  it('P2: a retry has the same bytes, so that the store knows it again', async () => {
    const { store, sealing, streams } = ledger();
    await streams.execute(kind, 'n', said('Zyxq'), origin('c-1'));
    const other = new MemoryStore(() => 1_000);
    const again = new Streams(other, undefined, sealing);
    await again.execute(kind, 'n', said('Zyxq'), origin('c-1'));
    expect(other.log.events).toEqual(store.log.events);
  });

  it('read what was stored before anything was sealed', async () => {
    const { store, open } = ledger();
    await open(new Sealing(undefined)).execute(kind, 'n', said('clear', []), origin('c-1'));
    expect(payloads(store)).toContain('clear');
    const done = await open().execute(kind, 'n', said('Zyxq'), origin('c-2'));
    expect(done.state).toEqual(['clear', 'Zyxq']);
  });

  it('B48: forget at once what was erased, take no more of it, and keep what is remarked on it', async () => {
    const { sealing, streams } = ledger();
    await streams.execute(kind, 'n', said('Zyxq'), origin('c-1'));
    await sealing.destroy(s1);
    expect((await streams.load(kind, 'n')).state).toEqual([ERASED]);
    await expect(
      streams.execute(kind, 'n', said('Zyxq again'), origin('c-2')),
    ).rejects.toMatchObject({ error: 'subject_erased' });
    const remark: Note = { type: 'Remarked', data: { text: 'asked for', keys: [s1] } };
    const done = await streams.execute(kind, 'n', remark, origin('c-3'));
    expect(done.state).toEqual([ERASED, 'asked for']);
  });

  it('B48: what somebody began who was erased himself goes on without his words', async () => {
    const { store, sealing, open, streams } = ledger();
    await streams.execute(kind, 'n', said('mine', []), origin('c-1'));
    await sealing.destroy(principalKey('w', 'ada'));
    await streams.execute(kind, 'n', said('Zyxq', []), origin('c-2'));
    await streams.execute(
      kind,
      'n',
      { type: 'Remarked', data: { text: 'Zyxq', keys: [] } },
      origin('c-3'),
    );
    await streams.execute(kind, 'n', said('of another', [s1]), origin('c-4'));
    const { state } = await open().load(kind, 'n');
    expect(state).toEqual([ERASED, ERASED, ERASED, 'of another']);
    expect(payloads(store)).not.toContain('Zyxq');
  });

  it('B39: a token in clear text is refused before anything is stored', async () => {
    const { store, streams } = ledger();
    await streams.execute(kind, 'n', said('Zyxq'), origin('c-1'));
    const { text } = JSON.parse(store.log.events[0]?.payload ?? '{}') as { text: string };
    const asId: Note = { type: 'Said', data: { id: text, text: 'x', keys: [s1] } };
    await expect(streams.execute(kind, 'm', asId, origin('c-2'))).rejects.toMatchObject({
      kind: 'invalid',
    });
    expect(store.log.events).toHaveLength(1);
    const asText = await streams.execute(kind, 'm', said(text), origin('c-3'));
    expect(asText.state).toEqual([text]);
  });
});

describe('sealed texts', () => {
  const bytes = new TextEncoder().encode('Zyxq said so');
  const text = { bytes, sha256: sha256(bytes) };

  it('are stored under the hash of what is stored, and found by it', async () => {
    const { store, sealing } = ledger();
    await sealing.ensure([s1]);
    const { stored, name } = sealing.text('w', [s1], text);
    await store.putBlobs([stored]);
    expect(name).toEqual({ sha256: text.sha256, blob: sha256(stored.bytes) });
    expect(Buffer.from((await sealing.read(store, name)) as Uint8Array).toString()).toBe(
      'Zyxq said so',
    );
    expect(await sealing.read(store, { sha256: text.sha256 })).toBeUndefined();
    await sealing.destroy(s1);
    expect(await sealing.read(store, name)).toBe('erased');
  });

  it('of a ledger without keys are what they are, and nothing can be erased there', async () => {
    const { store } = ledger();
    const sealing = new Sealing(undefined);
    const { stored, name } = sealing.text('w', sealing.keysOf('w', 's1'), text);
    await store.putBlobs([stored]);
    expect(name).toEqual({ sha256: text.sha256 });
    expect(await sealing.read(store, name)).toEqual(bytes);
    await expect(sealing.destroy(s1)).rejects.toMatchObject({ error: 'erasure_unavailable' });
  });
});
