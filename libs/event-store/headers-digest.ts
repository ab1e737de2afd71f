import { createHash } from 'node:crypto';

const LINE_FEED = 0x0a;
/** Bytes of UTF-8 for one unit of a text at most. */
const BYTES_PER_UNIT = 3;

/** SHA-256 over headers, each followed by a line feed. Gathered, because a call for each costs more than the hashing. */
export class HeadersDigest {
  readonly #hash = createHash('sha256');
  readonly #gathered = Buffer.allocUnsafe(1 << 16);
  #used = 0;

  add(header: string): void {
    const most = header.length * BYTES_PER_UNIT + 1;
    if (this.#used + most > this.#gathered.length) this.#flush();
    if (most > this.#gathered.length) {
      this.#hash.update(header).update('\n');
      return;
    }
    this.#used += this.#gathered.write(header, this.#used);
    this.#gathered[this.#used++] = LINE_FEED;
  }

  #flush(): void {
    this.#hash.update(this.#gathered.subarray(0, this.#used));
    this.#used = 0;
  }

  /** Of what was added so far. */
  hex(): string {
    this.#flush();
    return this.#hash.copy().digest('hex');
  }
}
