import { canonicalJson, sha256 } from '#kernel/json.js';
import { invalid, Refusal, type Issue } from '#kernel/refusal.js';
import type { DatasetContent, EvalCase, Expectation } from './dataset.events.js';

export const DATASET_LIMITS = {
  cases: 20,
  /** Of the canonical JSON of name, description and cases. */
  bytes: 100_000,
} as const;

/** The same content has the same hash and the same id, whoever prepares it and whenever. */
export function identityOf(content: DatasetContent): { id: string; hash: string } {
  const hash = sha256(canonicalJson(content));
  return { id: `dataset_${hash.slice(0, 20)}`, hash };
}

/** Refuses what is no dataset: too few or too many cases, too much text, an answer that the resolver can never give (O-42). */
export function assertContent(content: DatasetContent): void {
  const { cases } = content;
  if (cases.length < 1 || cases.length > DATASET_LIMITS.cases)
    throw invalid(
      'cases',
      `there are ${cases.length}; a dataset has 1 to ${DATASET_LIMITS.cases}`,
      'prepare several datasets',
    );
  const bytes = Buffer.byteLength(canonicalJson(content));
  if (bytes > DATASET_LIMITS.bytes)
    throw new Refusal('too_large', 'too_large', `the dataset has ${bytes} bytes`, {
      path: 'cases',
      issues: [{ path: 'cases', problem: `${bytes} bytes; the limit is ${DATASET_LIMITS.bytes}` }],
      fix: 'prepare several datasets, or name sources and decisions instead of copying them',
    });
  const issues = cases.flatMap((one, i) => impossible(one, `cases[${i}].expect`));
  const [first] = issues;
  if (first)
    throw new Refusal('invalid', 'impossible_expectation', `${first.path}: ${first.problem}`, {
      path: first.path,
      issues,
      fix: 'leave the field out, or expect another state',
    });
}

type Field = Exclude<keyof Expectation, 'state'>;

/** What an answer of each state never has. */
const NEVER: Readonly<Record<Expectation['state'], readonly Field[]>> = {
  verified: [],
  // It shows the decisions that hold at once and prefers none.
  contested: ['decision_id', 'value', 'scope'],
  // It may show a decision whose excerpts no longer stand, and then no source.
  insufficient_evidence: ['sources'],
  unknown: ['decision_id', 'value', 'scope', 'sources'],
};

function impossible({ expect }: EvalCase, path: string): Issue[] {
  return NEVER[expect.state]
    .filter((field) => expect[field] !== undefined && !(field === 'sources' && none(expect)))
    .map((field) => ({
      path: `${path}.${field}`,
      problem: `an answer that is ${expect.state} never has it`,
    }));
}

function none({ sources }: Expectation): boolean {
  return sources?.length === 0;
}
