import type { Answer } from '#decisions/contract.js';

/** A write whose end was seen. */
export interface Acknowledged {
  n: number;
  decision: string;
  /** The read models had it there. */
  position: number;
}

/** A topic that one writer writes: each write replaces the one before with the next number. */
export interface Line {
  topic: string;
  /** The highest number that was sent. */
  sent: number;
  acknowledged: Acknowledged[];
}

/** The request that writes the number `n`; the same each time it is sent. */
export function writeOn(line: Line, n: number, before: string | undefined) {
  const text = `The value of ${line.topic} is ${n}.`;
  return {
    request_id: `${line.topic} ${n}`,
    source: { title: `${line.topic}, ${n}`, type: 'hammer', text },
    records: [
      {
        topic: line.topic,
        statement: text,
        value: n,
        status: 'approved',
        supersedes: before === undefined ? [] : [before],
        evidence: [{ quote: text }],
      },
    ],
  };
}

export function questionOn({ topic }: Line) {
  return { question: topic, topic };
}

/** NaN where the answer has none. */
export function valueOf({ decision }: Answer): number {
  return typeof decision?.value === 'number' ? decision.value : NaN;
}

export function told({ state, decision, position }: Answer): string {
  const what = decision ? `value ${JSON.stringify(decision.value)}, decision ${decision.id}` : '';
  return [state, what, `at position ${position}`].filter((part) => part !== '').join(', ');
}
