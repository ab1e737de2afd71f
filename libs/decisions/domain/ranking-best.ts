export interface Found {
  key: number;
  score: number;
  by: number;
}

/** The best few of many, each key once: ordered by score, then by key, so that equal scores keep the order of recording. */
export class Best {
  private readonly found: Found[] = [];

  constructor(private readonly most: number) {}

  /** `by` tells later what the score came from. A key that is offered again counts with its better score. */
  offer(key: number, score: number, by: number): void {
    const last = this.found.at(-1);
    if (this.found.length >= this.most && last && !before(score, key, last)) return;
    const same = this.found.findIndex((f) => f.key === key);
    const held = this.found[same];
    if (held && !before(score, key, held)) return;
    if (held) this.found.splice(same, 1);
    const at = this.found.findIndex((f) => before(score, key, f));
    this.found.splice(at < 0 ? this.found.length : at, 0, { key, score, by });
    if (this.found.length > this.most) this.found.pop();
  }

  list(): readonly Found[] {
    return this.found;
  }
}

function before(score: number, key: number, other: Found): boolean {
  return score > other.score || (score === other.score && key < other.key);
}
