import { Inject } from '@nestjs/common';
import { QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import type { EventStore, RecordedEvent } from '#event-store/event-store.js';
import type { Caller } from '#kernel/context.js';
import { Refusal } from '#kernel/refusal.js';
import { LOG } from '#projections/tokens.js';
import { EVENTS_PAGE_MAX, type Events, type LedgerEvent } from './contract.js';
import { ListEvents } from './messages.js';

/** The workspace's events in the order of the log, straight from the log: a page never waits for a read model and never misses one (B25). */
@QueryHandler(ListEvents)
export class ListEventsHandler implements IQueryHandler<ListEvents> {
  constructor(@Inject(LOG) private readonly log: EventStore) {}

  async execute({ caller, input }: ListEvents): Promise<Events> {
    assertAudits(caller);
    const after = Number(input.after ?? 0);
    const page = await this.page(after, input.limit ?? EVENTS_PAGE_MAX);
    return {
      events: page.filter((event) => event.workspace === caller.workspace).map(shown),
      next: String(page.at(-1)?.position ?? after),
      at_end: page.length === 0,
    };
  }

  /** The next events of the whole log, of whichever workspace: what a page costs does not grow with the log. */
  private async page(after: number, batch: number): Promise<readonly RecordedEvent[]> {
    const { signal } = new AbortController();
    for await (const events of this.log.follow(after, { signal, live: false, batch }))
      return events;
    return [];
  }
}

/** The log holds everything, the administration of keys included. */
export function assertAudits(caller: Caller): void {
  const limited = caller.kind === 'agent' || caller.toolsets !== undefined;
  if (limited || !['admin', 'owner'].includes(caller.role))
    throw new Refusal('forbidden', 'requires_admin', 'only an admin or owner may read the log', {
      fix: 'ask get_decision_history for the timeline of a topic',
    });
}

function shown(event: RecordedEvent): LedgerEvent {
  const { position, stream, revision, id, type, version, recordedAt, actor } = event;
  const { causation, correlation, payload } = event;
  return {
    position: String(position),
    stream,
    revision,
    id,
    type,
    version,
    recorded_at: recordedAt,
    actor,
    causation,
    correlation,
    payload,
  };
}
