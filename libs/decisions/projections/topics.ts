import { nameKey, words } from '#kernel/text.js';
import { projection, when, type Meta } from '#projections/projection.js';
import type { Reads, Row, Writes } from '#projections/read-database.js';
import { isUnassigned } from '../domain/ingestion-plan.js';
import type { Known } from '../domain/resolver.js';
import { topicCodec } from '../domain/topic.events.js';

/** Topics by id, name and alias, and a word index over names, aliases and statements for questions that name none. */
export const topics = projection(
  'topics',
  1,
  {
    topic: `CREATE TABLE topic (
      workspace TEXT NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL, position INTEGER NOT NULL, recorded_ms INTEGER NOT NULL,
      PRIMARY KEY (workspace, id)) WITHOUT ROWID`,
    topic_alias: `CREATE TABLE topic_alias (
      workspace TEXT NOT NULL, name_key TEXT NOT NULL, topic TEXT NOT NULL, alias TEXT NOT NULL, position INTEGER NOT NULL,
      PRIMARY KEY (workspace, name_key, topic)) WITHOUT ROWID;
      CREATE INDEX topic_alias_topic ON topic_alias (workspace, topic, position)`,
    topic_words: `CREATE VIRTUAL TABLE topic_words USING fts5 (
      workspace UNINDEXED, topic UNINDEXED, decision UNINDEXED, words, tokenize = 'porter unicode61')`,
    topic_tally: `CREATE TABLE topic_tally (workspace TEXT PRIMARY KEY, n INTEGER NOT NULL) WITHOUT ROWID`,
  },
  when(topicCodec, {
    TopicOpened(tables, data, meta) {
      if (isUnassigned(data.topic)) return;
      tables.run(
        'INSERT INTO topic VALUES (?, ?, ?, ?, ?)',
        meta.workspace,
        data.topic,
        data.name,
        meta.position,
        meta.recordedMs,
      );
      alias(tables, meta, data.topic, data.topic);
      alias(tables, meta, data.topic, data.name);
      index(tables, meta, data.topic, '', data.name);
      tables.run(
        'INSERT INTO topic_tally VALUES (?, 1) ON CONFLICT (workspace) DO UPDATE SET n = n + 1',
        meta.workspace,
      );
    },
    TopicAliased(tables, data, meta) {
      for (const name of data.aliases) alias(tables, meta, data.topic, name);
      index(tables, meta, data.topic, '', data.aliases.join(' '));
    },
    DecisionProposed(tables, data, meta) {
      const topic = meta.stream.slice(`topic-${meta.workspace}-`.length);
      if (isUnassigned(topic)) return;
      const excerpts = data.evidence.map((e) => e.excerpt).join(' ');
      index(tables, meta, topic, data.decision_id, `${data.statement} ${excerpts}`);
    },
  }),
);

function alias(tables: Writes, meta: Meta, topic: string, name: string): void {
  tables.run(
    'INSERT OR IGNORE INTO topic_alias VALUES (?, ?, ?, ?, ?)',
    meta.workspace,
    nameKey(name),
    topic,
    name,
    meta.position,
  );
}

function index(tables: Writes, meta: Meta, topic: string, decision: string, text: string): void {
  tables.run(
    'INSERT INTO topic_words (workspace, topic, decision, words) VALUES (?, ?, ?, ?)',
    meta.workspace,
    topic,
    decision,
    words(text).join(' '),
  );
}

export interface TopicName {
  topic: string;
  name: string;
}

/** Topics that an id, name or alias stands for: one, none, or several that share it. */
export function topicsNamed(
  reads: Reads,
  workspace: string,
  name: string,
  known: Known = { position: Infinity, ms: Infinity },
): TopicName[] {
  const rows = reads.all(
    `SELECT t.id, t.name, t.position, t.recorded_ms FROM topic_alias a
       JOIN topic t ON t.workspace = a.workspace AND t.id = a.topic
      WHERE a.workspace = ? AND a.name_key = ? ORDER BY t.id LIMIT 20`,
    workspace,
    nameKey(name),
  );
  return rows.filter((row) => wasKnown(row, known)).map(nameOf);
}

function wasKnown(row: Row, known: Known): boolean {
  return (
    (row['position'] as number) <= known.position && (row['recorded_ms'] as number) <= known.ms
  );
}

function nameOf(row: Row): TopicName {
  return { topic: row['id'] as string, name: row['name'] as string };
}

export function aliasesOf(reads: Reads, workspace: string, topic: string): string[] {
  const rows = reads.all(
    'SELECT alias FROM topic_alias WHERE workspace = ? AND topic = ? ORDER BY position, alias LIMIT 200',
    workspace,
    topic,
  );
  return rows.map((row) => row['alias'] as string).filter((name) => name !== topic);
}

export interface Match extends TopicName {
  /** Decision whose words matched best; none where the name itself did. */
  decision?: string;
}

const MATCHES = 8;

/** Topics whose words are nearest to a text, best first. Suggestions only: never a decision. */
export function topicsLike(reads: Reads, workspace: string, text: string): Match[] {
  const terms = [...new Set(words(text))].slice(0, 32);
  if (terms.length === 0) return [];
  const rows = reads.all(
    `SELECT w.topic AS id, w.decision, t.name FROM topic_words w
       JOIN topic t ON t.workspace = w.workspace AND t.id = w.topic
      WHERE topic_words MATCH ? AND w.workspace = ? ORDER BY rank LIMIT ${MATCHES * 4}`,
    terms.map((term) => `"${term}"`).join(' OR '),
    workspace,
  );
  const best = new Map<string, Match>();
  for (const row of rows) {
    const { topic, name } = nameOf(row);
    const decision = row['decision'] as string;
    const found = best.get(topic);
    if (!found) best.set(topic, { topic, name, ...(decision === '' ? {} : { decision }) });
    else if (found.decision === undefined && decision !== '') found.decision = decision;
  }
  return [...best.values()].slice(0, MATCHES);
}

export function topicCount(reads: Reads, workspace: string): number {
  return (reads.get('SELECT n FROM topic_tally WHERE workspace = ?', workspace)?.['n'] ??
    0) as number;
}
