import { expect } from '@jest/globals';
import type { Reply, TestApplication } from './application.js';

export interface Refused {
  error: string;
  path?: string;
  fix?: string;
  issues: { path: string; problem: string }[];
}

export interface Proposed {
  proposal_id: string;
  content_hash: string;
  status: string;
  position: string;
  version?: number;
  diff: { kind: string; what: string; id: string }[];
}

export interface Overview {
  active: {
    version: number;
    topics: { id: string; name: string; aliases: string[]; parent?: string; succession: string }[];
    merged: { topic: string; into: string }[];
  };
  requested?: { version: number; topics: { id: string }[] };
  versions: { version: number; approved_by: string; kind: string; diff: { id: string }[] }[];
  proposals: { proposal_id: string; status: string; content_hash: string }[];
}

export interface Answer {
  state: string;
  ontology_version: number;
  position: string;
  topic?: { topic: string; name: string };
  decision?: { id: string; topic: string; value?: unknown };
  alternatives: { id: string; value?: unknown }[];
  conflicts: { id: string; claims: string[] }[];
  candidate_topics: { topic: string; name: string }[];
}

/** What the journeys of an ontology do at one server, through REST. */
export function ontologyKit(server: TestApplication) {
  const edit = <T = Proposed>(body: object, key = server.key): Promise<Reply<T>> =>
    server.call<T>('POST', '/v1/ontology/changes', body, key);
  const approve = <T = Proposed>(
    { proposal_id, content_hash }: Pick<Proposed, 'proposal_id' | 'content_hash'>,
    key = server.key,
  ): Promise<Reply<T>> => edit<T>({ action: 'approve', proposal_id, content_hash }, key);
  return {
    edit,
    approve,
    draft: <T = Proposed>(body: object, key = server.key) =>
      server.call<T>('POST', '/v1/ontology/drafts', body, key),
    overview: async (query = '') =>
      (await server.call<Overview>('GET', `/v1/ontology${query}`)).body,
    /** Proposes and approves, as two calls. */
    change: async (...change: object[]): Promise<Proposed> => {
      const proposed = await edit({ action: 'propose', change });
      expect([proposed.status, proposed.body]).toEqual([200, expect.anything()]);
      const approved = await approve(proposed.body);
      expect(approved.body.status).toBe('approved');
      return approved.body;
    },
    ask: async (input: object): Promise<Answer> =>
      (await server.call<Answer>('POST', '/v1/answers', { question: 'q', ...input })).body,
    /** One record with itself as its own evidence; returns its decision id. */
    record: async (topic: string, statement: string, more: object = {}): Promise<string> => {
      const job = await server.ingest({
        source: { title: statement, type: 'note', text: `We decided: ${statement}. So be it.` },
        records: [
          { topic, statement, status: 'approved', evidence: [{ quote: statement }], ...more },
        ],
      });
      const [outcome] = job['records'] as { decision_id: string; outcome: string }[];
      if (!outcome) throw new Error('no record');
      return outcome.decision_id;
    },
  };
}
