import { seen, type Known } from '../domain/claim-view.js';
import type { Difference } from '../domain/ontology-diff.js';
import type { Reads } from '#projections/read-database.js';
import type { TimelineEntry } from '../contract.js';
import { knownPosition } from './knowledge.js';
import { limitsOf } from './ontology-queries.js';
import type { VersionBody } from './ontology.js';
import { entryOf } from './timeline.js';
import { linesOf, topicById } from './topics.js';

/** What was recorded of a decision or a conflict, and in which topic. */
export interface TopicChange extends TimelineEntry {
  topic: string;
  topic_name: string;
}

/** A version of the ontology that was made, with what it changed. */
export interface OntologyChange {
  position: string;
  recorded_at: string;
  version: number;
  kind: VersionBody['kind'];
  proposed_by: string;
  approved_by: string;
  reason?: string;
  diff: Difference[];
}

/** Two moments of recorded time, the earlier first: what was known at the one and what at the other. */
export interface Between {
  from: Known;
  to: Known;
}

const PAGE = 200;

/** What was recorded of decisions and conflicts between two moments, in the order of the log; of one topic and those merged into it, or of all. */
export function* topicChanges(
  reads: Reads,
  workspace: string,
  { from, to }: Between,
  topic?: string,
): Generator<TopicChange> {
  const upTo = knownPosition(reads, workspace, to);
  const lines = topic === undefined ? undefined : linesOf(reads, workspace, topic, to);
  let after = knownPosition(reads, workspace, from);
  for (;;) {
    const rows = reads.all(
      `SELECT t.topic, t.position, t.recorded_at, t.actor, t.body, c.body AS claim
         FROM timeline t JOIN claim c ON c.workspace = t.workspace AND c.topic = t.topic AND c.id = t.decision
        WHERE t.workspace = ? AND t.position > ? AND t.position <= ?
          ${lines === undefined ? '' : 'AND t.topic IN (SELECT value FROM json_each(?))'}
        ORDER BY t.position LIMIT ${PAGE}`,
      workspace,
      after,
      upTo,
      ...(lines === undefined ? [] : [JSON.stringify(lines)]),
    );
    for (const row of rows) {
      const line = row['topic'] as string;
      const name = topicById(reads, workspace, line, to)?.name ?? line;
      yield { ...entryOf(row), topic: line, topic_name: name };
    }
    const last = rows.at(-1);
    if (!last || rows.length < PAGE) return;
    after = last['position'] as number;
  }
}

/** The versions of the ontology that were made between two moments. */
export function* ontologyChanges(
  reads: Reads,
  workspace: string,
  { from, to }: Between,
): Generator<OntologyChange> {
  const rows = reads.all(
    `SELECT version, position, recorded_ms, recorded_at, body FROM ontology_version
      WHERE workspace = ? AND position <= ? AND recorded_ms <= ? ORDER BY version`,
    workspace,
    ...limitsOf(to),
  );
  for (const row of rows) {
    const at = { position: row['position'] as number, ms: row['recorded_ms'] as number };
    if (seen(at, from)) continue;
    const { kind, proposed_by, approved_by, reason, diff } = JSON.parse(
      row['body'] as string,
    ) as VersionBody;
    yield {
      position: String(at.position),
      recorded_at: row['recorded_at'] as string,
      version: row['version'] as number,
      kind,
      proposed_by,
      approved_by,
      ...(reason === undefined ? {} : { reason }),
      diff,
    };
  }
}
