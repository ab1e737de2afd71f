import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { decisionTools } from '../../libs/decisions/module.js';
import type { AuthorityMode } from '../../libs/kernel/context.js';
import { TestApplication } from '../support/application.js';
import { proved } from '../support/proved.js';

/** Another one each time; fixed under CI, so that a red build is about the change. */
const SEED = Number(
  process.env['MODEL_SEED'] ?? (process.env['CI'] ? 71_183_505 : Date.now() % 1_000_000_000),
);
const PEOPLE = {
  mia: ['member', 'person'],
  serge: ['member', 'service'],
  bot: ['member', 'agent'],
  piet: ['approver', 'person'],
  ada: ['admin', 'person'],
  daemon: ['admin', 'service'],
} as const;
type Name = keyof typeof PEOPLE | 'owner';
const NAMES = [...(Object.keys(PEOPLE) as Name[]), 'owner' as const];

/** Who may cause what, as the mission's table has it (O-05 to O-08). */
const GOVERNORS: Record<AuthorityMode, readonly string[]> = {
  reviewed: ['ada', 'daemon', 'owner'],
  peer: ['mia', 'serge', 'piet', 'ada', 'daemon', 'owner'],
};
const ONTOLOGY = ['ada', 'daemon', 'owner'];
const GOVERNING = /^(Decision(Approved|Confirmed|Superseded|Revoked|Rejected)|Conflict)/;
const DECIDING_ONTOLOGY = /^OntologyProposal(Approved|Rejected)$|^Topic(Merged|Absorbed)$/;

const pick = fc.nat({ max: 1_000 });
const attempt = fc.record({
  who: fc.constantFrom(...NAMES, 'mia' as const, 'bot' as const, 'owner' as const),
  tool: fc.constantFrom(
    ...['ingest', 'ingest', 'folder', 'again', 'review_decision', 'review_decision'],
    ...['resolve_conflict', 'resolve_conflict', 'edit_ontology', 'edit_ontology', 'start_ontology'],
    ...['resolve_decision_state', 'rate_answer'],
  ),
  value: fc.integer({ min: 1, max: 40 }),
  topic: fc.constantFrom('one', 'two', undefined),
  approved: fc.constantFrom(true, true, false),
  quoted: fc.constantFrom(true, true, false),
  action: pick,
  which: pick,
  target: fc.option(pick, { nil: undefined, freq: 2 }),
});
type Attempt = typeof attempt extends fc.Arbitrary<infer T> ? T : never;
type Reply = Record<string, unknown> & { error?: string };

/** The server, and what its callers have learnt of ids so far; everybody knows everything. */
class Office {
  readonly ids: string[] = [];
  readonly conflicts: string[] = [];
  readonly calls: string[] = [];
  readonly proposals: { id: string; hash: string }[] = [];
  readonly sent: object[] = [];
  readonly outcomes = new Map<string, number>();
  private requests = 0;

  constructor(
    readonly server: TestApplication,
    private readonly keys: ReadonlyMap<Name, string>,
  ) {}

  /** Through the MCP door, as any client would. */
  async call(who: Name, name: string, input: object): Promise<Reply> {
    const message = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name, arguments: input },
    };
    const response = await this.server.application.app.inject({
      method: 'POST',
      url: '/mcp',
      headers: {
        authorization: `Bearer ${this.keys.get(who) ?? ''}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2025-11-25',
      },
      payload: JSON.stringify(message),
    });
    const text = response.body.startsWith('{')
      ? response.body
      : (response.body.split('\n').find((l) => l.startsWith('data: ')) ?? '').slice(6);
    const { result, error } = JSON.parse(text) as {
      result?: { structuredContent?: Reply; content: { text: string }[] };
      error?: { message: string };
    };
    if (!result) throw new Error(`${name}: ${error?.message ?? text}`);
    return result.structuredContent ?? (JSON.parse(result.content[0]?.text ?? '{}') as Reply);
  }

  async try(a: Attempt): Promise<void> {
    const reply = await this.attempt(a);
    const what = `${a.tool} by ${a.who}: ${reply.error ?? 'done'}`;
    this.outcomes.set(what, (this.outcomes.get(what) ?? 0) + 1);
  }

  private attempt(a: Attempt): Promise<Reply> {
    switch (a.tool) {
      case 'ingest':
        return this.ingest(a.who, this.records(a));
      case 'folder':
        return this.ingest(a.who, {
          collection: 'adr',
          documents: [{ path: `000${a.value % 9}-a.md`, text: adr(a.value) }],
        });
      case 'again':
        // Somebody else's request, key and all.
        return this.ingest(
          a.who,
          this.sent[a.which % Math.max(1, this.sent.length)] ?? this.records(a),
        );
      case 'review_decision':
        return this.review(a);
      case 'resolve_conflict':
        return this.settle(a);
      case 'edit_ontology':
      case 'start_ontology':
        return this.ontology(a);
      case 'rate_answer':
        return this.call(a.who, 'rate_answer', {
          call_id: this.calls[a.which % Math.max(1, this.calls.length)] ?? `call_${'0'.repeat(32)}`,
          rating: 'correct',
        });
      default:
        return this.ask(a);
    }
  }

  private records(a: Attempt): object {
    const statement = `value is ${a.value}`;
    const target = a.target === undefined ? undefined : this.ids[a.target % this.ids.length];
    const own = a.topic !== undefined && target?.startsWith(`${a.topic}.`) === true;
    return {
      request_id: `request-${(this.requests += 1)}`,
      source: { title: 'minutes', type: 'note', text: `So: ${statement}.` },
      records: [
        {
          statement,
          value: a.value,
          status: a.approved ? 'approved' : 'candidate',
          ...(a.topic === undefined ? {} : { topic: a.topic }),
          ...(own ? { supersedes: [target] } : {}),
          ...(a.quoted ? { evidence: [{ quote: statement }] } : {}),
        },
      ],
    };
  }

  private async ingest(who: Name, input: object): Promise<Reply> {
    this.sent.push(input);
    const reply = await this.call(who, 'ingest', input);
    if (reply.error !== undefined) return reply;
    for (;;) {
      const job = await this.call(who, 'get_ingestion_status', { job_id: reply['job_id'] });
      if (job['status'] === 'running') {
        await new Promise((resolve) => setTimeout(resolve, 2));
        continue;
      }
      for (const r of job['records'] as { decision_id?: string; reason?: string }[]) {
        if (r.decision_id !== undefined) this.ids.push(r.decision_id);
        const opened = /conflict_opened (\S+)/.exec(r.reason ?? '')?.[1];
        if (opened !== undefined) this.conflicts.push(opened);
      }
      return job;
    }
  }

  private async review(a: Attempt): Promise<Reply> {
    const id = this.ids[a.which % Math.max(1, this.ids.length)] ?? 'one.000000000000';
    const action = ['approve', 'approve', 'reject', 'retract', 'revoke'][a.action % 5];
    const reply = await this.call(a.who, 'review_decision', {
      decision_id: id,
      action,
      reason: 'because I say so',
      ...(action === 'approve' && id.startsWith('~') ? { topic: 'one' } : {}),
    });
    this.conflicts.push(...((reply['conflicts_opened'] ?? []) as string[]));
    return reply;
  }

  private async settle(a: Attempt): Promise<Reply> {
    const { conflicts } = await this.call(a.who, 'find_conflicts', { status: 'open' });
    const open = conflicts as { conflict_id: string; claims: { decision_id: string }[] }[];
    const one = open[a.which % Math.max(1, open.length)];
    const conflict_id = one?.conflict_id ?? this.conflicts[0] ?? 'one.000000000000.c1';
    const winner = one?.claims[a.value % one.claims.length]?.decision_id ?? this.ids[0];
    return this.call(a.who, 'resolve_conflict', {
      conflict_id,
      reason: 'because I say so',
      ...(a.action % 3 === 0
        ? { action: 'dismiss' }
        : { action: 'resolve', winner_decision_id: winner ?? 'one.000000000000' }),
    });
  }

  private async ontology(a: Attempt): Promise<Reply> {
    const reply = await this.call(a.who, a.tool, this.ontologyInput(a));
    if (reply.error === undefined && a.action % 3 !== 0)
      this.proposals.push({
        id: String(reply['proposal_id']),
        hash: String(reply['content_hash']),
      });
    return reply;
  }

  private ontologyInput(a: Attempt): object {
    const name = `topic ${a.value}`;
    if (a.tool === 'start_ontology')
      return { description: 'what we decide about', draft: { topics: [{ name }] } };
    const proposal = this.proposals[a.which % Math.max(1, this.proposals.length)];
    if (a.action % 3 === 0 || proposal === undefined)
      return {
        action: a.action % 2 === 0 ? 'approve' : 'reject',
        proposal_id: proposal?.id ?? 'ontology-0',
        content_hash: proposal?.hash ?? '0'.repeat(64),
        reason: 'because I say so',
      };
    const merge = { op: 'merge_topics', topic: 'two', into: 'one' };
    const change = [a.action % 7 === 1 ? merge : { op: 'add_topic', name }];
    return { action: 'propose', change, reason: 'because I say so' };
  }

  private async ask(a: Attempt): Promise<Reply> {
    const reply = await this.call(a.who, 'resolve_decision_state', {
      question: a.topic ?? 'one',
      request_id: `question-${a.value}`,
    });
    if (typeof reply['call_id'] === 'string') this.calls.push(reply['call_id']);
    return reply;
  }
}

const adr = (n: number): string =>
  `# ${n % 9}. Use number ${n}\n\nDate: 2020-01-0${(n % 9) + 1}\n\n## Status\n\nAccepted\n\n## Decision\n\nWe will use number ${n}.\n`;

describe.each(['reviewed', 'peer'] as const)('in %s mode', (mode) => {
  let office: Office;
  beforeAll(async () => {
    const server = await TestApplication.start({ PRECEDENT_MODE: mode });
    const keys = new Map<Name, string>([['owner', server.key]]);
    for (const [name, [role, kind]] of Object.entries(PEOPLE))
      keys.set(name as Name, await server.member(name, role, kind));
    await server.call('POST', '/v1/workspace/settings', { answer_capture: true });
    office = new Office(server, keys);
  });
  afterAll(async () => {
    await office.server.close();
    rmSync(office.server.dir, { recursive: true, force: true });
  });

  /** Event types that each principal caused. */
  async function caused(): Promise<Map<string, Set<string>>> {
    const by = new Map<string, Set<string>>();
    const follow = { signal: new AbortController().signal, live: false };
    for await (const batch of office.server.application.ledger.store.follow(0, follow))
      for (const { type, actor } of batch)
        by.set(actor.principal, (by.get(actor.principal) ?? new Set()).add(type));
    return by;
  }

  it(`invariant 7, O-05, O-06, O-07, O-08, O-27, O-33, QO-8: nobody causes what he may not decide, by any tool or detour (MODEL_SEED=${SEED})`, async () => {
    let attempts = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(attempt, { minLength: 5, maxLength: 30, size: 'max' }),
        async (list) => {
          for (const a of list) {
            attempts += 1;
            await office.try(a);
          }
        },
      ),
      { seed: SEED, numRuns: 40, endOnFailure: true },
    );
    const by = await caused();
    const causedBy = (pattern: RegExp): string[] =>
      [...by].filter(([, types]) => [...types].some((t) => pattern.test(t))).map(([p]) => p);
    expect(causedBy(GOVERNING).filter((p) => !GOVERNORS[mode].includes(p))).toEqual([]);
    expect(causedBy(DECIDING_ONTOLOGY).filter((p) => !ONTOLOGY.includes(p))).toEqual([]);
    // What they may decide they did decide, or this proves nothing.
    expect(causedBy(/^DecisionApproved$/)).toContain('owner');
    expect(causedBy(/^DecisionApproved$/).length).toBeGreaterThan(1);
    expect(causedBy(/^Conflict(Resolved|Dismissed)$/).length).toBeGreaterThan(0);
    expect(causedBy(/^OntologyProposalApproved$/).length).toBeGreaterThan(0);
    if (mode === 'peer') expect(causedBy(/^DecisionApproved$/)).toContain('mia');
    const refused = [...office.outcomes].filter(([what]) => /: requires_/.test(what));
    proved(
      `authority in ${mode} mode`,
      {
        attempts,
        'refused for want of authority': refused.reduce((n, [, m]) => n + m, 0),
        'decided without it': 0,
      },
      `MODEL_SEED=${SEED}`,
    );
    expect(refused.some(([what]) => what.startsWith('resolve_conflict by bot'))).toBe(true);
    expect(refused.some(([what]) => what.startsWith('review_decision by bot'))).toBe(true);
    if (mode === 'reviewed')
      expect(refused.some(([what]) => what.startsWith('review_decision by mia'))).toBe(true);
  }, 240_000);

  it('O-01: the attempts above leave out no tool of the decision memory that writes', () => {
    const tried = new Set([...office.outcomes.keys()].map((what) => what.split(' ')[0]));
    const writing = decisionTools.filter((t) => !t.hints.readOnly).map((t) => t.name);
    expect(writing.filter((name) => !tried.has(name))).toEqual([]);
  });
});
