/**
 * A check of the log failed: what was given proves nothing, or proves something else. `expected` and `found` are short
 * texts for people (base64 hashes, sizes, key names); they hold nothing of an event's content.
 */
export class ProofError extends Error {
  readonly expected: string | undefined;
  readonly found: string | undefined;

  constructor(message: string, more: { expected?: string; found?: string } = {}) {
    super(message);
    this.name = 'ProofError';
    this.expected = more.expected;
    this.found = more.found;
  }
}
