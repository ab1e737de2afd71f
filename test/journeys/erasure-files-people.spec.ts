import { copyFileSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { precedent } from '../support/cli.js';
import { proved } from '../support/proved.js';
import { Restarting } from '../support/restarting.js';
import { filesBelow, formsOf, traces, type Trace } from '../support/traces.js';

// As erasure-files.spec.ts, for somebody who acts.

const NAME = 'Wvuq Personne 1337';
const OTHERS = 'Qwyk Andere 0815';

const forms = formsOf(NAME);
const ledger = new Restarting();
const { scratch, data, done, ingest, run, ok, told } = ledger;
beforeAll(() => ledger.start(), 60_000);
afterAll(() => ledger.remove());

const found = (dirs: readonly string[], of = forms): Trace[] =>
  traces(dirs.flatMap(filesBelow), of);

/** A candidate; its id. */
async function proposed(topic: string, statement: string, subject: string): Promise<string> {
  const job = await ingest({
    source: { title: 'A note', type: 'note', text: statement, subject },
    records: [{ topic, statement, status: 'candidate', evidence: [{ quote: statement }] }],
  });
  return (job['records'] as { decision_id: string }[])[0]?.decision_id ?? '';
}

describe('B48: somebody who acted and is erased', () => {
  const before = join(scratch, 'before');
  const receipts = join(scratch, 'receipts');
  const certificate = join(receipts, 'person.json');
  let principal: string;
  let keyId: string;

  it('acts, is named in answers, and his name is in no file all the while', async () => {
    for (const dir of [before, receipts]) mkdirSync(dir);
    await done('POST', 'organisation/settings', { approver_names: true });
    await done('POST', 'workspace/settings', { answer_capture: true });
    await proposed('raise', `${OTHERS} gets a raise.`, 's2');
    const registered = { name: NAME, role: 'owner', request_id: 'r-person' };
    principal = String((await done('POST', 'members', registered))['principal']);
    await done('POST', 'organisation/owners', { principal });
    const issued = await done('POST', 'credentials', { principal, label: `of ${NAME}` });
    const his = { PRECEDENT_KEY: String(issued['key']) };
    const other = (await done('POST', 'members', { name: 'Other', role: 'member' }))['principal'];
    const decision = await proposed('number', 'We take number four.', 's4');
    const acts = [
      ['review', decision, 'approve', '--reason', 'agreed'],
      ['people', 'deactivate', String(other), '--reason', `${NAME} says that he left`],
    ];
    for (const act of acts) {
      const ran = await precedent(act, { PRECEDENT_URL: ledger.server.url, ...his });
      expect([act, ran.code, ran.stderr]).toEqual([act, 0, '']);
    }
    const file = join(receipts, 'approval.json');
    await ok('receipt', 'get', 'decision', decision, '--out', file);
    expect(await told('number')).toContain(NAME);
    expect((await run('people')).stdout).toContain(NAME);
    expect((await run('diff', '0', '--data', data)).stdout).toContain(`${NAME} says`);
    expect(found([data, receipts], forms)).toEqual([]);
  }, 240_000);

  it('is shown as erased, in no file and by no verb, and his key is nowhere', async () => {
    await ok('people', 'deactivate', principal, '--reason', `${NAME} left`);
    const preview = await ok('erase', '--principal', principal, '--reason', 'requested');
    expect(preview).toMatchObject({ status: 'dry_run', name: NAME });
    keyId = String(preview['key']);
    const [key] = await ledger.keys(keyId);
    if (!(key instanceof Uint8Array)) throw new Error('no key');
    copyFileSync(join(data, 'keys.sqlite'), join(before, 'keys.sqlite'));
    expect(found([data], formsOf(key)).map(({ form }) => form)).toEqual(['bytes']);
    const erased = await ok(
      ...['erase', '--principal', principal, '--reason', 'requested', '--yes', '--no-input'],
      ...['--certificate', certificate],
    );
    expect(erased).toMatchObject({ status: 'erased' });
    const said = [await told('number')];
    for (const verb of [['people'], ['members', '--former'], ['keys', '--ended']])
      said.push((await run(...verb)).stdout);
    for (const text of said) {
      expect(text).not.toContain(NAME);
      expect(text).toContain('[erased]');
    }
    for (const each of [forms, formsOf(key)]) expect(found([data, receipts], each)).toEqual([]);
    expect(await ok('verify', '--receipts', receipts)).toMatchObject({
      schema: 'precedent.verify/1',
    });
  }, 240_000);

  it('stays so with read models made anew and the keys of before', async () => {
    await ledger.stop();
    copyFileSync(join(before, 'keys.sqlite'), join(data, 'keys.sqlite'));
    for (const file of filesBelow(data).filter((path) => path.includes('read.sqlite')))
      rmSync(file);
    await ledger.start();
    expect(await ledger.keys(keyId)).toEqual(['erased']);
    expect(await told('number')).not.toContain(NAME);
    expect(await told('raise')).toContain(OTHERS);
    expect(found([data], forms)).toEqual([]);
    for (const file of ['approval.json', 'person.json']) {
      const ran = await run(
        'receipt',
        'verify',
        join(receipts, file),
        '--keys',
        join(data, 'log-keys.txt'),
      );
      expect([file, ran.code]).toEqual([file, 0]);
    }
    proved('traces of somebody who acted', { forms: forms.size, found: 0 });
  }, 120_000);
});
