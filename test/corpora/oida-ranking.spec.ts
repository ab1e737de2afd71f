import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Search } from '#decisions/projections/search-client.js';
import { TestApplication } from '../support/application.js';
import { hasCorpora } from '../support/corpora.js';
import {
  captureOida,
  graded,
  OIDA,
  oidaCorpus,
  oidaScores,
  recordOida,
  type OidaCorpus,
  type OidaScore,
} from '../support/oida.js';

/** Enough to rank every document of a corpus. */
const ALL = 200;

interface Ranked {
  bm25: OidaScore;
  run: OidaScore;
}

(hasCorpora ? describe : describe.skip)('B10: ranking of evidence on the OIDA corpora', () => {
  const before = new Map<string, Ranked>();
  const after = new Map<string, Ranked>();
  const servers: TestApplication[] = [];

  beforeAll(async () => {
    for (const name of OIDA) {
      const corpus = oidaCorpus(name);
      const server = await TestApplication.start();
      servers.push(server);
      const documentOf = await captureOida(server, corpus);
      before.set(name, oidaScores(corpus, await ranking(server, corpus, documentOf)));
      for (const question of corpus.questions.filter(isDecided))
        await recordOida(server, corpus, question);
      after.set(name, oidaScores(corpus, await ranking(server, corpus, documentOf)));
    }
    for (const name of OIDA)
      process.stdout.write(
        `B10 ${name}: BM25 ${shown(before.get(name)?.bm25)}; before review ${shown(before.get(name)?.run)}; after ${shown(after.get(name)?.run)}\n`,
      );
  }, 300_000);

  afterAll(async () => {
    for (const server of servers) {
      await server.close();
      rmSync(server.dir, { recursive: true, force: true });
    }
  });

  it.each(OIDA)('before any review, %s: not below plain BM25', (name) => {
    const { bm25, run } = of(before, name);
    expect(run.queries).toBe(bm25.queries);
    expect(run['ndcg@10']).toBeGreaterThanOrEqual(bm25['ndcg@10']);
    expect(run['binding@1']).toBeGreaterThanOrEqual(bm25['binding@1']);
  });

  it('before any review, on the mean: clearly above plain BM25', () => {
    const [ours, plain] = [mean(before, (r) => r.run), mean(before, (r) => r.bm25)];
    expect(ours['ndcg@10']).toBeGreaterThan(plain['ndcg@10'] + 0.03);
  });

  it('after review, on the mean: what binds comes first far more often', () => {
    const [then, now] = [mean(before, (r) => r.run), mean(after, (r) => r.run)];
    expect(now['binding@1']).toBeGreaterThan(then['binding@1'] + 0.15);
    expect(now.superseded_above).toBeLessThan(then.superseded_above / 4);
  });

  it.each(OIDA)(
    'after review, %s: what is in force comes first, what was superseded below',
    (name) => {
      const [then, now] = [of(before, name).run, of(after, name).run];
      expect(now['binding@1']).toBeGreaterThanOrEqual(then['binding@1']);
      expect(now.superseded_above).toBeLessThanOrEqual(then.superseded_above / 2);
      expect(now['ndcg@10']).toBeGreaterThanOrEqual(then['ndcg@10']);
    },
  );
});

function of(scores: ReadonlyMap<string, Ranked>, name: string): Ranked {
  const found = scores.get(name);
  if (!found) throw new Error(`no scores of ${name}`);
  return found;
}

function mean(
  scores: ReadonlyMap<string, Ranked>,
  which: (ranked: Ranked) => OidaScore,
): Omit<OidaScore, 'queries'> {
  const of = (key: keyof OidaScore): number =>
    [...scores.values()].reduce((n, ranked) => n + which(ranked)[key], 0) / scores.size;
  return {
    'ndcg@10': of('ndcg@10'),
    'binding@1': of('binding@1'),
    superseded_above: of('superseded_above'),
  };
}

function shown(score: OidaScore | undefined): string {
  if (!score) return '–';
  return `${score['ndcg@10'].toFixed(3)}/${score['binding@1'].toFixed(3)}/${score.superseded_above.toFixed(3)}`;
}

function isDecided(question: OidaCorpus['questions'][number]): boolean {
  return graded(question, 3).length > 0;
}

async function ranking(
  server: TestApplication,
  corpus: OidaCorpus,
  documentOf: ReadonlyMap<string, string>,
): Promise<Record<string, string[]>> {
  const models = server.application.ledger.models;
  const search = server.application.app.get(Search);
  const run: Record<string, string[]> = {};
  await models.settled();
  for (const { id, text } of corpus.questions) {
    const found = await search.near({
      workspace: 'main',
      question: text,
      most: { topics: 8, sources: ALL },
      patienceMs: 60_000,
    });
    run[id] = found.sources.map((s) => documentOf.get(s.source_id) ?? s.source_id);
    // What an answer shows is the beginning of the same list.
    const answer = await server.call<{ candidate_excerpts: { source_id: string }[] }>(
      'POST',
      '/v1/answers',
      { question: text },
    );
    expect(answer.body.candidate_excerpts.map((e) => e.source_id)).toEqual(
      found.sources.slice(0, 10).map((s) => s.source_id),
    );
  }
  return run;
}
