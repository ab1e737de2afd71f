import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import {
  readDocumentSet,
  type DocumentFile,
  type DocumentSet,
} from '#decisions/domain/document-set.js';

/** Four real folders of decision records, and the links that a person read in them (../shared/corpora/README.md). */
const CORPUS = join(process.cwd(), '..', 'shared', 'corpora', 'adr');

interface KnownLink {
  repo: string;
  old: string;
  new: string;
  kind: string;
  stated_by: ('old' | 'new')[];
}

const known = (
  JSON.parse(readFileSync(join(CORPUS, 'links.json'), 'utf8')) as { links: KnownLink[] }
).links;

/**
 * log4brains ships a sample project for its own tests. Two records of it state a supersession, each of them, so that reading the
 * folder as one set rightly finds it; links.json lists the links of the project's own records only.
 */
const IN_SAMPLE_PROJECT = {
  newer: 'packages/core/integration-tests/ro-project/docs/adr/20201029-superseder.md',
  older: 'packages/core/integration-tests/ro-project/docs/adr/20201028-superseded-adr.md',
};

const folderOf = (repo: string): string => join(CORPUS, repo.replace('/', '__'));

function filesOf(repo: string): DocumentFile[] {
  const folder = folderOf(repo);
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => path.endsWith('.md'))
    .map((path) => ({ path, text: readFileSync(join(folder, path), 'utf8') }));
}

/** Whether `links.json` means the document at `path` by `id`: `ADR025`, `crud/0009`, `021`, or a whole file name. */
function isMeant(path: string, id: string): boolean {
  const [space, name] = id.includes('/') ? id.split('/') : ['', id];
  const file = path.slice(path.lastIndexOf('/') + 1).replace(/\.md$/, '');
  const named = file === name || file.startsWith(`${name}-`) || file.startsWith(`${name}_`);
  return named && (space === '' || path.includes(`/${space}/`));
}

interface Expected {
  repo: string;
  files: number;
  decisions: number;
  skipped: Record<string, number>;
  findings: Record<string, number>;
}

/** Counted by reading the files. */
const FOLDERS: Expected[] = [
  {
    repo: 'alphagov/forms',
    files: 59,
    decisions: 55,
    skipped: { readme: 2, template: 2 },
    // One-sided: all seven. Dangling: ADR004 names ADR045-use-forms-api.md. Ids twice: 025, 041, 029 (in the title of 028), 032
    // (in the title of 033). Status left as in the template: 030, 031, 032. Date: 023 has 08/01/24.
    findings: {
      one_sided_link: 7,
      dangling_link: 1,
      duplicate_identifier: 4,
      ambiguous_status: 3,
      unreadable_date: 1,
    },
  },
  {
    repo: 'ministryofjustice/cloud-platform',
    files: 50,
    decisions: 45,
    skipped: { readme: 1, not_a_decision: 4 },
    // Not decided here: the sign-posts 028 to 031. "Incomplete": 034, 038. Dates that may mean two days: 001, 005 to 009, 011 to
    // 014, 018, 035; a year of two figures: 004.
    findings: { one_sided_link: 1, unrecognised_status: 2, unreadable_date: 13 },
  },
  {
    repo: 'thomvaill/log4brains',
    files: 44,
    decisions: 35,
    // Neither status nor decision: 20201028-links and 20201028-links-to-another-package of the sample project.
    skipped: { readme: 1, index: 1, template: 5, not_a_decision: 2 },
    findings: {},
  },
  {
    repo: 'wikimedia/mediawiki-extensions-Wikibase',
    files: 54,
    decisions: 50,
    skipped: { index: 3, template: 1 },
    // crud/0002 reads superseded, though "the headline still applies".
    findings: { status_contradicts_links: 1 },
  },
];

function countBy(words: readonly string[]): Record<string, number> {
  return Object.fromEntries(
    [...Map.groupBy(words, (word) => word)].map(([word, all]) => [word, all.length]),
  );
}

const sets = new Map<string, DocumentSet>();
for (const { repo } of FOLDERS) sets.set(repo, readDocumentSet(filesOf(repo)));
const setOf = (repo: string): DocumentSet => sets.get(repo) ?? readDocumentSet([]);

describe.each(FOLDERS)(
  'QO-23 the records of $repo',
  ({ repo, files, decisions, skipped, findings }) => {
    it('are each a decision, or skipped for a reason', () => {
      const set = setOf(repo);
      const given = filesOf(repo);
      expect(given.length).toBe(files);
      expect([...set.decisions, ...set.skipped].map(({ path }) => path).sort()).toEqual(
        given.map(({ path }) => path).sort(),
      );
      expect(set.decisions.length).toBe(decisions);
      expect(countBy(set.skipped.map(({ reason }) => /^[a-z_]+/.exec(reason)?.[0] ?? ''))).toEqual(
        skipped,
      );
    });

    it('leave exactly the findings that are in them', () => {
      expect(countBy(setOf(repo).findings.map(({ kind }) => kind))).toEqual(findings);
    });

    it('are quoted verbatim and read the same in any order', () => {
      const given = filesOf(repo);
      for (const { path, decision } of setOf(repo).decisions) {
        if (decision === undefined) continue;
        const text = given.find((file) => file.path === path)?.text ?? '';
        expect(text.slice(decision.start, decision.end)).toBe(decision.text);
        expect(decision.text.length).toBeLessThanOrEqual(500);
      }
      expect(readDocumentSet(given.reverse())).toEqual(setOf(repo));
    });
  },
);

describe('QO-23 the links of all four folders', () => {
  const found = FOLDERS.flatMap(({ repo }) => setOf(repo).links.map((link) => ({ repo, ...link })));
  const scored = found.filter(
    ({ newer, older }) => newer !== IN_SAMPLE_PROJECT.newer || older !== IN_SAMPLE_PROJECT.older,
  );
  const matches = (link: (typeof found)[number], truth: KnownLink): boolean =>
    link.repo === truth.repo &&
    link.kind === truth.kind &&
    isMeant(link.newer, truth.new) &&
    isMeant(link.older, truth.old);

  it('B11 are those that a person read, by kind and direction', () => {
    const kinds = [...new Set([...known, ...scored].map(({ kind }) => kind))].sort();
    const lines = kinds.map((kind) => {
      const right = scored.filter(
        (link) => link.kind === kind && known.some((truth) => matches(link, truth)),
      );
      const reached = known.filter(
        (truth) => truth.kind === kind && scored.some((link) => matches(link, truth)),
      );
      const precision = right.length / scored.filter((link) => link.kind === kind).length;
      const recall = reached.length / known.filter((truth) => truth.kind === kind).length;
      expect([kind, precision, recall]).toEqual([kind, 1, 1]);
      return `${kind}: precision ${precision.toFixed(3)}, recall ${recall.toFixed(3)} (${reached.length})`;
    });
    console.log(`ADR links, 4 folders, ${known.length} known; ${lines.join('; ')}`);
    expect(scored.length).toBe(known.length);
  });

  it('B11 are stated by the sides that a person read', () => {
    for (const truth of known) {
      const link = scored.find((one) => matches(one, truth));
      const sides = truth.stated_by.map((side) => (side === 'new' ? 'newer' : 'older'));
      expect([truth.old, link?.statedBy.toSorted()]).toEqual([truth.old, sides.toSorted()]);
    }
  });

  it('are joined by one more, which the sample project of log4brains states on both sides', () => {
    const more = found.filter((link) => !scored.includes(link));
    expect(more).toEqual([
      {
        repo: 'thomvaill/log4brains',
        kind: 'supersedes',
        ...IN_SAMPLE_PROJECT,
        statedBy: ['newer', 'older'],
      },
    ]);
    const text = (path: string): string =>
      readFileSync(join(folderOf('thomvaill/log4brains'), path), 'utf8');
    expect(text(IN_SAMPLE_PROJECT.newer)).toContain('Supersedes [20201028-superseded-adr]');
    expect(text(IN_SAMPLE_PROJECT.older)).toContain('superseded by [20201029-superseder]');
  });

  it('lead to the very file where two share a number, and where the path is wrong', () => {
    const successorOf = (older: string): string | undefined =>
      found.find((link) => link.older === older)?.newer;
    expect(successorOf('ADR/ADR013-use-paper-trail-gem-for-auditing-and-record-backups.md')).toBe(
      'ADR/ADR025-remove-papertrail.md',
    );
    expect(successorOf('ADR/ADR004-store-form-schemas-in-an-api.md')).toBe(
      'ADR/ADR045-remove-forms-api.md',
    );
    const dangling = setOf('alphagov/forms').findings.filter(
      ({ kind }) => kind === 'dangling_link',
    );
    expect(dangling.map(({ documents }) => documents)).toEqual([
      ['ADR/ADR004-store-form-schemas-in-an-api.md', 'ADR/ADR045-remove-forms-api.md'],
    ]);
    expect(dangling[0]?.detail).toContain('ADR045-use-forms-api.md');
  });

  it('name each one-sided pair, the side that speaks first', () => {
    const pairs = FOLDERS.flatMap(({ repo }) =>
      setOf(repo)
        .findings.filter(({ kind }) => kind === 'one_sided_link')
        .map(({ documents }) => documents),
    );
    const expected = scored
      .filter(({ statedBy }) => statedBy.length === 1)
      .map(({ older, newer, statedBy }) =>
        statedBy[0] === 'older' ? [older, newer] : [newer, older],
      );
    expect(pairs.toSorted()).toEqual(expected.toSorted());
    expect(pairs.length).toBe(known.filter(({ stated_by }) => stated_by.length === 1).length);
  });

  it('make lines: eleven pairs, all others alone', () => {
    const lines = FOLDERS.flatMap(({ repo }) => setOf(repo).lines);
    expect(lines.flatMap(({ documents }) => documents).length).toBe(185);
    const joined = lines.filter(({ documents }) => documents.length > 1);
    expect(joined.map(({ documents }) => documents.length)).toEqual(
      Array.from({ length: 11 }, () => 2),
    );
    expect(joined.map(({ name }) => name)).toContain('Use GOV.UK Notify');
  });
});
