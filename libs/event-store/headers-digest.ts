import { createHash } from 'node:crypto';

const GATHERED = 1 << 17;

/** SHA-256 over headers, each followed by a line feed. Gathered, because a call for each costs more than the hashing. */
export class HeadersDigest {
  readonly #hash = createHash('sha256');
  #gathered: string[] = [];
  #chars = 0;

  add(header: string): void {
    this.#gathered.push(header);
    this.#chars += header.length;
    if (this.#chars > GATHERED) this.#flush();
  }

  #flush(): void {
    if (this.#gathered.length === 0) return;
    this.#hash.update(`${this.#gathered.join('\n')}\n`);
    this.#gathered = [];
    this.#chars = 0;
  }

  /** Of what was added so far. */
  hex(): string {
    this.#flush();
    return this.#hash.copy().digest('hex');
  }
}
