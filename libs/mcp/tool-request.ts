/** One thing asked of the user. */
export type Field = { readonly title: string; readonly description?: string } & (
  | { readonly kind: 'choice'; readonly options: readonly Option[] }
  | { readonly kind: 'text'; readonly max?: number }
  | { readonly kind: 'number' }
  | { readonly kind: 'yes_no' }
);

/** `value` comes back; `title` is what the user reads. */
export interface Option {
  readonly value: string;
  readonly title: string;
}

/** A form for the user of the client. */
export interface Question {
  /** Tells it from the other questions of the call: `term_choice:<group>`. Stays the same whenever it is asked again. */
  readonly key: string;
  readonly message: string;
  /** Every field must be answered. */
  readonly fields: Readonly<Record<string, Field>>;
  /** Ids of what it is about. They travel through the client, so nothing else belongs here: no label, path or number. */
  readonly about?: Readonly<Record<string, string>>;
  /** How to give the answer without being asked, for clients that cannot ask: the `fix` of their refusal. */
  readonly otherwise: string;
}

/** `content` fits the question's fields as they are now. */
export type Reply =
  | {
      readonly action: 'accept';
      readonly content: Readonly<Record<string, string | number | boolean>>;
    }
  | { readonly action: 'decline' | 'cancel' };

/** What a tool can do while its call lasts, besides returning. */
export interface ToolRequest {
  /** The protocol revision that the client speaks, such as `2026-07-28`. */
  readonly revision: string;
  /** Aborted when the client cancels or is gone. */
  readonly signal: AbortSignal;
  /**
   * Tells a client that asked for it how far the work is; `done` rises. From the first call on the last word is repeated
   * every few seconds until the tool returns, so that the client waits on.
   */
  progress(done: number, total?: number, message?: string): void;
  /** Keys of the questions that this exchange has asked so far, whatever was answered. */
  readonly asked: readonly string[];
  /**
   * The user's answer, once there is one. Until then it throws, and the tool is run again from its start when the answer is
   * there: everything before it must have no effect, or one that the second run recognises. Never catch what it throws.
   */
  elicit(question: Question): Promise<Reply>;
}

/** Thrown by `elicit`: the call ends with a question. */
export class Asking extends Error {
  constructor(readonly question: Question) {
    super(`asking ${question.key}`);
    this.name = 'Asking';
  }
}

/** For tools that declare no interest in their request: the hot path has none to give. */
export const NO_REQUEST: ToolRequest = {
  revision: '',
  signal: new AbortController().signal,
  asked: [],
  progress: () => undefined,
  elicit: () => Promise.reject(new Error('a tool that asks must take its request as a parameter')),
};
