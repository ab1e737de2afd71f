import { canonicalJson, sha256 } from '#kernel/json.js';
import { nameKey } from '#kernel/text.js';
import { projection, when, type Meta } from '#projections/projection.js';
import type { Reads, Writes } from '#projections/read-database.js';
import { EMPTY } from '../domain/ontology-content.js';
import { differences, type Difference } from '../domain/ontology-diff.js';
import { leadsTo, type Proposal } from '../domain/ontology-state.js';
import { ontologyCodec, type OntologyContent } from '../domain/ontology.events.js';

/** A proposal as it was made; what became of it stands beside it. */
export interface ProposalBody {
  proposal_id: string;
  kind: 'ontology' | 'change' | 'rollback';
  base_version: number;
  to_version?: number;
  content_hash: string;
  proposed_by: string;
  proposed_at: string;
  reason?: string;
  leads: Proposal['leads'];
}

/** What a version is beside its content. */
export interface VersionBody {
  proposal_id: string;
  kind: ProposalBody['kind'];
  to_version?: number;
  proposed_by: string;
  approved_by: string;
  reason?: string;
  diff: Difference[];
}

/** Versions of each workspace's ontology, the proposals for them, and the names of declared topics with the time for which each was known. */
export const ontology = projection(
  'ontology',
  2,
  {
    ontology_version: `CREATE TABLE ontology_version (
      workspace TEXT NOT NULL, version INTEGER NOT NULL, position INTEGER NOT NULL, recorded_ms INTEGER NOT NULL,
      recorded_at TEXT NOT NULL, sha256 TEXT NOT NULL, body TEXT NOT NULL, content TEXT NOT NULL,
      PRIMARY KEY (workspace, version)) WITHOUT ROWID`,
    ontology_proposal: `CREATE TABLE ontology_proposal (
      workspace TEXT NOT NULL, id TEXT NOT NULL, position INTEGER NOT NULL, recorded_ms INTEGER NOT NULL,
      base_version INTEGER NOT NULL, status TEXT NOT NULL, closed_position INTEGER, closed_ms INTEGER, closed_at TEXT, closed_by TEXT, closed_reason TEXT,
      body TEXT NOT NULL, PRIMARY KEY (workspace, id)) WITHOUT ROWID;
      CREATE INDEX ontology_proposal_order ON ontology_proposal (workspace, position)`,
    ontology_name: `CREATE TABLE ontology_name (
      workspace TEXT NOT NULL, name_key TEXT NOT NULL, topic TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL,
      from_position INTEGER NOT NULL, from_ms INTEGER NOT NULL, to_position INTEGER, to_ms INTEGER,
      PRIMARY KEY (workspace, name_key, topic, from_position)) WITHOUT ROWID;
      CREATE INDEX ontology_name_topic ON ontology_name (workspace, topic, kind, from_position)`,
    ontology_merge: `CREATE TABLE ontology_merge (
      workspace TEXT NOT NULL, topic TEXT NOT NULL, target TEXT NOT NULL, position INTEGER NOT NULL, recorded_ms INTEGER NOT NULL,
      PRIMARY KEY (workspace, topic)) WITHOUT ROWID`,
  },
  when(ontologyCodec, {
    OntologyProposed(tables, data, meta) {
      keep(tables, meta, { ...bodyOf('ontology', data, meta), leads: { change: data.change } });
    },
    OntologyChangeProposed(tables, data, meta) {
      keep(tables, meta, { ...bodyOf('change', data, meta), leads: { change: data.change } });
    },
    OntologyRollbackPrepared(tables, data, meta) {
      keep(tables, meta, {
        ...bodyOf('rollback', data, meta),
        to_version: data.to_version,
        leads: { content: data.content },
      });
    },
    OntologyProposalApproved(tables, data, meta) {
      const proposal = bodyById(tables, meta.workspace, data.proposal_id);
      if (!proposal) return;
      close(tables, meta, data.proposal_id, 'approved', data.reason);
      addVersion(tables, meta, data.version, proposal, data.reason);
      for (const { topic, into } of data.merges)
        tables.run(
          'INSERT INTO ontology_merge VALUES (?, ?, ?, ?, ?)',
          meta.workspace,
          topic,
          into,
          meta.position,
          meta.recordedMs,
        );
    },
    OntologyProposalRejected(tables, data, meta) {
      close(tables, meta, data.proposal_id, 'rejected', data.reason);
    },
  }),
);

function bodyOf(
  kind: ProposalBody['kind'],
  data: {
    proposal_id: string;
    base_version: number;
    content_hash: string;
    proposed_by: string;
    reason?: string;
  },
  meta: Meta,
): Omit<ProposalBody, 'leads'> {
  const { proposal_id, base_version, content_hash, proposed_by, reason } = data;
  return {
    proposal_id,
    kind,
    base_version,
    content_hash,
    proposed_by,
    proposed_at: meta.recordedAt,
    ...(reason === undefined ? {} : { reason }),
  };
}

function keep(tables: Writes, meta: Meta, body: ProposalBody): void {
  tables.run(
    `INSERT INTO ontology_proposal VALUES (?, ?, ?, ?, ?, 'open', NULL, NULL, NULL, NULL, NULL, ?)`,
    meta.workspace,
    body.proposal_id,
    meta.position,
    meta.recordedMs,
    body.base_version,
    JSON.stringify(body),
  );
}

function bodyById(tables: Reads, workspace: string, id: string): ProposalBody | undefined {
  const row = tables.get(
    'SELECT body FROM ontology_proposal WHERE workspace = ? AND id = ?',
    workspace,
    id,
  );
  return row && (JSON.parse(row['body'] as string) as ProposalBody);
}

function close(
  tables: Writes,
  meta: Meta,
  id: string,
  status: string,
  reason: string | undefined,
): void {
  tables.run(
    `UPDATE ontology_proposal SET status = ?, closed_position = ?, closed_ms = ?, closed_at = ?, closed_by = ?, closed_reason = ?
      WHERE workspace = ? AND id = ?`,
    status,
    meta.position,
    meta.recordedMs,
    meta.recordedAt,
    meta.actor.principal,
    reason ?? null,
    meta.workspace,
    id,
  );
}

function addVersion(
  tables: Writes,
  meta: Meta,
  version: number,
  proposal: ProposalBody,
  reason: string | undefined,
): void {
  const before = contentIn(tables, meta.workspace, version - 1);
  const content = leadsTo(proposal, before);
  const { proposal_id, kind, to_version, proposed_by } = proposal;
  const body: VersionBody = {
    proposal_id,
    kind,
    ...(to_version === undefined ? {} : { to_version }),
    proposed_by,
    approved_by: meta.actor.principal,
    ...(reason === undefined ? {} : { reason }),
    diff: differences(before, content),
  };
  const text = canonicalJson(content);
  tables.run(
    'INSERT INTO ontology_version VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
    meta.workspace,
    version,
    meta.position,
    meta.recordedMs,
    meta.recordedAt,
    sha256(text),
    JSON.stringify(body),
    text,
  );
  rename(tables, meta, before, content);
}

/** The ontology of a version; version 0 is empty. */
export function contentIn(reads: Reads, workspace: string, version: number): OntologyContent {
  const row = reads.get(
    'SELECT content FROM ontology_version WHERE workspace = ? AND version = ?',
    workspace,
    version,
  );
  return row ? (JSON.parse(row['content'] as string) as OntologyContent) : EMPTY;
}

interface Named {
  topic: string;
  kind: 'id' | 'name' | 'alias';
  name: string;
}

/** Ends the names that a version takes away and begins those that it brings. */
function rename(tables: Writes, meta: Meta, before: OntologyContent, after: OntologyContent): void {
  const [had, has] = [namesIn(before), namesIn(after)];
  for (const [key, { topic }] of had)
    if (!has.has(key))
      tables.run(
        `UPDATE ontology_name SET to_position = ?, to_ms = ?
          WHERE workspace = ? AND name_key = ? AND topic = ? AND to_position IS NULL`,
        meta.position,
        meta.recordedMs,
        meta.workspace,
        nameKey(had.get(key)?.name ?? ''),
        topic,
      );
  for (const [key, { topic, kind, name }] of has)
    if (!had.has(key))
      tables.run(
        'INSERT INTO ontology_name VALUES (?, ?, ?, ?, ?, ?, ?, NULL, NULL)',
        meta.workspace,
        nameKey(name),
        topic,
        kind,
        name,
        meta.position,
        meta.recordedMs,
      );
}

/** One entry for a topic and the folded form of a name: where its name is also its id, that it is the name is what counts. */
function namesIn({ topics }: OntologyContent): Map<string, Named> {
  const names = new Map<string, Named>();
  for (const { id, name, aliases } of topics) {
    const own = new Map<string, Named>();
    const add = (kind: Named['kind'], text: string): void => {
      own.set(nameKey(text), { topic: id, kind, name: text });
    };
    for (const alias of aliases) add('alias', alias);
    add('id', id);
    add('name', name);
    for (const [key, named] of own) names.set(`${id}\n${key}\n${named.kind}\n${named.name}`, named);
  }
  return names;
}
