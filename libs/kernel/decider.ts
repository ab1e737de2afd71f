/**
 * A kind of stream as three plain functions.
 *
 * `decide` may only read `state`; it returns the events that the command causes (none: nothing to do) or throws a `Refusal`.
 * `evolve` owns the state it is given and may change it in place: it only ever sees events that are already stored,
 * so folding a stream of 100,000 events copies nothing.
 */
export interface Decider<State, Command, Event> {
  initial(): State;
  decide(command: Command, state: State): readonly Event[];
  /** `recordedAt`: when the event was stored, in milliseconds UTC. */
  evolve(state: State, event: Event, recordedAt: number): State;
}

/** The compiler rejects this call as long as a case is missing; reached at run time only by corrupt input. */
export function unreachable(value: never): never {
  throw new Error(`unhandled case: ${JSON.stringify(value)}`);
}
