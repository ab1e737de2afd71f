/** One operation as its client saw it. `invoked` and `returned` come from one counter: a smaller number was earlier. */
export interface Operation<Input, Output> {
  client: number;
  invoked: number;
  returned: number;
  input: Input;
  output: Output;
}

/** What a single client at a time would see. States are never changed, and equal ones have equal keys. */
export interface Specification<State, Input, Output> {
  initial: State;
  keyOf(state: State): string;
  apply(state: State, input: Input): { state: State; output: Output };
}

export type Verdict<O> =
  | { linearizable: true; order: O[]; visited: number }
  | { linearizable: false; longest: O[]; visited: number };

/**
 * Wing and Gong's search: an order of all operations that the specification accepts and in which none comes before one that had
 * returned when it was invoked. Sets of operations that were reached with an equal state before are not searched again (Lowe).
 */
export function linearize<State, Input, Output>(
  history: readonly Operation<Input, Output>[],
  specification: Specification<State, Input, Output>,
): Verdict<Operation<Input, Output>> {
  const operations = history.toSorted((a, b) => a.invoked - b.invoked);
  const all = (1n << BigInt(operations.length)) - 1n;
  const seen = new Set<string>();
  const order: Operation<Input, Output>[] = [];
  let longest: Operation<Input, Output>[] = [];

  const search = (done: bigint, state: State): boolean => {
    if (done === all) return true;
    const key = `${done.toString(36)} ${specification.keyOf(state)}`;
    if (seen.has(key)) return false;
    seen.add(key);
    let soonest = Infinity;
    for (const [i, operation] of operations.entries()) {
      const bit = 1n << BigInt(i);
      if ((done & bit) !== 0n) continue;
      // Every later one was invoked after some open one had returned.
      if (operation.invoked > soonest) break;
      soonest = Math.min(soonest, operation.returned);
      const next = specification.apply(state, operation.input);
      if (next.output !== operation.output) continue;
      order.push(operation);
      if (order.length > longest.length) longest = [...order];
      if (search(done | bit, next.state)) return true;
      order.pop();
    }
    return false;
  };

  return search(0n, specification.initial)
    ? { linearizable: true, order, visited: seen.size }
    : { linearizable: false, longest, visited: seen.size };
}

export type Input =
  | { do: 'propose'; id: string }
  | { do: 'revoke'; id: string }
  | { do: 'approve'; id: string; supersedes: readonly string[] }
  | { do: 'read' };

type Status = 'candidate' | 'approved' | 'superseded' | 'revoked';
type Topic = ReadonlyMap<string, Status>;

/** The head of a topic, all decisions undated, of one scope and of different values. A read gives the heads in order of their ids. */
export const headRegister: Specification<Topic, Input, string> = {
  initial: new Map(),
  keyOf: (topic) => [...topic].sort().join(),
  apply(topic, input) {
    const refuse = (output: string) => ({ state: topic, output });
    if (input.do === 'read') return refuse(headsOf(topic).join());
    const now = topic.get(input.id);
    if (input.do === 'propose')
      return { state: changed(topic, [[input.id, 'candidate']]), output: 'queued' };
    if (now === undefined) return refuse('unknown_decision');
    if (input.do === 'revoke') {
      if (now === 'candidate') return refuse('not_approved');
      if (now !== 'approved') return refuse('already_decided');
      return { state: changed(topic, [[input.id, 'revoked']]), output: 'revoked' };
    }
    if (now !== 'candidate') return refuse('already_decided');
    for (const target of input.supersedes) {
      const status = topic.get(target);
      if (status === 'superseded') return refuse('head_moved');
      if (status !== 'approved') return refuse('not_approved');
    }
    const ended = input.supersedes.map((id): [string, Status] => [id, 'superseded']);
    return { state: changed(topic, [[input.id, 'approved'], ...ended]), output: 'approved' };
  },
};

function headsOf(topic: Topic): string[] {
  return [...topic]
    .filter(([, status]) => status === 'approved')
    .map(([id]) => id)
    .sort();
}

function changed(topic: Topic, changes: readonly [string, Status][]): Topic {
  return new Map([...topic, ...changes]);
}
