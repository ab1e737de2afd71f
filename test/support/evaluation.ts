import type { Reply, TestApplication } from './application.js';

export interface Check {
  check: string;
  result: string;
  detail?: string;
}

export interface Result {
  case: number;
  asked: { question: string; expect: Record<string, unknown> };
  observed: Record<string, unknown> & { state: string; sources: string[] };
  checks: Check[];
  before?: { checks: Check[]; differs: boolean };
}

export interface Summary {
  cases: number;
  cases_passed: number;
  checks: { pass: number; fail: number; not_applicable: number };
}

export interface Read {
  datasets?: Record<string, unknown>[];
  dataset?: Record<string, unknown>;
  cases?: unknown[];
  runs?: { run_id: string }[];
  run?: { run_id: string; summary: Summary; memory_position: string };
  compared_to?: { run_id: string };
  results?: Result[];
  next_cursor?: string;
}

export interface Prepared {
  dataset_id: string;
  dataset_hash: string;
  status: string;
  error: string;
  path: string;
  fix: string;
}

export interface Ran {
  run_id: string;
  dataset_hash: string;
  scorer_version: string;
  ontology_version: number;
  memory_position: string;
  summary: Summary;
  error: string;
}

/** A result, or the members of a refusal. */
type Said<T> = { refused: boolean } & T;

/** What the journeys of an evaluation do at one server, through REST; `tool` calls through MCP. */
export function evaluationKit(server: TestApplication) {
  const at = '/v1/evaluation';
  const review = (
    { dataset_id, dataset_hash }: Pick<Prepared, 'dataset_id' | 'dataset_hash'>,
    action = 'approve',
    key = server.key,
  ): Promise<Reply<Prepared>> =>
    server.call(
      'POST',
      `${at}/datasets/${dataset_id}/reviews`,
      { dataset_hash, action, reason: 'read' },
      key,
    );
  const prepare = (body: object, key = server.key): Promise<Reply<Prepared>> =>
    server.call('POST', `${at}/datasets`, body, key);
  return {
    prepare,
    review,
    run: (id: string, body: object = {}, key = server.key): Promise<Reply<Ran>> =>
      server.call('POST', `${at}/datasets/${id}/runs`, body, key),
    read: async (path: string, key = server.key): Promise<Read> =>
      (await server.call<Read>('GET', `${at}/${path}`, undefined, key)).body,
    export: (id: string, key = server.key): Promise<Reply<Prepared & { jsonl: string }>> =>
      server.call('GET', `${at}/datasets/${id}/export`, undefined, key),
    /** Prepares and approves, as two calls. */
    approved: async (cases: object[], name = 'set'): Promise<Prepared> => {
      const { body } = await prepare({ name, cases });
      const { status } = await review(body);
      if (status !== 200) throw new Error(JSON.stringify(body));
      return body;
    },
    tool: async <T>(name: string, args: object, key = server.key): Promise<Said<T>> => {
      const params = { name, arguments: args };
      const { body } = await server.call<{
        result?: { isError?: boolean; structuredContent?: T; content: { text: string }[] };
        error?: { message: string };
      }>('POST', '/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params }, key);
      if (!body.result) throw new Error(body.error?.message ?? 'no result');
      const { isError = false, structuredContent, content } = body.result;
      const said = structuredContent ?? (JSON.parse(content[0]?.text ?? '{}') as T);
      return { ...said, refused: isError };
    },
  };
}

/** `pfn`: how the five checks of each case came out. */
export function outcomes(results: readonly Result[] = []): string[] {
  return results.map(({ checks }) => checks.map(({ result }) => result.charAt(0)).join(''));
}

/** Stands in a captured text and nowhere else. */
export const SECRET = 'Marlowe';
/** A decision that holds in the EU, one without restriction and two that contradict one another. */
export const MINUTES = {
  source: {
    title: 'Minutes',
    type: 'meeting_notes',
    text: `${SECRET} said: payment terms are net 30 in the EU. Backups are kept 90 days. Lunch is at noon. Lunch is at one.`,
  },
  records: [
    record('payment terms', 'Net 30 in the EU', 30, 'payment terms are net 30', { region: 'eu' }),
    record('backups', 'Backups are kept 90 days', { days: 90 }, 'Backups are kept 90 days'),
    record('lunch', 'Lunch at noon', 'noon', 'Lunch is at noon'),
    record('lunch', 'Lunch at one', 'one', 'Lunch is at one'),
  ],
};

export function record(
  topic: string,
  statement: string,
  value: unknown,
  quote: string,
  scope = {},
) {
  const effective_from = '2024-01-01';
  const evidence = [{ quote }];
  return { topic, statement, value, scope, status: 'approved', effective_from, evidence };
}

/** What may be asked of those minutes, and of what is not in them. */
export const CASES = [
  {
    question: 'payment terms',
    scope: { region: 'eu' },
    expect: { state: 'verified', value: 30, scope: { region: 'eu' } },
  },
  {
    question: 'How long?',
    topic: 'backups',
    expect: { state: 'verified', value: { days: 90 }, scope: {} },
  },
  { question: 'lunch', expect: { state: 'contested' } },
  { question: 'Who won the cup?', expect: { state: 'unknown' } },
  { question: 'backups', as_of: '2023-01-01', expect: { state: 'unknown' } },
];
