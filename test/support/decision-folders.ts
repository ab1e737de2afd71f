import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A decision record as people write them. */
export const record = (title: string, date: string, status: string, decision: string): string =>
  `# ${title}\n\nDate: ${date}\n\n## Status\n\n${status}\n\n## Context\n\nWe had to.\n\n## Decision\n\n${decision}\n`;

/** A folder of decision records, by path: one superseded, two in force, a proposal, and a readme. */
export const RECORDS: Readonly<Record<string, string>> = {
  '0001-use-sqlite.md': record(
    '1. Use SQLite',
    '2023-01-10',
    'Superseded by [3. Use PostgreSQL](0003-use-postgresql.md)',
    'We will keep all data in one SQLite file.',
  ),
  '0002-log-retention.markdown': record(
    '2. Keep logs for thirty days',
    '2023-02-01',
    'Accepted',
    'We will keep logs for thirty days.',
  ),
  '0003-use-postgresql.md': record(
    '3. Use PostgreSQL',
    '2024-03-01',
    'Accepted\n\nSupersedes [1. Use SQLite](0001-use-sqlite.md)',
    'We will run PostgreSQL for all services.',
  ),
  'later/0004-use-kafka.md': record(
    '4. Use Kafka',
    '2024-05-01',
    'Proposed',
    'We will use Kafka for events.',
  ),
  'README.md': '# Decisions\n\nHere we keep them.\n',
};

/** Folders of documents below one that is removed at the end. */
export class DecisionFolders {
  private constructor(readonly root: string) {}

  static async make(): Promise<DecisionFolders> {
    return new DecisionFolders(await mkdtemp(join(tmpdir(), 'precedent-cli-')));
  }

  at(name: string): string {
    return join(this.root, name);
  }

  async folder(name: string, files: Readonly<Record<string, string | Buffer>>): Promise<string> {
    const dir = this.at(name);
    await mkdir(join(dir, 'later'), { recursive: true });
    for (const [path, content] of Object.entries(files)) await writeFile(join(dir, path), content);
    return dir;
  }

  remove(): Promise<void> {
    return rm(this.root, { recursive: true });
  }
}
