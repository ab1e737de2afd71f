import { projection, when } from '#projections/projection.js';
import type { Reads } from '#projections/read-database.js';
import { documentKeyOf, topicOf } from '../domain/claim.js';
import { topicCodec } from '../domain/topic.events.js';

/** Which topics hold claims of a document, each as it was opened: a merge moves nothing here. */
export const documents = projection(
  'documents',
  1,
  {
    document_topic: `CREATE TABLE document_topic (
      workspace TEXT NOT NULL, document_key TEXT NOT NULL, topic TEXT NOT NULL, position INTEGER NOT NULL,
      PRIMARY KEY (workspace, document_key, topic)) WITHOUT ROWID`,
  },
  when(topicCodec, {
    DecisionProposed(tables, data, meta) {
      const key = documentKeyOf(data);
      const topic = topicOf(data.decision_id);
      if (key === undefined || topic === undefined) return;
      tables.run(
        'INSERT OR IGNORE INTO document_topic VALUES (?, ?, ?, ?)',
        meta.workspace,
        key,
        topic,
        meta.position,
      );
    },
  }),
);

/** The topics of each document that is known, in the order in which they came to hold it. */
export function topicsOfDocuments(
  reads: Reads,
  workspace: string,
  keys: readonly string[],
): Map<string, string[]> {
  const rows = reads.all(
    `SELECT d.document_key, d.topic FROM json_each(?) k
      CROSS JOIN document_topic d ON d.workspace = ? AND d.document_key = k.value ORDER BY d.position`,
    JSON.stringify(keys),
    workspace,
  );
  const found = new Map<string, string[]>();
  for (const row of rows) {
    const key = row['document_key'] as string;
    found.set(key, [...(found.get(key) ?? []), row['topic'] as string]);
  }
  return found;
}
