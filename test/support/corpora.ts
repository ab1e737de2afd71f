import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative, resolve, sep } from 'node:path';

/** Real inputs with ground truth live beside the project, not in it. */
export const CORPORA = resolve(process.env['PRECEDENT_CORPORA'] ?? '../shared/corpora');

/** Without the corpora (a checkout on its own) these tests cannot prove anything: they say so and are counted as skipped. */
export const hasCorpora = existsSync(join(CORPORA, 'adr', 'links.json'));
if (!hasCorpora)
  process.stderr.write(`corpora not found at ${CORPORA}: tests on them are SKIPPED\n`);

export const ADR_FOLDERS = [
  'alphagov__forms',
  'ministryofjustice__cloud-platform',
  'thomvaill__log4brains',
  'wikimedia__mediawiki-extensions-Wikibase',
] as const;

/** Every Markdown file of a folder of the ADR corpus. */
export function adrDocuments(folder: string): { path: string; text: string }[] {
  const root = join(CORPORA, 'adr', folder);
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .map((name) => join(root, name))
    .filter((file) => file.endsWith('.md') && statSync(file).isFile())
    .map((file) => ({
      path: relative(root, file).split(sep).join('/'),
      text: readFileSync(file, 'utf8'),
    }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

export interface AdrLink {
  repo: string;
  old: string;
  new: string;
  kind: 'supersedes' | 'partially_supersedes' | 'amends' | 'withdraws';
  stated_by: ('old' | 'new')[];
}

export function adrLinks(folder: string): AdrLink[] {
  const { links } = JSON.parse(readFileSync(join(CORPORA, 'adr', 'links.json'), 'utf8')) as {
    links: AdrLink[];
  };
  return links.filter((l) => l.repo.replace('/', '__') === folder);
}
