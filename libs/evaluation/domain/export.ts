import { canonicalJson } from '#kernel/json.js';
import type { PreparedDataset } from './dataset.js';

export const PURPOSE = 'evaluation_only';

/**
 * O-52: a dataset as JSONL, a header and a line for each case, every line declaring its purpose. It is made of the dataset alone, so
 * there is no text of a source, no rating and no answer that could get into it.
 */
export function exported({ id, hash, content }: PreparedDataset): string {
  const { cases, ...named } = content;
  const header = {
    purpose: PURPOSE,
    format: 'precedent.eval-dataset/1',
    dataset_id: id,
    dataset_hash: hash,
    ...named,
    cases: cases.length,
  };
  const lines = cases.map(({ question, topic, scope, as_of, known_at, expect }, i) => ({
    purpose: PURPOSE,
    case: i,
    question,
    ...(topic === undefined ? {} : { topic }),
    ...(scope === undefined ? {} : { scope }),
    ...(as_of === undefined ? {} : { as_of }),
    ...(known_at === undefined ? {} : { known_at }),
    expect,
  }));
  return [header, ...lines].map((line) => `${canonicalJson(line)}\n`).join('');
}
