import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TestApplication } from '../support/application.js';
import { hasCorpora } from '../support/corpora.js';
import { peps, xeps, type Standard } from '../support/standards.js';

interface Finding {
  kind: string;
  documents: string[];
}

interface Job {
  counts: Record<string, number>;
  records: { path?: string }[];
  findings: Finding[];
  next_cursor?: string;
}

const numberOf = (id: string): number => Number(/\d+/.exec(id)?.[0]);
const fileOf = (kind: string, number: number): string =>
  `${kind.toLowerCase()}-${String(number).padStart(4, '0')}.md`;

/** The headers as the documents of that series carry them. */
function rendered(kind: string, { id, title, status, replaces, supersededBy }: Standard): string {
  return [
    `${kind}: ${numberOf(id)}`,
    `Title: ${title}`,
    `Status: ${status}`,
    ...(replaces.length > 0 ? [`Replaces: ${replaces.join(', ')}`] : []),
    ...(supersededBy.length > 0 ? [`Superseded-By: ${supersededBy.join(', ')}`] : []),
    '',
    `# ${title}`,
    '',
  ].join('\n');
}

interface Link {
  newer: string;
  older: string;
  /** The sides that are named; the other one speaks. */
  sides: Set<string>;
  /** One side says "in part": then nothing is retired. */
  partial: boolean;
}

/** What the headers of a series say, straight from the data. */
class Series {
  readonly files: ReadonlySet<string>;
  /** By `newer > older`. */
  readonly links = new Map<string, Link>();
  dangling = 0;

  constructor(
    readonly kind: string,
    readonly documents: readonly Standard[],
  ) {
    this.files = new Set(documents.map((d) => this.file(d)));
    for (const document of documents) {
      const self = this.file(document);
      for (const older of document.replaces) this.#add(this.target(older), self, 'older', older);
      for (const newer of document.supersededBy)
        this.#add(self, this.target(newer), 'newer', newer);
    }
  }

  file({ id }: Standard): string {
    return fileOf(this.kind, numberOf(id));
  }

  /** `443`, `XEP-0022 (in part)`: a document of this series. `RFC 6120`, `XMPP Core`: none of it. */
  target(written: string): string | undefined {
    const own = new RegExp(`^(?:${this.kind}-)?(\\d+)(?: \\(in part\\))?$`).exec(written);
    return own ? fileOf(this.kind, Number(own[1])) : undefined;
  }

  #add(
    older: string | undefined,
    newer: string | undefined,
    named: 'older' | 'newer',
    written: string,
  ): void {
    if (!older || !newer || !this.files.has(older) || !this.files.has(newer)) {
      this.dangling += 1;
      return;
    }
    const key = `${newer} > ${older}`;
    const link = this.links.get(key) ?? { newer, older, sides: new Set(), partial: false };
    link.sides.add(named);
    link.partial ||= written.endsWith('(in part)');
    this.links.set(key, link);
  }

  oneSided(): string[] {
    return [...this.links.values()]
      .filter(({ sides }) => sides.size === 1)
      .map(({ newer, older }) => [newer, older].sort().join(' '));
  }

  forks(): string[] {
    const whole = [...this.links.values()].filter(({ partial }) => !partial);
    const newerOf = Map.groupBy(whole, ({ older }) => older);
    return [...newerOf].filter(([, links]) => links.length > 1).map(([older]) => older);
  }

  /** Says itself that it is superseded, under a status that says otherwise. */
  saysOtherwise(superseded: ReadonlySet<string>): string[] {
    return this.documents
      .filter((d) => d.supersededBy.some((written) => this.files.has(this.target(written) ?? '')))
      .filter((d) => !superseded.has(d.status))
      .map((d) => this.file(d));
  }

  withoutSuccessor(superseded: ReadonlySet<string>): string[] {
    const replaced = new Set([...this.links.values()].map(({ older }) => older));
    return this.documents
      .filter((d) => superseded.has(d.status) && !replaced.has(this.file(d)))
      .map((d) => this.file(d));
  }
}

async function imported(server: TestApplication, { kind, documents }: Series): Promise<Job> {
  const input = {
    collection: kind.toLowerCase(),
    documents: documents.map((document) => ({
      path: fileOf(kind, numberOf(document.id)),
      text: rendered(kind, document),
    })),
  };
  return (await server.ingest(input)) as unknown as Job;
}

const of = ({ findings }: Job, kind: string): Finding[] => findings.filter((f) => f.kind === kind);
const first = (findings: Finding[]): string[] => findings.map((f) => f.documents[0] ?? '').sort();

(hasCorpora ? describe : describe.skip)('QO-23: what does not fit together in', () => {
  let server: TestApplication;
  beforeAll(async () => {
    server = await TestApplication.start();
  });
  afterAll(() => server.close());

  it('736 PEPs: 47 links, 27 of both sides, 5 forks, 4 without a successor, 10 against their status', async () => {
    const series = new Series('PEP', peps());
    const superseded = new Set(['Superseded']);
    const job = await imported(server, series);
    expect(series.links.size).toBe(47);
    expect(series.oneSided()).toHaveLength(47 - 27);
    expect(of(job, 'one_sided_link').map((f) => [...f.documents].sort().join(' '))).toEqual(
      expect.arrayContaining(series.oneSided()),
    );
    expect(of(job, 'one_sided_link')).toHaveLength(20);
    expect(first(of(job, 'fork'))).toEqual(series.forks().sort());
    expect(series.forks()).toHaveLength(5);
    expect(of(job, 'dangling_link')).toHaveLength(series.dangling);

    const against = of(job, 'status_contradicts_links');
    const otherwise = series.saysOtherwise(superseded);
    const without = series.withoutSuccessor(superseded);
    expect([otherwise.length, without.length]).toEqual([10, 4]);
    expect(first(against)).toEqual(expect.arrayContaining([...otherwise, ...without]));
    for (const path of without)
      expect(against.filter((f) => f.documents.join() === path)).toHaveLength(1);
    // Beyond these: in force by its own status while another says it replaces it, and one whose successor was withdrawn.
    const byOthers = first(against).filter((p) => !otherwise.includes(p) && !without.includes(p));
    expect(byOthers).toEqual(
      ['pep-0247.md', 'pep-0345.md', 'pep-0397.md', 'pep-0486.md', 'pep-0609.md'].sort(),
    );
    process.stdout.write(
      `PEPs: ${series.links.size} links, findings: ${of(job, 'one_sided_link').length} one-sided, ${of(job, 'fork').length} forks, ${without.length} without successor, ${otherwise.length} against their status\n`,
    );
  }, 120_000);

  it('517 XEPs: 73 links, 31 of both sides, every reference to another series dangling', async () => {
    const series = new Series('XEP', xeps());
    const job = await imported(server, series);
    expect(series.links.size).toBe(73);
    expect(series.oneSided()).toHaveLength(73 - 31);
    expect(of(job, 'one_sided_link')).toHaveLength(42);
    expect(first(of(job, 'fork'))).toEqual(series.forks().sort());
    expect(of(job, 'dangling_link')).toHaveLength(series.dangling);
    expect(series.dangling).toBeGreaterThan(10);
    const against = first(of(job, 'status_contradicts_links'));
    const otherwise = series.saysOtherwise(new Set(['Obsolete', 'Deprecated']));
    expect(against).toEqual(expect.arrayContaining(otherwise));
    process.stdout.write(
      `XEPs: ${series.links.size} links, findings: 42 one-sided, ${of(job, 'fork').length} forks, ${series.dangling} dangling, ${otherwise.length} against their status\n`,
    );
  }, 120_000);
});
