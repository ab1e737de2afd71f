import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TestApplication } from '../support/application.js';
import { ADR_FOLDERS, adrDocuments, adrLinks, hasCorpora } from '../support/corpora.js';

interface Job {
  status: string;
  counts: { stored: number; skipped: number; queued: number };
  records: {
    index: number;
    outcome: string;
    path: string;
    reason?: string;
    decision_id?: string;
    topic?: string;
  }[];
  findings: { kind: string; documents: string[]; detail: string }[];
}
interface Head {
  id: string;
  statement: string;
}

const run = hasCorpora ? describe : describe.skip;

run('QO-23: importing real ADR folders', () => {
  let server: TestApplication;
  const jobs = new Map<string, Job>();
  beforeAll(async () => {
    server = await TestApplication.start();
    for (const folder of ADR_FOLDERS) {
      const started = Date.now();
      const job = (await server.ingest({
        documents: adrDocuments(folder),
        collection: folder,
      })) as unknown as Job;
      jobs.set(folder, job);
      const kinds = Object.entries(Object.groupBy(job.findings, (f) => f.kind)).map(
        ([kind, list]) => `${list?.length ?? 0} ${kind}`,
      );
      console.log(
        `${folder}: ${JSON.stringify(job.counts)} findings: ${kinds.join(', ')} (${Date.now() - started} ms)`,
      );
    }
  }, 120_000);
  afterAll(() => server.close());

  const jobOf = (folder: string): Job => {
    const job = jobs.get(folder);
    if (!job) throw new Error(folder);
    return job;
  };
  const heads = async (topic: string): Promise<Head[]> =>
    (await server.call<{ heads: Head[] }>('GET', `/v1/topics/${encodeURIComponent(topic)}/history`))
      .body.heads;
  /** Record of the document that links.json names: by file stem, number, or `<folder>/<number>`. */
  const find = (folder: string, name: string): Job['records'][number] => {
    const [number, space] = name.split('/').reverse();
    const found = jobOf(folder).records.filter((r) => {
      const stem = r.path.split('/').at(-1)?.replace(/\.md$/, '') ?? '';
      return (
        (stem === number ||
          stem.startsWith(`${number ?? ''}-`) ||
          stem.startsWith(`${number ?? ''}_`)) &&
        (!space || r.path.includes(`/${space}/`))
      );
    });
    const linked =
      found.length > 1 ? found.find((r) => r.path.includes('remove-papertrail')) : found[0];
    if (!linked) throw new Error(`${folder}: ${name}`);
    return linked;
  };

  it.each(ADR_FOLDERS)(
    '%s: every file is stored, skipped or queued, and every one that is not stored says why',
    (folder) => {
      const job = jobOf(folder);
      const paths = adrDocuments(folder).map((d) => d.path);
      expect(job.status).toBe('completed');
      expect(job.records.map((r) => r.path).sort()).toEqual(paths.sort());
      expect(job.counts.stored + job.counts.skipped + job.counts.queued).toBe(paths.length);
      expect(job.records.filter((r) => r.outcome !== 'stored' && !r.reason)).toEqual([]);
    },
  );

  it.each(ADR_FOLDERS)(
    '%s: a superseded record never comes back as current; its successor does, with the old one as history',
    async (folder) => {
      for (const link of adrLinks(folder)) {
        const old = find(folder, link.old);
        const successor = find(folder, link.new);
        const current = await heads(old.topic ?? '');
        expect(current.map((h) => h.id)).not.toContain(old.decision_id);
        if (link.kind !== 'supersedes') continue;
        expect(old.topic).toBe(successor.topic);
        expect(current.map((h) => h.id)).toEqual([successor.decision_id]);
        const answer = await server.call<{
          state: string;
          decision: Head;
          history: Head[];
          evidence: unknown[];
        }>('POST', '/v1/answers', { question: 'what holds?', topic: old.topic });
        expect(answer.body.state).toBe('verified');
        expect(answer.body.history.map((h) => h.id)).toContain(old.decision_id);
        expect(answer.body.evidence).not.toEqual([]);
      }
    },
  );

  it.each(ADR_FOLDERS)('%s: an accepted document is current under its title', async (folder) => {
    const stored = jobOf(folder).records.filter((r) => r.outcome === 'stored');
    // What the document itself says in its status, read independently of the product.
    const superseded = new Set(
      adrDocuments(folder)
        .filter((d) => /^[^\n]*superseded by/im.test(d.text))
        .map((d) => d.path),
    );
    for (const record of stored.filter((r) => !superseded.has(r.path)))
      expect((await heads(record.topic ?? '')).map((h) => h.id)).toContain(record.decision_id);
  });

  it('one-sided and dangling links are findings that name their documents', () => {
    for (const folder of ADR_FOLDERS) {
      const { findings } = jobOf(folder);
      const oneSided = adrLinks(folder).filter((l) => l.stated_by.length === 1);
      expect(findings.filter((f) => f.kind === 'one_sided_link').length).toBeGreaterThanOrEqual(
        oneSided.length,
      );
      for (const finding of findings) expect(finding.documents.length).toBeGreaterThan(0);
    }
    const dangling = jobOf('alphagov__forms').findings.filter((f) => f.kind === 'dangling_link');
    expect(dangling.some((f) => f.detail.includes('ADR045-use-forms-api.md'))).toBe(true);
  });

  it('a dry run says the same as the run, also about what is there already', async () => {
    const folder = 'thomvaill__log4brains';
    const end = await server.end();
    const documents = adrDocuments(folder);
    const fresh = await server.call<Job>('POST', '/v1/ingestions', {
      documents,
      collection: 'elsewhere',
      dry_run: true,
    });
    const outcomes = (list: Job['records']) => list.map((r) => `${r.path} ${r.outcome}`).sort();
    expect(outcomes(fresh.body.records)).toEqual(outcomes(jobOf(folder).records));
    expect(fresh.body.findings).toEqual(jobOf(folder).findings);
    const known = await server.call<Job>('POST', '/v1/ingestions', {
      documents,
      collection: folder,
      dry_run: true,
    });
    expect(new Set(known.body.records.map((r) => r.outcome))).toEqual(new Set(['skipped']));
    expect(await server.end()).toBe(end);
  });

  it('the same folder again stores nothing new', async () => {
    const before = (await server.call<{ counts: object }>('GET', '/v1/workspace')).body.counts;
    for (const folder of ADR_FOLDERS) {
      const again = (await server.ingest({
        documents: adrDocuments(folder),
        collection: folder,
      })) as unknown as Job;
      expect(again.counts).toMatchObject({ stored: 0, queued: 0 });
    }
    expect((await server.call<{ counts: object }>('GET', '/v1/workspace')).body.counts).toEqual(
      before,
    );
  });

  it('a changed document is a new source and a new claim that supersedes its own former one', async () => {
    const documents = adrDocuments('thomvaill__log4brains').map((d) =>
      d.path.includes('20201103-use-lunr-for-search')
        ? { ...d, text: d.text.replace(/Lunr/gi, 'MiniSearch') }
        : d,
    );
    const before = (await server.call<{ counts: { sources: number } }>('GET', '/v1/workspace')).body
      .counts.sources;
    const job = (await server.ingest({
      documents,
      collection: 'thomvaill__log4brains',
    })) as unknown as Job;
    expect(job.counts).toMatchObject({ stored: 1, queued: 0 });
    const record = job.records.find((r) => r.outcome === 'stored');
    const current = await heads(record?.topic ?? '');
    expect(current.map((h) => h.id)).toEqual([record?.decision_id]);
    expect(
      (await server.call<{ counts: { sources: number } }>('GET', '/v1/workspace')).body.counts
        .sources,
    ).toBe(before + 1);
  });

  it('O-27: handed in by a member, nothing of it is approved', async () => {
    const key = await server.member('mia', 'member');
    const job = (await server.ingest(
      { documents: adrDocuments('thomvaill__log4brains'), collection: 'by-a-member' },
      key,
    )) as unknown as Job;
    expect(job.counts.stored).toBe(0);
    expect(job.records.some((r) => r.reason?.includes('requires_governor'))).toBe(true);
  });
});
