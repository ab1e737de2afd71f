import { setTimeout as delay } from 'node:timers/promises';

/** What a request meets: `undefined` where no answer came, because the server died first. */
interface Reply {
  status: number;
  body: Record<string, unknown>;
}

export interface Ingestion {
  readonly requestId: string;
  readonly body: object;
  /** As the first answer said. */
  job?: string;
  position?: number;
  completed: boolean;
}

export interface Review {
  readonly decision: string;
  readonly topic: string;
  readonly action: 'approve' | 'revoke';
  /** Of the acknowledgement; absent where a retry found it stored already. */
  position?: number;
  settled: boolean;
}

interface Door {
  url: string;
  key: string;
}

const WRITERS = 8;
const SHARED_TOPICS = 5;
const COMPLETION_MS = 20_000;

/** Clients that ingest, approve and revoke until the server is gone, and remember what they were told. */
export class KillWriters {
  readonly ingestions: Ingestion[] = [];
  readonly reviews: Review[] = [];
  retried = 0;
  private readonly candidates: string[] = [];
  private readonly approved: string[] = [];

  constructor(private readonly random: () => number) {}

  get acknowledged(): number {
    return (
      this.ingestions.filter((i) => i.job !== undefined).length +
      this.reviews.filter((r) => r.position !== undefined).length
    );
  }

  /** Resolves once every writer has lost its server. */
  async run(door: Door): Promise<void> {
    const write = async (): Promise<void> => {
      while (await this.step(door));
    };
    await Promise.all(Array.from({ length: WRITERS }, write));
  }

  /** Sends again what got no answer, with the same key, and waits for every job. */
  async settle(door: Door): Promise<void> {
    for (const ingestion of this.ingestions.filter((i) => i.job === undefined)) {
      this.retried += 1;
      if (!(await this.submit(door, ingestion))) throw new Error('no answer to a retry');
    }
    for (const review of this.reviews.filter((r) => !r.settled)) {
      this.retried += 1;
      if (!(await this.review(door, review))) throw new Error('no answer to a retry');
    }
    for (const ingestion of this.ingestions.filter((i) => !i.completed))
      if (!(await this.complete(door, ingestion))) throw new Error('the server is gone');
  }

  /** One request or two; false once there is no server. */
  private async step(door: Door): Promise<boolean> {
    const roll = this.random();
    const candidate = roll < 0.3 ? this.candidates.shift() : undefined;
    if (candidate !== undefined) return this.review(door, this.toReview(candidate, 'approve'));
    const approved = roll > 0.8 ? this.approved.shift() : undefined;
    if (approved !== undefined) return this.review(door, this.toReview(approved, 'revoke'));
    const ingestion = this.newIngestion();
    this.ingestions.push(ingestion);
    return (await this.submit(door, ingestion)) && (await this.complete(door, ingestion));
  }

  private toReview(decision: string, action: Review['action']): Review {
    const topic = decision.slice(0, decision.lastIndexOf('.'));
    const review: Review = { decision, topic, action, settled: false };
    this.reviews.push(review);
    return review;
  }

  /** A candidate in a topic of its own, or a decided record in one that others decide about at the same time. */
  private newIngestion(): Ingestion {
    const n = this.ingestions.length;
    const shared = this.random() < 0.3;
    const statement = `Number ${n} is settled at ${Math.floor(this.random() * 1_000)}.`;
    const topic = shared ? `shared ${n % SHARED_TOPICS}` : `topic ${n}`;
    const status = shared ? 'approved' : 'candidate';
    const body = {
      request_id: `kill-${n}`,
      source: { title: `Note ${n}`, type: 'note', text: `They wrote: ${statement} No more.` },
      records: [{ topic, statement, status, evidence: [{ quote: statement }] }],
    };
    return { requestId: body.request_id, body, completed: false };
  }

  private async submit(door: Door, ingestion: Ingestion): Promise<boolean> {
    const reply = await send(door, 'POST', '/v1/ingestions', ingestion.body);
    if (!reply) return false;
    if (reply.status !== 202) throw unexpected('ingestion', reply);
    ingestion.job = reply.body['job_id'] as string;
    ingestion.position = Number(reply.body['position']);
    return true;
  }

  private async complete(door: Door, ingestion: Ingestion): Promise<boolean> {
    const { job = '' } = ingestion;
    for (const from = performance.now(); performance.now() - from < COMPLETION_MS; await delay(5)) {
      const reply = await send(door, 'GET', `/v1/ingestions/${job}`);
      if (!reply) return false;
      if (reply.status !== 200) throw unexpected(`acknowledged job ${job}`, reply);
      if (reply.body['status'] !== 'completed') continue;
      ingestion.completed = true;
      for (const record of reply.body['records'] as { outcome: string; decision_id: string }[])
        if (record.outcome === 'queued') this.candidates.push(record.decision_id);
      return true;
    }
    throw new Error(`acknowledged job ${job} does not complete`);
  }

  private async review(door: Door, review: Review): Promise<boolean> {
    const { decision, action } = review;
    const path = `/v1/decisions/${encodeURIComponent(decision)}/reviews`;
    const reply = await send(door, 'POST', path, { action, reason: 'as agreed' });
    if (!reply) return false;
    if (reply.status === 200) review.position = Number(reply.body['position']);
    else if (reply.body['error'] !== 'already_decided') throw unexpected(action, reply);
    review.settled = true;
    if (action === 'approve') this.approved.push(decision);
    return true;
  }
}

async function send(
  { url, key }: Door,
  method: 'GET' | 'POST',
  path: string,
  body?: object,
): Promise<Reply | undefined> {
  try {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  } catch {
    return undefined;
  }
}

function unexpected(what: string, { status, body }: Reply): Error {
  return new Error(`${what}: ${status} ${JSON.stringify(body)}`);
}

export interface Timeline {
  timeline: { position: string; kind: string; decision_id: string }[];
}

export async function historyOf(door: Door, topic: string): Promise<Timeline> {
  const reply = await send(
    door,
    'GET',
    `/v1/topics/${encodeURIComponent(topic)}/history?limit=200`,
  );
  if (reply?.status !== 200) throw new Error(`no history of ${topic}`);
  return reply.body as unknown as Timeline;
}
