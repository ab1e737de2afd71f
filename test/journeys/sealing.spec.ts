import { mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { subjectKey } from '#kernel/sealing.js';
import { ReadDatabase } from '#projections/read-database.js';
import { projections } from '../../apps/server/src/projections.js';
import { TestApplication } from '../support/application.js';
import { evaluationKit } from '../support/evaluation.js';
import { proved } from '../support/proved.js';
import { filesBelow, formsOf, traces } from '../support/traces.js';

type Body = Record<string, unknown>;

const MARKER = 'Zyxq Personne 4711';
const dir = mkdtempSync(join(tmpdir(), 'sealing-'));
const settings = { PRECEDENT_EVENTSTORE: 'sqlite:', PRECEDENT_DATA: dir };
const enc = encodeURIComponent;
let server: TestApplication;
const start = async (): Promise<void> => {
  server = await TestApplication.start(settings);
};
beforeAll(start);
afterAll(async () => {
  await server.close();
  rmSync(dir, { recursive: true, force: true });
});

const post = async (path: string, body: object): Promise<Body> => {
  const { body: said } = await server.call('POST', `/v1/${path}`, body);
  return said;
};
const get = async (path: string): Promise<Body> => (await server.call('GET', `/v1/${path}`)).body;

/** Hands in a text about a subject and returns the ids of what became of its records. */
async function told(subject: string, text: string, records: readonly object[]): Promise<string[]> {
  const source = {
    title: `Minutes, ${text}`,
    type: 'note',
    author: text,
    uri: `https://example.org/${enc(text)}`,
    text: `We met. ${text} pays in 30 days. It was agreed with ${text}.`,
    subject,
  };
  const job = await server.ingest({ source, records });
  return (job['records'] as { decision_id: string }[]).map((r) => r.decision_id);
}

const record = (topic: string, text: string, status = 'candidate'): object => ({
  topic,
  statement: `${text} pays in 30 days`,
  value: { who: text },
  status,
  evidence: [{ quote: `${text} pays in 30 days.` }],
});

const review = (id: string, action: string, reason: string): Promise<Body> =>
  post(`decisions/${enc(id)}/reviews`, { action, reason });

/** What every read says, by its name. */
async function everything(): Promise<Record<string, Body>> {
  const at = evaluationKit(server);
  const [set] = (await at.read('datasets')).datasets ?? [];
  const { runs } = await at.read(`datasets/${String(set?.['dataset_id'])}`);
  return {
    answer: await post('answers', { question: 'q', topic: 'terms' }),
    search: await post('answers', { question: `Who is ${MARKER}, and what was agreed?` }),
    history: await get('topics/terms/history'),
    pending: await get('pending'),
    conflicts: await get('conflicts?status=all'),
    folder: await get(`ingestions/${story.folder}`),
    run: (await at.read(`runs/${runs?.[0]?.run_id ?? ''}`)) as unknown as Body,
  };
}

let story: { ids: string[]; folder: string };
beforeAll(async () => {
  await post('workspace/settings', { answer_capture: true });
  const said = await told('s1', MARKER, [
    record('terms', MARKER, 'approved'),
    record('waiting', MARKER),
    record('gone', MARKER, 'approved'),
  ]);
  await review(said[2] ?? '', 'revoke', `${MARKER} left`);
  const other = await told('s1', `${MARKER} Jr`, [record('terms', `${MARKER} Jr`, 'approved')]);
  const folder = await server.ingest({
    collection: 'adrs',
    documents: [
      {
        // Its path and title become the id and the name of a topic, which are kept in the clear.
        path: '0001-who.md',
        text: `# Who decides\n\nStatus: accepted\n\n## Decision\n\n${MARKER} decides.\n`,
        subject: 's1',
      },
      { path: `no ${MARKER}.md`, text: `Nothing of ${MARKER}.`, subject: 's1' },
    ],
  });
  story = { ids: [...said, ...other], folder: String(folder['job_id']) };
  const open = (await get('conflicts'))['conflicts'] as { conflict_id: string }[];
  expect(open).toHaveLength(1);
  await post(`conflicts/${enc(open[0]?.conflict_id ?? '')}/resolutions`, {
    action: 'dismiss',
    reason: `${MARKER} and son`,
  });
  const asked = { question: `What of ${MARKER}?`, topic: 'terms', request_id: 'r-1' };
  const answer = await post('answers', asked);
  await post(`answers/${String(answer['call_id'])}/ratings`, {
    rating: 'partly',
    comment: `ask ${MARKER}`,
  });
  const kit = evaluationKit(server);
  const cases = [{ question: 'terms', expect: { state: 'verified' } }];
  await kit.run((await kit.approved(cases)).dataset_id);
}, 60_000);

describe('B48: what is stored', () => {
  it('holds no text of a source, a decision, a review, an answer or a run, in no file and no form', async () => {
    const said = await everything();
    for (const [read, body] of Object.entries(said))
      expect([read, JSON.stringify(body).includes(MARKER)]).toEqual([read, true]);
    const files = filesBelow(dir);
    const found = traces(files, formsOf(MARKER));
    const named = new Set(found.map(({ file, form }) => `${file.slice(dir.length + 1)} ${form}`));
    proved('files of a ledger searched for personal text', {
      files: files.length,
      forms: formsOf(MARKER).size,
      found: named.size,
    });
    expect([...named]).toEqual([]);
  });

  it('P5: is rebuilt without any key, to the same read models', async () => {
    const tables = projections.flatMap((p) => Object.keys(p.tables));
    const digest = (): string => {
      const db = ReadDatabase.openForReading(join(dir, 'read.sqlite'));
      const found = db.digest(tables);
      db.close();
      return found;
    };
    const before = await everything();
    await server.close();
    const forget = (): void => {
      for (const part of ['', '-wal', '-shm'])
        rmSync(join(dir, `read.sqlite${part}`), { force: true });
    };
    forget();
    renameSync(join(dir, 'keys.sqlite'), join(dir, 'elsewhere'));
    await start();
    const sealed = await everything();
    for (const [read, body] of Object.entries(sealed)) {
      if (read === 'search') continue;
      expect([read, JSON.stringify(body).includes(MARKER)]).toEqual([read, false]);
      expect([read, JSON.stringify(body).includes('[sealed]')]).toEqual([read, true]);
    }
    expect(sealed['answer']?.['state']).toBe(before['answer']?.['state']);
    await server.close();
    const withoutKeys = digest();
    rmSync(join(dir, 'keys.sqlite'));
    renameSync(join(dir, 'elsewhere'), join(dir, 'keys.sqlite'));
    forget();
    await start();
    await server.close();
    expect(digest()).toBe(withoutKeys);
    await start();
    const again = await everything();
    for (const read of ['history', 'conflicts', 'folder'])
      expect({ ...again[read], position: '' }).toEqual({ ...before[read], position: '' });
  });
});

describe('B48: once the key is destroyed', () => {
  let before: Record<string, Body>;
  beforeAll(async () => {
    await told('s2', 'Somebody else', [record('others', 'Somebody else', 'approved')]);
    before = await everything();
    const { workspace } = await server.callerOf(server.key);
    await server.application.ledger.sealing.destroy(subjectKey(workspace, 's1'));
  });

  it('no read shows a word of it, and all that stood stands', async () => {
    const after = await everything();
    for (const [read, body] of Object.entries(after)) {
      if (read === 'search') continue;
      expect([read, JSON.stringify(body).includes(MARKER)]).toEqual([read, false]);
      expect([read, JSON.stringify(body).includes('[erased]')]).toEqual([read, true]);
    }
    const stands = ({ answer = {}, history = {}, conflicts = {} }: Record<string, Body>) => ({
      state: answer['state'],
      decision: (answer['decision'] as Body | undefined)?.['id'],
      beside: (answer['alternatives'] as Body[]).map((d) => d['id']),
      heads: (history['heads'] as Body[]).map((d) => d['id']),
      kinds: (history['timeline'] as Body[]).map((e) => e['kind']),
      conflicts: (conflicts['conflicts'] as Body[]).map((c) => [c['conflict_id'], c['status']]),
    });
    expect(stands(after)).toEqual(stands(before));
  });

  it('search finds nothing of it, and what is left of others', async () => {
    const found = JSON.stringify((await everything())['search']);
    expect(found.split(MARKER)).toHaveLength(1);
    const other = await post('answers', { question: 'Does Somebody else pay?' });
    expect(JSON.stringify(other['candidate_excerpts'])).toContain('Somebody else pays in 30 days');
  });

  it('O-13: a kept answer is given again to nobody, and the reason is said', async () => {
    const asked = { question: `What of ${MARKER}?`, topic: 'terms', request_id: 'r-1' };
    const again = await server.call('POST', '/v1/answers', asked);
    expect([again.status, again.body['error']]).toEqual([409, 'answer_erased']);
    const anew = await server.call('POST', '/v1/answers', { ...asked, request_id: 'r-2' });
    expect([anew.status, anew.body['state']]).toEqual([200, before['answer']?.['state']]);
    expect(await post('answers', { ...asked, request_id: 'r-2' })).toEqual(anew.body);
  });

  it('a candidate without words is approved by nobody, and may be rejected with a reason that stays', async () => {
    const [, waiting = ''] = story.ids;
    expect(await review(waiting, 'approve', 'fine')).toMatchObject({ error: 'decision_erased' });
    expect(await review(waiting, 'reject', 'nothing left to read')).toMatchObject({
      state: 'rejected',
    });
    const { timeline } = (await get('topics/waiting/history')) as { timeline: Body[] };
    expect(timeline.at(-1)).toMatchObject({
      kind: 'rejected',
      statement: '[erased]',
      reason: 'nothing left to read',
    });
  });

  it('a new claim does not confirm what nobody can read: the conflict is stated', async () => {
    await told('s3', 'A third one', [record('terms', 'A third one', 'approved')]);
    const open = (await get('conflicts?topic=terms'))['conflicts'] as Body[];
    expect(open).toHaveLength(1);
  });

  it('what is erased is not handed in again', async () => {
    const source = { title: 'More', type: 'note', text: `${MARKER} again`, subject: 's1' };
    expect(await post('ingestions', { source, records: [] })).toMatchObject({
      error: 'subject_erased',
      path: 'source',
    });
  });
});

describe('a subject', () => {
  it('is for ever that of a text: another one is refused, none is taken as the same', async () => {
    const text = { title: 'Of one', type: 'note', text: 'One of them said so.' };
    await server.ingest({ source: { ...text, subject: 's7' }, records: [] });
    expect(
      await post('ingestions', { source: { ...text, subject: 's8' }, records: [] }),
    ).toMatchObject({ error: 'other_subject', path: 'source.subject' });
    await server.ingest({ source: text, records: [] });
  });

  it('is an opaque id: a name is refused', async () => {
    const source = { title: 'x', type: 'note', text: 'x y', subject: MARKER };
    expect(await post('ingestions', { source, records: [] })).toMatchObject({
      path: 'source.subject',
    });
  });
});
