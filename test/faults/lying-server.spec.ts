import { cpSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { answerDigest, type Receipt, type ReceiptPredicate } from '#transparency/receipt.js';
import { TestApplication } from '../support/application.js';
import { Auditor, checkpointIn, FORKED } from '../support/auditor.js';
import { LyingOperator, saying } from '../support/lying-operator.js';
import { proved } from '../support/proved.js';
import { statementOf } from '../support/receipts.js';

// The operator is the liar: he has the key of the log and every file. The auditor has the public key, what he kept, and the
// command line. Each lie is told as well as it can be, and shown to pass where nothing was kept.

type Body = Record<string, unknown>;

const auditor = new Auditor();
const at = (...path: string[]): string => auditor.at(...path);
const KEPT = ['answer', 'approval', 'conflict'] as const;

/** What the auditor kept while the server was honest. */
const kept = {} as Record<(typeof KEPT)[number], Receipt> & { given: Body };
let honest: LyingOperator;

async function record(server: TestApplication, value: string): Promise<string> {
  const evidence = [{ quote: value }];
  const job = await server.ingest({
    source: { title: value, type: 'note', text: `It is ${value}.` },
    records: [{ topic: 'terms', statement: value, status: 'approved', evidence }],
  });
  return (job['records'] as { decision_id: string }[])[0]?.decision_id ?? '';
}

beforeAll(async () => {
  const server = await TestApplication.start({
    PRECEDENT_DATA: at('honest'),
    PRECEDENT_EVENTSTORE: 'sqlite:',
  });
  const get = async (path: string): Promise<Receipt> =>
    (await server.call<Receipt>('GET', `/v1/${path}/receipt`)).body;
  const first = await record(server, 'net 30');
  const ask = { question: 'terms', request_id: 'audit-1', receipt: true };
  const { body } = await server.call<Body & { receipt: Receipt }>('POST', '/v1/answers', ask);
  const { receipt, ...given } = body;
  await record(server, 'net 60');
  const open = await server.call<{ conflicts: { conflict_id: string }[] }>('GET', '/v1/conflicts');
  const conflict = `conflicts/${encodeURIComponent(open.body.conflicts[0]?.conflict_id ?? '')}`;
  const resolution = { action: 'resolve', winner_decision_id: first, reason: 'the contract' };
  await server.call('POST', `/v1/${conflict}/resolutions`, resolution);
  const approval = await get(`decisions/${encodeURIComponent(first)}`);
  Object.assign(kept, { given, answer: receipt, approval, conflict: await get(conflict) });
  await server.close();
  honest = new LyingOperator(at('honest'));
  cpSync(at('honest', 'log-keys.txt'), at('keys.txt'));
  mkdirSync(at('kept'));
  for (const name of KEPT) auditor.file(join('kept', `${name}.json`), kept[name]);
}, 120_000);

afterAll(() => {
  auditor.leave();
  proved('lies of the operator', auditor.counted);
});

it('P9: of an honest server every receipt holds, alone and against its ledger', async () => {
  const given = auditor.file('given.json', kept.given);
  await auditor.accepts('answer', auditor.receipt(at('kept', 'answer.json'), '--answer', given));
  await auditor.accepts('approval', auditor.receipt(at('kept', 'approval.json')));
  await auditor.accepts('conflict', auditor.receipt(at('kept', 'conflict.json')));
  await auditor.accepts('ledger', auditor.verify(honest.dir, '--receipts', at('kept')));
});

describe('P4: another answer under the same request_id', () => {
  it('is not the one of the receipt', async () => {
    const other = auditor.file('other.json', { ...kept.given, state: 'unknown' });
    const shown = auditor.receipt(at('kept', 'answer.json'), '--answer', other);
    await auditor.catches('another answer shown', shown, /for another answer/);
  });

  it('put into the log, with a receipt that verifies, contradicts the receipt that was kept', async () => {
    const answer = { ...kept.given, state: 'unknown' };
    const { event_id: id, ...said } = statementOf(kept.answer).predicate;
    const lies = { state: 'unknown', answer_sha256: answerDigest(answer) };
    const liar = honest.rewritten(at('another-answer'), (event) => {
      if (event.id !== id) return event;
      const attested = { ...(event.data['attested'] as Body), ...lies };
      return saying(event, { ...event.data, answer, attested });
    });
    mkdirSync(at('both'));
    const receipt = liar.receipt(liar.indexOf(id), { ...said, ...lies });
    const lie = auditor.file(join('both', 'lie.json'), receipt);
    const shown = auditor.file('shown.json', answer);
    await auditor.accepts('the lie alone', auditor.receipt(lie, '--answer', shown));
    await auditor.accepts('its ledger', auditor.verify(liar.dir, '--receipts', lie));
    cpSync(at('kept', 'answer.json'), at('both', 'mine.json'));
    const both = auditor.verify(liar.dir, '--receipts', at('both'));
    await auditor.catches('the answer replaced', both, /mine\.json proves it/);
  });
});

describe('P4: an older tree, after a newer one was seen', () => {
  it('is refused by a witness', async () => {
    auditor.newWitness('early');
    honest.serve(at('served'));
    await auditor.accepts('first look', auditor.witness('early', at('served')));
    honest.serve(at('served'), honest.size - 3);
    const older = auditor.witness('early', at('served'));
    await auditor.catches('an older tree', older, /an older tree/);
    honest.serve(at('served'));
    await auditor.accepts('the newer one again', auditor.witness('early', at('served')));
  });

  it('is found by the receipts of what is gone', async () => {
    const { index } = statementOf(kept.conflict).predicate;
    const cut = honest.rewritten(at('cut'), (event) =>
      honest.indexOf(event.id) < index ? event : undefined,
    );
    await auditor.accepts('the cut log alone', auditor.verify(cut.dir));
    const checked = auditor.verify(cut.dir, '--receipts', at('kept'));
    await auditor.catches('the end cut off', checked, /the end of the log/);
    const newest = auditor.file('newest.checkpoint', honest.checkpoint());
    const behind = auditor.consistency(newest, 'latest', cut.dir);
    await auditor.catches('the end cut off: consistency', behind, /ends before what was signed/);
  });
});

it('P4: a middle event dropped and everything after it made anew is caught by receipts, a kept checkpoint and a witness', async () => {
  const { event_id: dropped } = statementOf(kept.answer).predicate;
  const liar = honest.rewritten(at('dropped'), (event) =>
    event.id === dropped ? undefined : event,
  );
  expect(liar.log.length).toBe(honest.log.length - 1);
  await auditor.accepts('each hash, revision and signature', auditor.verify(liar.dir));
  const receipts = auditor.verify(liar.dir, '--receipts', at('kept', 'conflict.json'));
  await auditor.catches('dropped: receipts', receipts, /conflict\.json/);
  const old = auditor.file('old.checkpoint', checkpointIn(kept.answer));
  await auditor.accepts('honest', auditor.consistency(old, 'latest', honest.dir));
  const continued = auditor.consistency(old, 'latest', liar.dir);
  await auditor.catches('dropped: consistency', continued, FORKED);
  const pinned = auditor.verify(liar.dir, '--checkpoint', old);
  await auditor.catches('dropped: checkpoint', pinned, /old\.checkpoint/);
  auditor.newWitness('steady');
  await auditor.accepts('first look', auditor.witness('steady', honest.dir));
  liar.serve(at('served-dropped'));
  const seen = auditor.witness('steady', at('served-dropped'));
  await auditor.catches('dropped: witness', seen, FORKED);
});

describe('P4: two histories', () => {
  let other: LyingOperator;
  beforeAll(() => {
    const { event_id: id } = statementOf(kept.approval).predicate;
    other = honest.rewritten(at('other'), (event) =>
      event.id === id ? saying(event, { ...event.data, content_hash: 'f'.repeat(64) }) : event,
    );
    honest.serve(at('view-a'));
    other.serve(at('view-b'));
  });

  it('a fork: two signed checkpoints of one size with two roots', async () => {
    expect(other.size).toBe(honest.size);
    const [a, b] = [at('view-a', 'checkpoint'), at('view-b', 'checkpoint')];
    await auditor.accepts('a alone', auditor.verify(honest.dir, '--checkpoint', a));
    await auditor.accepts('b alone', auditor.verify(other.dir, '--checkpoint', b));
    const both = ['--checkpoint', a, '--checkpoint', b];
    await auditor.catches('a fork: verify', auditor.verify(honest.dir, ...both), /view-b/);
    await auditor.catches('a fork: consistency', auditor.consistency(a, b, honest.dir), FORKED);
    const none = ['--proof', auditor.file('none.txt', ''), '--keys', at('keys.txt')];
    const files = auditor.run('consistency', a, b, ...none);
    await auditor.catches('a fork: two files, no ledger', files, FORKED);
  });

  it('a split view: two readers who ask each other’s witness', async () => {
    auditor.newWitness('a');
    auditor.newWitness('b');
    await auditor.accepts('reader a', auditor.witness('a', at('view-a')));
    await auditor.accepts('reader b', auditor.witness('b', at('view-b')));
    await auditor.catches('split: a looks at b', auditor.witness('a', at('view-b')), FORKED);
    await auditor.catches('split: b looks at a', auditor.witness('b', at('view-a')), FORKED);
    // The fork stays in evidence: two notes, signed by one key, that cannot both be true.
    const files = readdirSync(at('a-state'), { recursive: true, encoding: 'utf8' });
    expect(files.filter((name) => /refused-.*\.checkpoint$/.test(name))).toHaveLength(1);
  });
});

describe('receipts that the operator signs', () => {
  it('P9: for an event that the log does not hold', async () => {
    const { predicate: said } = statementOf(kept.approval);
    const { index } = said;
    const elsewhere = auditor.file('r1.json', honest.receipt(index, said, index - 1));
    await auditor.catches(
      'the proof of another',
      auditor.receipt(elsewhere),
      /not proved to be in/,
    );
    // A tree signed for this receipt alone, which has the event: good until somebody looks into the ledger.
    const fork = honest.rewritten(at('fork'), (event) =>
      event.id === said.event_id ? saying(event, { ...event.data, reason: 'invented' }) : event,
    );
    const lie = auditor.file('r2.json', fork.receipt(index, said));
    await auditor.accepts('a tree for one receipt', auditor.receipt(lie));
    const checked = auditor.verify(honest.dir, '--receipts', lie);
    await auditor.catches('no such event: the ledger', checked, /r2\.json/);
    const theirs = auditor.file('theirs.checkpoint', fork.checkpoint());
    const ours = auditor.file('ours.checkpoint', honest.checkpoint());
    const compared = auditor.consistency(theirs, ours, honest.dir);
    await auditor.catches('no such event: its tree', compared, FORKED);
  });

  it.each<[string, (typeof KEPT)[number], Partial<ReceiptPredicate>, RegExp]>([
    ['approved by somebody else than the header says', 'approval', { approvers: ['mallory'] }, /approvers[^]*owner[^]*mallory/],
    ['another state', 'answer', { state: 'unknown' }, /state[^]*contested|state[^]*verified/],
    ['other sources', 'approval', { evidence: [{ source_id: 'x', sha256: '0'.repeat(64) }] }, /evidence/],
    ['another conflict', 'conflict', { conflict: { id: 'x.c1', claims: [] } }, /conflict/],
  ])('P9, O-31, O-33: a statement that contradicts its event: %s', async (lie, name, said, says) => {
    const { predicate } = statementOf(kept[name]);
    const signed = honest.receipt(predicate.index, { ...predicate, ...said });
    const file = auditor.file('said.json', signed);
    await auditor.accepts('signed as it is', auditor.receipt(file));
    await auditor.catches(lie, auditor.verify(honest.dir, '--receipts', file), says);
  }); // prettier-ignore
});
