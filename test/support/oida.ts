import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eachWord } from '#decisions/domain/ranking-terms.js';
import { CORPORA } from './corpora.js';
import type { TestApplication } from './application.js';

export const OIDA = [
  'org-consulting-clearpath',
  'org-vc-vertexminds',
  'inv-mystery-redhood',
] as const;

interface OidaDocument {
  id: string;
  title: string;
  text: string;
  category: string;
  created: string | undefined;
}

/** A question with its judgments: 3 binding, 2 superseded, 1 related, 0 trap. `label` is what the corpus calls its subject. */
export interface OidaQuestion {
  id: string;
  text: string;
  label: string;
  grades: Map<string, number>;
}

export interface OidaCorpus {
  name: string;
  folder: string;
  documents: Map<string, OidaDocument>;
  questions: OidaQuestion[];
}

export interface OidaScore {
  queries: number;
  'ndcg@10': number;
  'binding@1': number;
  superseded_above: number;
}

interface Line {
  _id: string;
  title?: string;
  text: string;
  metadata?: { category?: string; created?: string; tests?: string };
}

export function oidaCorpus(name: string): OidaCorpus {
  const folder = join(CORPORA, 'oida', name);
  const lines = (file: string): string[] =>
    readFileSync(join(folder, file), 'utf8').split('\n').filter(Boolean);
  const grades = new Map<string, Map<string, number>>();
  for (const line of lines('test.tsv').slice(1)) {
    const [question = '', document = '', grade] = line.split('\t');
    grades.set(question, (grades.get(question) ?? new Map()).set(document, Number(grade)));
  }
  const read = (file: string): Line[] => lines(file).map((line) => JSON.parse(line) as Line);
  return {
    name,
    folder,
    documents: new Map(
      read('corpus.jsonl').map(({ _id, title = _id, text, metadata }) => [
        _id,
        {
          id: _id,
          title,
          text,
          category: metadata?.category ?? 'document',
          created: metadata?.created,
        },
      ]),
    ),
    questions: read('queries.jsonl').map(({ _id, text, metadata }) => ({
      id: _id,
      text,
      label: (metadata?.tests ?? _id).replaceAll('_', ' '),
      grades: grades.get(_id) ?? new Map<string, number>(),
    })),
  };
}

/** The corpus' own scorer on a ranking: document ids by question, best first; beside its plain BM25. */
export function oidaScores(
  { folder }: OidaCorpus,
  run: Record<string, string[]>,
): { bm25: OidaScore; run: OidaScore } {
  const dir = mkdtempSync(join(tmpdir(), 'precedent-oida-'));
  try {
    const file = join(dir, 'run.json');
    writeFileSync(file, JSON.stringify(run));
    const scorer = join(CORPORA, '..', 'tools', 'oida-score.mjs');
    const out = execFileSync(process.execPath, [scorer, folder, file], { encoding: 'utf8' });
    return JSON.parse(out) as { bm25: OidaScore; run: OidaScore };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

export function sourceOf(document: OidaDocument): Record<string, string> {
  return {
    title: document.title,
    type: document.category,
    text: document.text,
    uri: `oida:${document.id}`,
    ...(document.created === undefined ? {} : { occurred_at: document.created }),
  };
}

/** Captures every document of a corpus as a source, through the real ingest; document ids by source id. */
export async function captureOida(
  server: TestApplication,
  corpus: OidaCorpus,
): Promise<Map<string, string>> {
  const documentOf = new Map<string, string>();
  let last = '';
  for (const document of corpus.documents.values()) {
    const reply = await server.call<{ source_ids: string[]; job_id: string }>(
      'POST',
      '/v1/ingestions',
      {
        source: sourceOf(document),
      },
    );
    if (reply.status !== 202) throw new Error(JSON.stringify(reply.body));
    for (const id of reply.body.source_ids) documentOf.set(id, document.id);
    last = reply.body.job_id;
  }
  // Jobs are worked through in the order of their submission.
  for (let status = 'running'; status === 'running';)
    status = (await server.call<{ status: string }>('GET', `/v1/ingestions/${last}`)).body.status;
  return documentOf;
}

/** Documents of a question with a grade, in the order of the judgments. */
export function graded({ grades }: OidaQuestion, grade: number): string[] {
  return [...grades].filter(([, given]) => given === grade).map(([id]) => id);
}

const QUOTE_MAX = 500;

/** The line of a document that names most of a subject: what a reviewer would quote, word for word. */
export function quoteFor(text: string, label: string): string {
  const wanted = new Set<string>();
  eachWord(label.toLowerCase(), (word) => wanted.add(word.slice(0, 6)));
  const lines = text
    .split(/\n+/)
    .map((line) => line.trim())
    .filter((line) => line.length > 20);
  const naming = (line: string): number => {
    const named = new Set<string>();
    eachWord(line.toLowerCase(), (word) => {
      if (wanted.has(word.slice(0, 6))) named.add(word.slice(0, 6));
    });
    return named.size;
  };
  const best = lines.reduce((a, b) => (naming(b) > naming(a) ? b : a), lines[0] ?? text);
  return best.length <= QUOTE_MAX ? best : best.slice(0, best.lastIndexOf(' ', QUOTE_MAX));
}

/**
 * What a reviewer who read the corpus would record of a question whose answer changed: its superseded documents as a decision, and
 * its binding ones as the decision that replaced it. The decision in force.
 */
export async function recordOida(
  server: TestApplication,
  corpus: OidaCorpus,
  question: OidaQuestion,
): Promise<string> {
  const record = async (id: string, value: string, supersedes: string[]): Promise<string> => {
    const document = corpus.documents.get(id);
    if (!document) throw new Error(`no document ${id}`);
    const quote = quoteFor(document.text, question.label);
    const job = (await server.ingest({
      source: sourceOf(document),
      records: [
        {
          topic: question.label,
          statement: quote,
          value,
          status: 'approved',
          supersedes,
          evidence: [{ quote }],
        },
      ],
    })) as { records: { outcome: string; decision_id: string; reason?: string }[] };
    const [outcome] = job.records;
    if (outcome?.outcome !== 'stored') throw new Error(JSON.stringify(job));
    return outcome.decision_id;
  };
  const before: string[] = [];
  for (const id of graded(question, 2)) before.push(await record(id, 'before', []));
  const inForce: string[] = [];
  for (const id of graded(question, 3))
    inForce.push(await record(id, 'in force', inForce.length > 0 ? [] : before.slice(0, 1)));
  return inForce[0] ?? '';
}
