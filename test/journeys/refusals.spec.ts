import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TestApplication } from '../support/application.js';

interface Problem {
  error: string;
  message: string;
  path?: string;
  issues: { path: string; problem: string }[];
  fix?: string;
}

let server: TestApplication;
let approved: string;
let candidate: string;
beforeAll(async () => {
  server = await TestApplication.start();
  const records = (topic: string, status: string) => ({
    source: { title: topic, type: 'note', text: 'We ship on Fridays.' },
    records: [
      { topic, statement: 'Ship on Fridays', status, evidence: [{ quote: 'ship on Fridays' }] },
    ],
  });
  const id = async (topic: string, status: string): Promise<string> => {
    const job = (await server.ingest(records(topic, status))) as {
      records: { decision_id: string }[];
    };
    return job.records[0]?.decision_id ?? '';
  };
  approved = await id('shipping', 'approved');
  candidate = await id('waiting', 'candidate');
});
afterAll(() => server.close());

const source = { title: 't', type: 'note', text: 'We ship on Fridays.' };
const record = { topic: 'x', statement: 's', status: 'approved', evidence: [{ quote: 'ship' }] };

/** What is wrong, where it goes, and what the refusal must name. */
const CASES: [
  string,
  { url: string; body: () => unknown; status: number; error: string; path?: string },
][] = [
  [
    'broken UTF-8',
    {
      url: 'ingestions',
      body: () =>
        Buffer.concat([
          Buffer.from('{"source":{"title":"'),
          Buffer.from([0xc3, 0x28]),
          Buffer.from('"}}'),
        ]),
      status: 400,
      error: 'invalid_encoding',
    },
  ],
  [
    'a 50 MB text',
    {
      url: 'ingestions',
      body: () => JSON.stringify({ source: { ...source, text: 'x'.repeat(50_000_000) } }),
      status: 413,
      error: 'body_too_large',
    },
  ],
  [
    'a text over the limit',
    {
      url: 'ingestions',
      body: () => ({ source: { ...source, text: 'x'.repeat(2_000_001) } }),
      status: 400,
      error: 'invalid_arguments',
      path: 'source.text',
    },
  ],
  [
    'a text over the limit in bytes',
    {
      url: 'ingestions',
      body: () => ({ source: { ...source, text: '€'.repeat(700_000) } }),
      status: 413,
      error: 'text_too_large',
      path: 'source.text',
    },
  ],
  [
    'a value over the limit',
    {
      url: 'ingestions',
      body: () => ({ source, records: [{ ...record, value: { a: 'x'.repeat(3_993) } }] }),
      status: 400,
      error: 'invalid_arguments',
      path: 'records[0].value',
    },
  ],
  [
    'an empty folder',
    {
      url: 'ingestions',
      body: () => ({ documents: [] }),
      status: 400,
      error: 'invalid_arguments',
      path: 'documents',
    },
  ],
  [
    'source and documents at once',
    {
      url: 'ingestions',
      body: () => ({ source, documents: [{ path: 'a.md', text: 'a' }] }),
      status: 400,
      error: 'invalid_arguments',
      path: 'source',
    },
  ],
  [
    'one path twice',
    {
      url: 'ingestions',
      body: () => ({
        documents: [
          { path: 'a.md', text: 'a' },
          { path: 'a.md', text: 'b' },
        ],
      }),
      status: 400,
      error: 'invalid_arguments',
      path: 'documents[1].path',
    },
  ],
  [
    'a date that is none',
    {
      url: 'ingestions',
      body: () => ({ source, records: [{ ...record, effective_from: '2026-02-30' }] }),
      status: 400,
      error: 'invalid_arguments',
      path: 'records[0].effective_from',
    },
  ],
  [
    'a time without an offset',
    {
      url: 'answers',
      body: () => ({ question: 'q', as_of: '2026-02-01T10:00' }),
      status: 400,
      error: 'invalid_arguments',
      path: 'as_of',
    },
  ],
  [
    'an unknown field',
    {
      url: 'ingestions',
      body: () => ({ source, recods: [] }),
      status: 400,
      error: 'invalid_arguments',
      path: 'recods',
    },
  ],
  [
    'an unknown field deep inside',
    {
      url: 'ingestions',
      body: () => ({ source, records: [{ ...record, efective_from: '2026-01-01' }] }),
      status: 400,
      error: 'invalid_arguments',
      path: 'records[0].efective_from',
    },
  ],
  [
    'a quote that is not in the source',
    {
      url: 'ingestions',
      body: () => ({ source, records: [{ ...record, evidence: [{ quote: 'ship on Mondays' }] }] }),
      status: 400,
      error: 'quote_not_found',
      path: 'records[0].evidence[0].quote',
    },
  ],
  [
    'a string for a truth value (B50)',
    {
      url: 'ingestions',
      body: () => ({ source, dry_run: 'false' }),
      status: 400,
      error: 'invalid_arguments',
      path: 'dry_run',
    },
  ],
  [
    'a number that a double rounds (B32)',
    {
      url: 'ingestions',
      body: () =>
        '{"source":{"title":"t","type":"n","text":"x"},"records":[{"statement":"s","status":"candidate","value":9007199254740993}]}',
      status: 400,
      error: 'invalid_arguments',
      path: 'records[0].value',
    },
  ],
  ['no JSON', { url: 'answers', body: () => '{"question":', status: 400, error: 'invalid_json' }],
  ['no object', { url: 'answers', body: () => '[1]', status: 400, error: 'invalid_arguments' }],
  [
    'a second approval',
    {
      url: 'decisions/APPROVED/reviews',
      body: () => ({ action: 'approve', reason: 'again' }),
      status: 409,
      error: 'already_decided',
      path: 'decision_id',
    },
  ],
  [
    'a revocation of a candidate',
    {
      url: 'decisions/CANDIDATE/reviews',
      body: () => ({ action: 'revoke', reason: 'no' }),
      status: 409,
      error: 'not_approved',
      path: 'decision_id',
    },
  ],
  [
    'a review without a reason',
    {
      url: 'decisions/CANDIDATE/reviews',
      body: () => ({ action: 'approve', reason: ' ' }),
      status: 400,
      error: 'invalid_arguments',
      path: 'reason',
    },
  ],
  [
    'a field that the action does not know',
    {
      url: 'decisions/CANDIDATE/reviews',
      body: () => ({ action: 'reject', reason: 'no', effective_from: '2026-01-01' }),
      status: 400,
      error: 'invalid_arguments',
      path: 'effective_from',
    },
  ],
  [
    'a decision that does not exist',
    {
      url: 'decisions/nowhere.000000000000/reviews',
      body: () => ({ action: 'approve', reason: 'yes' }),
      status: 404,
      error: 'unknown_decision',
      path: 'decision_id',
    },
  ],
];

describe('bad input is refused by name, and nothing is appended', () => {
  it.each(CASES)('%s', async (_what, expected) => {
    const end = await server.end();
    const url = `/v1/${expected.url.replace('APPROVED', approved).replace('CANDIDATE', candidate)}`;
    const reply = await server.call<Problem>('POST', url, expected.body());
    expect({ status: reply.status, error: reply.body.error }).toEqual({
      status: expected.status,
      error: expected.error,
    });
    expect(reply.headers['content-type']).toContain('application/problem+json');
    if (expected.path !== undefined) {
      expect(reply.body.path).toBe(expected.path);
      expect(reply.body.issues.map((i) => i.path)).toContain(expected.path);
    }
    expect(reply.body.issues.every((i) => i.problem !== '')).toBe(true);
    expect(reply.body.fix).toEqual(expect.any(String));
    expect(await server.end()).toBe(end);
  });

  it('B39, X-4: without a valid key everything under /v1 and /mcp is 401, before the body is read', async () => {
    const end = await server.end();
    for (const [method, url] of [
      ['GET', '/v1/workspace'],
      ['POST', '/v1/answers'],
      ['POST', '/mcp'],
      ['GET', '/mcp'],
      ['GET', '/v1/nothing-here'],
    ] as const)
      for (const key of ['', 'nonsense', `prec_TESTTEST_${'x'.repeat(40)}`]) {
        const body = method === 'POST' ? '{broken' : undefined;
        const reply = await server.call<Problem>(method, url, body, key);
        expect(reply).toMatchObject({
          status: 401,
          body: { error: 'unauthenticated', fix: expect.any(String) },
        });
        expect(reply.headers['www-authenticate']).toContain('Bearer');
      }
    expect(await server.end()).toBe(end);
  });

  it('query strings are read strictly', async () => {
    for (const query of [
      'limit=0',
      'limit=1.5',
      'limit=ten',
      'limit=',
      'limit=5&limit=6',
      'kind=nonsense',
      'colour=red',
      'cursor=abc',
    ])
      expect(await server.call<Problem>('GET', `/v1/pending?${query}`)).toMatchObject({
        status: 400,
        body: { path: query.split('=')[0] },
      });
    expect((await server.call('GET', '/v1/pending?limit=5&kind=candidate')).status).toBe(200);
    expect((await server.call('GET', '/v1/topics/shipping/history?scope[team]=a')).status).toBe(
      200,
    );
  });

  it('what does not exist is said to be nothing, whatever it may be', async () => {
    expect(await server.call<Problem>('GET', '/v1/nowhere')).toMatchObject({
      status: 404,
      body: { error: 'not_found' },
    });
    expect(await server.call<Problem>('GET', '/v1/ingestions/job_unknown')).toMatchObject({
      status: 404,
      body: { error: 'unknown_job' },
    });
  });

  it('known_at and at_least beyond the log are refused or answered, never ignored', async () => {
    const ahead = await server.call<Problem>('POST', '/v1/answers', {
      question: 'shipping',
      at_least: '999999',
    });
    expect(ahead).toMatchObject({
      status: 503,
      body: { error: 'projection_lag', path: 'at_least' },
    });
    const early = await server.call<{ state: string }>('POST', '/v1/answers', {
      question: 'shipping',
      known_at: '1',
    });
    expect(early.body.state).toBe('unknown');
  }, 20_000);
});
