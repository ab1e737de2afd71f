import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TestApplication } from '../support/application.js';

interface Outcome {
  outcome: string;
  reason?: string;
  decision_id: string;
}
interface Job {
  records: Outcome[];
}
interface Refused {
  error?: string;
  path?: string;
}

let server: TestApplication;
let [ann, ben] = ['', ''];
beforeAll(async () => {
  server = await TestApplication.start();
  [ann, ben] = [await server.member('ann', 'admin'), await server.member('ben', 'admin')];
  await server.call('POST', '/v1/organisation/settings', { four_eyes: true });
});
afterAll(async () => {
  await server.close();
  rmSync(server.dir, { recursive: true, force: true });
});

const said = (topic: string, statement: string, status = 'approved') => ({
  source: { title: `${topic} ${statement}`, type: 'note', text: statement },
  records: [{ topic, statement, status, evidence: [{ quote: statement }] }],
});

const handIn = async (key: string, body: object): Promise<Outcome[]> =>
  ((await server.ingest(body, key)) as unknown as Job).records;

const dryRun = async (key: string, body: object): Promise<Outcome[]> =>
  (await server.call<Job>('POST', '/v1/ingestions', { ...body, dry_run: true }, key)).body.records;

const review = (key: string, id: string, action: string) =>
  server.call<Refused>('POST', `/v1/decisions/${id}/reviews`, { action, reason: 'r' }, key);

/** Proposed by one and approved by the other. */
async function decided(topic: string, statement: string, by: string, other: string) {
  const [record] = await handIn(by, said(topic, statement, 'candidate'));
  expect((await review(other, record?.decision_id ?? '', 'approve')).status).toBe(200);
  return record?.decision_id ?? '';
}

const brief = (outcomes: readonly Outcome[]) =>
  outcomes.map(({ outcome, reason }) => [outcome, reason]);

describe('where four eyes are wanted (QO-12)', () => {
  it('a dry run says what will become of records, those of oneself included', async () => {
    const mine = said('paper', 'we use recycled paper');
    const foreseen = await dryRun(ann, mine);
    expect(brief(foreseen)).toEqual([['queued', 'four_eyes_required']]);
    expect(brief(await handIn(ann, mine))).toEqual(brief(foreseen));
    // Now it waits, as hers.
    for (const run of [dryRun, handIn])
      expect(brief(await run(ann, { ...mine, collection: 'again' }))).toEqual([
        ['skipped', expect.stringMatching(/^duplicate of paper\.[0-9a-f]+, which is candidate$/)],
      ]);
    // Another who says the same is the second person.
    for (const run of [dryRun, handIn])
      expect(brief(await run(ben, mine))).toEqual([['stored', undefined]]);
  });

  it('nobody settles a conflict in favour of his own proposal, by revoking the other claim either', async () => {
    const hers = await decided('limit', '500 EUR', ann, ben);
    const his = await decided('limit', '1000 EUR', ben, ann);
    const { body } = await server.call<{ conflicts: { conflict_id: string }[] }>(
      'GET',
      '/v1/conflicts?topic=limit',
    );
    const [conflict] = body.conflicts;
    const path = `/v1/conflicts/${conflict?.conflict_id ?? ''}/resolutions`;
    const end = await server.end();
    const resolve = { action: 'resolve', winner_decision_id: hers, reason: 'r' };
    expect(await server.call('POST', path, resolve, ann)).toMatchObject({
      status: 403,
      body: { error: 'four_eyes_required' },
    });
    expect(await review(ann, his, 'revoke')).toMatchObject({
      status: 403,
      body: { error: 'four_eyes_required', path: 'decision_id' },
    });
    expect(await server.end()).toBe(end);
    // Giving way is open to everybody.
    expect((await review(ann, hers, 'revoke')).status).toBe(200);
  });

  it('one person revokes what is in no conflict, his own included, and dismisses what is none', async () => {
    expect((await review(ann, await decided('desk', 'one each', ann, ben), 'revoke')).status).toBe(
      200,
    );
    expect((await review(ann, await decided('lamp', 'two each', ben, ann), 'revoke')).status).toBe(
      200,
    );
    await decided('bus', 'at ten', ann, ben);
    await decided('bus', 'at noon', ben, ann);
    const { body } = await server.call<{ conflicts: { conflict_id: string }[] }>(
      'GET',
      '/v1/conflicts?topic=bus',
    );
    const [conflict] = body.conflicts;
    const dismissal = { action: 'dismiss', reason: 'two buses' };
    const path = `/v1/conflicts/${conflict?.conflict_id ?? ''}/resolutions`;
    expect((await server.call('POST', path, dismissal, ann)).status).toBe(200);
  });
});
