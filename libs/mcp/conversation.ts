import type { Caller } from '#kernel/context.js';
import { Refusal } from '#kernel/refusal.js';
import { replyIn } from './question.js';
import type { RequestState, RequestStates } from './request-state.js';
import { Asking, type Question, type Reply, type ToolRequest } from './tool-request.js';

/** The call as it came, and the ways back to its client. */
export interface Exchange {
  readonly caller: Caller;
  readonly tool: string;
  readonly revision: string;
  readonly signal: AbortSignal;
  /** The client declared that it can show a form to its user. */
  readonly canElicit: boolean;
  /** Verified; absent in a call that answers nothing. */
  readonly state: RequestState | undefined;
  /** As the client sent them. */
  readonly responses: Readonly<Record<string, unknown>>;
  /** Absent where the client gave no token. Never rejects. */
  readonly sendProgress: ((progress: number, total?: number, message?: string) => void) | undefined;
}

const LITTLE = 0.001;

/** The request of one call. `end` must be called when the tool has returned. */
export class Conversation implements ToolRequest {
  readonly #exchange: Exchange;
  readonly #states: RequestStates;
  readonly #replies = new Map<string, Reply>();
  readonly #timer: NodeJS.Timeout | undefined;
  /** Just before nothing: 0 may be said. */
  #done = -LITTLE;
  #total: number | undefined;
  #message: string | undefined;

  constructor(exchange: Exchange, states: RequestStates, progressEveryMs: number) {
    this.#exchange = exchange;
    this.#states = states;
    if (exchange.sendProgress)
      this.#timer = setInterval(() => this.#send(this.#done + LITTLE), progressEveryMs).unref();
  }

  get revision(): string {
    return this.#exchange.revision;
  }

  get signal(): AbortSignal {
    return this.#exchange.signal;
  }

  get asked(): readonly string[] {
    return this.#exchange.state?.asked ?? [];
  }

  progress(done: number, total?: number, message?: string): void {
    this.#total = total;
    this.#message = message;
    // The protocol wants every value to be higher than the one before.
    if (done > this.#done) this.#send(done);
    this.#timer?.refresh();
  }

  async elicit(question: Question): Promise<Reply> {
    const known = this.#replies.get(question.key);
    if (known) return known;
    const reply = await this.#answered(question);
    if (!reply) throw this.#exchange.canElicit ? new Asking(question) : unasked(question);
    this.#replies.set(question.key, reply);
    return reply;
  }

  end(): void {
    clearInterval(this.#timer);
  }

  /** Only to the question that the state says was asked last, about the same things; and only once, in the whole ledger. */
  async #answered(question: Question): Promise<Reply | undefined> {
    const { state, responses, caller } = this.#exchange;
    if (!state || state.asked.at(-1) !== question.key) return undefined;
    if (!Object.hasOwn(responses, question.key) || !sameIds(state.about, question.about ?? {}))
      return undefined;
    const reply = replyIn(question, responses[question.key]);
    if (!reply) return undefined;
    await this.#states.spend(caller, { id: state.id, tool: state.tool, question: question.key });
    return reply;
  }

  #send(progress: number): void {
    this.#done = progress;
    const fits = this.#total !== undefined && progress <= this.#total;
    this.#exchange.sendProgress?.(progress, fits ? this.#total : undefined, this.#message);
  }
}

function sameIds(a: RequestState['about'], b: RequestState['about']): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}

function unasked({ key, otherwise }: Question): Refusal {
  return new Refusal(
    'unavailable',
    'user_cannot_be_asked',
    'the user has to decide, and this client did not declare that it can ask him',
    { issues: [{ path: key, problem: 'needs an answer of the user' }], fix: otherwise },
  );
}
