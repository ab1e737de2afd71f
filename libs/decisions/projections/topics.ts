import { nameKey } from '#kernel/text.js';
import { projection, when, type Meta } from '#projections/projection.js';
import type { Reads, Writes } from '#projections/read-database.js';
import { isUnassigned } from '../domain/ingestion-plan.js';
import type { Known } from '../domain/claim-view.js';
import { topicCodec } from '../domain/topic.events.js';
import { ontology } from './ontology.js';
import { LATEST, limitsOf } from './ontology-queries.js';

/**
 * Topics that records opened, by id, name and alias, and which of them were joined. The names of declared ones are in `ontology`.
 * `name`: what the topic was opened with, beside each of its aliases, since an answer shows it.
 */
export const topics = projection(
  'topics',
  5,
  {
    topic_alias: `CREATE TABLE topic_alias (
      workspace TEXT NOT NULL, name_key TEXT NOT NULL, topic TEXT NOT NULL, alias TEXT NOT NULL, name TEXT NOT NULL,
      position INTEGER NOT NULL, recorded_ms INTEGER NOT NULL,
      PRIMARY KEY (workspace, name_key, topic)) WITHOUT ROWID;
      CREATE INDEX topic_alias_topic ON topic_alias (workspace, topic, position)`,
    topic_merge: `CREATE TABLE topic_merge (
      workspace TEXT NOT NULL, topic TEXT NOT NULL, target TEXT NOT NULL, position INTEGER NOT NULL, recorded_ms INTEGER NOT NULL,
      PRIMARY KEY (workspace, topic)) WITHOUT ROWID;
      CREATE INDEX topic_merge_target ON topic_merge (workspace, target)`,
    topic_tally: `CREATE TABLE topic_tally (workspace TEXT PRIMARY KEY, n INTEGER NOT NULL) WITHOUT ROWID`,
  },
  when(topicCodec, {
    TopicOpened(tables, data, meta) {
      if (isUnassigned(data.topic)) return;
      for (const alias of [data.topic, data.name])
        tables.run(
          'INSERT OR IGNORE INTO topic_alias VALUES (?, ?, ?, ?, ?, ?, ?)',
          meta.workspace,
          nameKey(alias),
          data.topic,
          alias,
          data.name,
          meta.position,
          meta.recordedMs,
        );
      tally(tables, meta, 1);
    },
    TopicAliased(tables, { topic, aliases }, meta) {
      for (const alias of aliases)
        tables.run(
          `INSERT OR IGNORE INTO topic_alias SELECT ?1, ?4, ?2, ?5, name, ?6, ?7 FROM topic_alias WHERE ${OWN}`,
          ...own(meta.workspace, topic),
          nameKey(alias),
          alias,
          meta.position,
          meta.recordedMs,
        );
    },
    TopicAbsorbed(tables, data, meta) {
      if (data.more) return;
      const target = meta.stream.slice(`topic-${meta.workspace}-`.length);
      tables.run(
        'INSERT INTO topic_merge VALUES (?, ?, ?, ?, ?)',
        meta.workspace,
        data.topic,
        target,
        meta.position,
        meta.recordedMs,
      );
      if (openedName(tables, meta.workspace, data.topic) !== undefined) tally(tables, meta, -1);
    },
  }),
);

/** The row of a topic's own id: it is there from when the topic was opened. */
const OWN = 'workspace = ?1 AND topic = ?2 AND name_key = ?3';

function own(workspace: string, topic: string): [string, string, string] {
  return [workspace, topic, nameKey(topic)];
}

/** The name that a topic was opened with; undefined where no record opened it. */
export function openedName(reads: Reads, workspace: string, topic: string): string | undefined {
  const row = reads.get(`SELECT name FROM topic_alias WHERE ${OWN}`, ...own(workspace, topic));
  return row?.['name'] as string | undefined;
}

function tally(tables: Writes, meta: Meta, by: number): void {
  tables.run(
    'INSERT INTO topic_tally VALUES (?1, ?2) ON CONFLICT (workspace) DO UPDATE SET n = n + ?2',
    meta.workspace,
    by,
  );
}

export interface TopicName {
  topic: string;
  name: string;
}

const NAMESAKES_MAX = 20;

/**
 * Topics that an id, name or alias stands for, as far as was known: one, none, or several that share it. Names from records and from
 * the ontology count alike; only the exact id of one of them decides between several. A merged topic is the one that it was merged into.
 */
export function topicsNamed(
  reads: Reads,
  workspace: string,
  name: string,
  known: Known = LATEST,
): TopicName[] {
  const [position, ms] = limitsOf(known);
  const isDeclared = hasAny(reads, workspace, 'ontology_name');
  const recorded = (columns: string): string => `SELECT ${columns} FROM topic_alias
      WHERE workspace = ?1 AND name_key = ?2 AND position <= ?3 AND recorded_ms <= ?4`;
  const rows = reads.all(
    !isDeclared
      ? `${recorded('topic, name')} ORDER BY topic LIMIT ${NAMESAKES_MAX}`
      : `${recorded('topic')}
      UNION SELECT topic FROM ontology_name
      WHERE workspace = ?1 AND name_key = ?2 AND from_position <= ?3 AND from_ms <= ?4
        AND NOT (to_position IS NOT NULL AND to_position <= ?3 AND to_ms <= ?4)
      ORDER BY topic LIMIT ${NAMESAKES_MAX}`,
    workspace,
    nameKey(name),
    position,
    ms,
  );
  let found = rows.map((row) => row['topic'] as string);
  if (found.length > 1) found = withoutPending(reads, workspace, found, known);
  if (found.length > 1 && found.includes(name)) found = [name];
  const homes = [...new Set(found.map((topic) => homeOf(reads, workspace, topic, known)))];
  const opened = new Map(
    isDeclared ? [] : rows.map((row) => [row['topic'], row['name'] as string]),
  );
  return homes.flatMap((topic) => {
    const openedAs = opened.get(topic);
    return openedAs === undefined
      ? (topicById(reads, workspace, topic, known) ?? [])
      : { topic, name: openedAs };
  });
}

/** Most workspaces have nothing in these tables; then no query looks there. */
function hasAny(reads: Reads, workspace: string, table: 'ontology_name' | 'topic_merge'): boolean {
  const sql = `SELECT 1 AS found FROM ${table} WHERE workspace = ? LIMIT 1`;
  const model = table === 'topic_merge' ? topics : ontology;
  return reads.memo(model, `${table} ${workspace}`, () => reads.get(sql, workspace) !== undefined);
}

/** While a merge is approved and not yet done, the name of the one topic is declared for the other already: it still means the one. */
function withoutPending(
  reads: Reads,
  workspace: string,
  found: readonly string[],
  known: Known,
): string[] {
  const [position, ms] = limitsOf(known);
  const targets = found.flatMap((topic) => {
    const row = reads.get(
      'SELECT target FROM ontology_merge WHERE workspace = ? AND topic = ? AND position <= ? AND recorded_ms <= ?',
      workspace,
      topic,
      position,
      ms,
    );
    const done = homeOf(reads, workspace, topic, known) !== topic;
    return row && !done ? [row['target'] as string] : [];
  });
  return found.filter((topic) => !targets.includes(topic));
}

/** Topics that records opened under a name, whatever the ontology says of it. */
export function recordedTopics(reads: Reads, workspace: string, name: string): TopicName[] {
  const rows = reads.all(
    `SELECT topic, name FROM topic_alias WHERE workspace = ? AND name_key = ? ORDER BY topic LIMIT ${NAMESAKES_MAX}`,
    workspace,
    nameKey(name),
  );
  return rows.map((row) => ({ topic: row['topic'] as string, name: row['name'] as string }));
}

/** Undefined where it did not exist as far as was known. Its name is the declared one, else the one that it was opened with. */
export function topicById(
  reads: Reads,
  workspace: string,
  id: string,
  known: Known,
): TopicName | undefined {
  const [position, ms] = limitsOf(known);
  const row = reads.get(
    `SELECT coalesce(
        (SELECT name FROM ontology_name WHERE workspace = ?1 AND topic = ?2 AND kind = 'name'
            AND from_position <= ?4 AND from_ms <= ?5
            AND NOT (to_position IS NOT NULL AND to_position <= ?4 AND to_ms <= ?5)
          ORDER BY from_position DESC LIMIT 1),
        (SELECT name FROM topic_alias WHERE ${OWN} AND position <= ?4 AND recorded_ms <= ?5)) AS name`,
    ...own(workspace, id),
    position,
    ms,
  );
  const name = row?.['name'] as string | null | undefined;
  return typeof name === 'string' ? { topic: id, name } : undefined;
}

/** The topic in which a topic's decisions stand, as far as was known: itself, or what it was merged into. */
export function homeOf(
  reads: Reads,
  workspace: string,
  topic: string,
  known: Known = LATEST,
): string {
  if (!hasAny(reads, workspace, 'topic_merge')) return topic;
  const [position, ms] = limitsOf(known);
  const seen = new Set<string>();
  let at = topic;
  while (!seen.has(at)) {
    seen.add(at);
    const row = reads.get(
      'SELECT target FROM topic_merge WHERE workspace = ? AND topic = ? AND position <= ? AND recorded_ms <= ?',
      workspace,
      at,
      position,
      ms,
    );
    if (row) at = row['target'] as string;
  }
  return at;
}

/** The topic and every one that was merged into it, as far as was known. Decisions keep the topic in whose stream they were proposed. */
export function linesOf(
  reads: Reads,
  workspace: string,
  topic: string,
  known: Known = LATEST,
): string[] {
  if (!hasAny(reads, workspace, 'topic_merge')) return [topic];
  const [position, ms] = limitsOf(known);
  const lines = new Set([topic]);
  for (const line of lines)
    for (const row of reads.all(
      `SELECT topic FROM topic_merge WHERE workspace = ? AND target = ? AND position <= ? AND recorded_ms <= ?
        ORDER BY position`,
      workspace,
      line,
      position,
      ms,
    ))
      lines.add(row['topic'] as string);
  return [...lines];
}

/** Names other than the id, declared ones and those of records, of merged topics too. */
export function aliasesOf(
  reads: Reads,
  workspace: string,
  topic: string,
  known: Known = LATEST,
): string[] {
  const [position, ms] = limitsOf(known);
  const found = new Map<string, string>();
  for (const line of linesOf(reads, workspace, topic, known)) {
    const rows = reads.all(
      `SELECT alias, position FROM topic_alias WHERE workspace = ?1 AND topic = ?2 AND position <= ?3 AND recorded_ms <= ?4
        UNION ALL SELECT name, from_position FROM ontology_name INDEXED BY ontology_name_topic
        WHERE workspace = ?1 AND topic = ?2 AND from_position <= ?3 AND from_ms <= ?4
          AND NOT (to_position IS NOT NULL AND to_position <= ?3 AND to_ms <= ?4)
        ORDER BY position, alias LIMIT 200`,
      workspace,
      line,
      position,
      ms,
    );
    for (const row of rows) {
      const alias = row['alias'] as string;
      if (!found.has(nameKey(alias))) found.set(nameKey(alias), alias);
    }
  }
  return [...found.values()].filter((alias) => alias !== topic);
}

/** Topics that records opened, and declared ones that none did yet. */
export function topicCount(reads: Reads, workspace: string): number {
  const opened = reads.get('SELECT n FROM topic_tally WHERE workspace = ?', workspace);
  const declared = reads.get(
    `SELECT count(DISTINCT o.topic) AS n FROM ontology_name o
      WHERE o.workspace = ?1 AND o.kind = 'name' AND o.to_position IS NULL
        AND NOT EXISTS (SELECT 1 FROM topic_alias t WHERE t.workspace = ?1 AND t.topic = o.topic)`,
    workspace,
  );
  return ((opened?.['n'] ?? 0) as number) + ((declared?.['n'] ?? 0) as number);
}
