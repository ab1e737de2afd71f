/** What the product is held to, as data. `test/policy/promises.spec.ts` compares it with the titles of all tests. */
export interface Commitment {
  /** As titles of tests cite it. */
  id: string;
  says: string;
  /** Files whose tests prove it; for the others a title anywhere is enough. */
  proved?: readonly string[];
  /** Not claimed yet, and why. Taken away with the first test that cites the id. */
  later?: string;
}

export const PROMISES: readonly Commitment[] = [
  {
    id: 'P1',
    says: 'acknowledged means durable: kill -9, power cut',
    proved: [
      'libs/event-store/crash.spec.ts',
      'test/faults/kill-at.spec.ts',
      'test/faults/power-cut.spec.ts',
      'test/journeys/kill.spec.ts',
      'libs/event-store/eventstoredb-faults.spec.ts',
    ],
  },
  {
    id: 'P2',
    says: 'one effect for each idempotency key, for ever',
    proved: ['test/journeys/idempotency.spec.ts', 'test/journeys/many-servers.spec.ts'],
  },
  {
    id: 'P3',
    says: 'appends to a topic are linearizable; a read `at_least` a position is never older',
    proved: ['test/model/linearizability.spec.ts', 'test/journeys/many-servers.spec.ts'],
  },
  {
    id: 'P4',
    says: 'any changed, removed, inserted or reordered byte of history is found by `verify`, which names the position',
    proved: ['libs/event-store/ledger-check.spec.ts', 'test/journeys/backup.spec.ts'],
  },
  {
    id: 'P5',
    says: 'replay gives byte-identical read models on any machine, time zone and engine',
    proved: [
      'libs/projections/follower.spec.ts',
      'test/journeys/many-servers.spec.ts',
      'test/journeys/backup.spec.ts',
    ],
  },
  {
    id: 'P6',
    says: 'disk full, I/O error, read-only disk: writes refused with a typed error, reads go on, nothing acknowledged is lost, no manual repair',
    proved: [
      'libs/event-store/faults.spec.ts',
      'test/faults/disk-full.spec.ts',
      'test/faults/io-errors.spec.ts',
      'test/faults/read-only-disk.spec.ts',
    ],
  },
  {
    id: 'P7',
    says: 'an append that errors has an unknown outcome and is settled by retry',
    proved: [
      'libs/event-store/sqlite.spec.ts',
      'libs/event-store/eventstoredb-faults.spec.ts',
      'test/faults/server-fsync.spec.ts',
    ],
  },
  {
    id: 'P8',
    says: 'erasure leaves verification intact',
  },
  {
    id: 'P9',
    says: 'a receipt verifies offline with the public keys alone, with tools that we did not write',
  },
];

/** Faults that users of comparable systems reported: the right answer to each is a test. */
export const FAULTS: readonly Commitment[] = [
  { id: 'B01', says: 'a request sent again is stored a second time' },
  { id: 'B02', says: 'other content under a known key is accepted and dropped' },
  { id: 'B04', says: 'a key is known in one place and not in the other' },
  { id: 'B05', says: 'an append is answered with an error although it was stored' },
  { id: 'B06', says: 'what arrives late replaces what is newer' },
  { id: 'B07', says: 'a proposal that says it replaces a decision is believed' },
  { id: 'B08', says: 'rings of supersession leave no head, or loop' },
  { id: 'B09', says: 'two successors of one decision: the head depends on their order' },
  { id: 'B11', says: 'the direction of "supersedes" is mixed up' },
  { id: 'B13', says: 'old and new come back as current, both' },
  { id: 'B15', says: 'the same fact twice deletes it' },
  { id: 'B16', says: 'what was revoked is still returned' },
  { id: 'B18', says: 'a date is read in the zone of the server' },
  { id: 'B19', says: '"yesterday" is a day off for part of every day' },
  { id: 'B21', says: 'history that is recorded late is dated today' },
  { id: 'B22', says: 'a clock that is wrong orders the log' },
  { id: 'B24', says: 'a reader passes a position that is not committed yet' },
  { id: 'B25', says: 'a feed skips what is written while it reads' },
  { id: 'B27', says: 'a rebuild repeats side effects' },
  { id: 'B29', says: 'a handler that throws stops everything' },
  { id: 'B30', says: 'a subscription looks alive and delivers nothing' },
  { id: 'B32', says: 'large integers are rounded' },
  { id: 'B33', says: 'one word in two forms of Unicode is two words' },
  { id: 'B35', says: 'quotes are checked too strictly or too loosely' },
  { id: 'B37', says: 'text of a source gives orders to agents' },
  { id: 'B38', says: 'a route forgets whose records it may show' },
  { id: 'B39', says: 'a caller of no tenant sees those of all' },
  { id: 'B40', says: 'a revoked key works until a cache expires' },
  { id: 'B42', says: 'a restart breaks every connected agent' },
  { id: 'B43', says: 'an approval is used for something else' },
  { id: 'B45', says: 'what was hashed is not what storage returns' },
  { id: 'B47', says: 'a backup is torn, or lacks what was acknowledged' },
  { id: 'B48', says: 'plain text outlives its erasure' },
  { id: 'B50', says: 'flag=false is true' },
  { id: 'B52', says: 'an orderly stop resets requests, or hangs' },
];

const JOBS = 'policy jobs are not built yet';
const ANNOTATION = 'annotation is not built yet';
const RULES = 'rules are not built yet';

export const INVARIANTS: readonly Commitment[] = [
  'any message with a missing, unknown or revoked credential is answered 401',
  'tools/list of one surface never holds another’s tool; calling it is refused',
  'annotations are those of the mission',
  'read models built anew give identical answers',
  'the same request_id and question give the same bytes; another question is refused',
  'no two heads for one scope without a conflict or a supersession',
  'a member in reviewed mode never causes an approval',
  'an ontology is never proposed and approved in one call',
  'limits and states of datasets hold; what does not apply is not counted',
  'an export holds no source text, rating or trace',
  ['every job decision has an id and a receipt of its own', JOBS],
  ['a receipt of an output fails for a text that differs by a byte', JOBS],
  ['a quote that is not verbatim never becomes ready', JOBS],
  ['a proposal never changes what is live; no approval through MCP', JOBS],
  ['a backtest appends nothing', JOBS],
  ['annotate and dry runs write nothing', ANNOTATION],
  ['what was not offered is refused', ANNOTATION],
  ['requestState holds ids only', ANNOTATION],
  ['one snapshot for each run and path', ANNOTATION],
  ['a pick yields its labels, exactly', ANNOTATION],
  ['choosers share no artefacts', ANNOTATION],
  ['no probabilities without calibration', ANNOTATION],
  ['the strongest severity dominates, in any order of rules', RULES],
  ['bans are never neutralised', RULES],
  ['approval triggers are the blockers of a check', RULES],
  ['the fields that are asked for are enough', RULES],
  ['a query without a hit gives the empty string', RULES],
  ['where rows are given, other arguments have no effect', RULES],
].map((one, i): Commitment => {
  const [says = '', later] = [one].flat();
  return { id: `invariant ${i + 1}`, says, ...(later === undefined ? {} : { later }) };
});

/** Rows of the benchmark are called much like faults; those that a title names. */
export const BENCH_ROWS: readonly string[] = ['B10'];
