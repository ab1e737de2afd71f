import type { EventStore, Position, RecordedEvent } from '#event-store/event-store.js';
import type { ReadModels } from '#projections/read-models.js';
import { positionsOf } from '../projections/log-tree.js';

/** Events that lie further apart are looked for anew. */
const STRIDE = 512;

/** Events of one workspace by their index in its log. */
export class LogEvents {
  constructor(
    private readonly log: Pick<EventStore, 'follow'>,
    private readonly models: ReadModels,
    /** Every number up to the end is a position. On a cluster it is not, and only that of an event is a place to read on from. */
    private readonly isDense: boolean,
  ) {}

  /** As many of `count` as there are. */
  async from(workspace: string, index: number, count: number): Promise<RecordedEvent[]> {
    const first = Math.max(0, index - 1);
    const positions = await this.models.read((reads) =>
      positionsOf(reads, workspace, first, count + index - first),
    );
    const wanted = positions.slice(index - first);
    const before = index === 0 ? 0 : (positions[0] ?? 0);
    return this.at(wanted, before);
  }

  private async at(wanted: readonly Position[], before: Position): Promise<RecordedEvent[]> {
    const found: RecordedEvent[] = [];
    let last = before;
    while (found.length < wanted.length) {
      const next = wanted[found.length] as Position;
      const near = await this.run(this.isDense ? next - 1 : last, wanted.slice(found.length));
      if (near.length === 0) throw new Error(`the log has no event at ${next}`);
      found.push(...near);
      last = near.at(-1)?.position ?? last;
    }
    return found;
  }

  /** The next events of `wanted` after a position, up to the first that lies far from the one before. */
  private async run(after: Position, wanted: readonly Position[]): Promise<RecordedEvent[]> {
    const found: RecordedEvent[] = [];
    const { signal } = new AbortController();
    let last = wanted[0] as Position;
    for await (const batch of this.log.follow(after, { signal, live: false, batch: STRIDE })) {
      for (const event of batch) {
        const next = wanted[found.length];
        if (next === undefined || (this.isDense && next - last > STRIDE)) return found;
        if (event.position !== next) continue;
        found.push(event);
        last = next;
      }
      if (found.length === wanted.length) return found;
    }
    return found;
  }
}
