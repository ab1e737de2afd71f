import type { Decider } from '#kernel/decider.js';
import { derivedId } from '#kernel/json.js';
import type { SourceEvent } from './source.events.js';

export type Source = { status: 'absent' } | { status: 'captured'; sha256: string };

export type SourceDetails = Extract<SourceEvent, { type: 'SourceCaptured' }>['data'];

export interface SourceCommand {
  type: 'Capture';
  details: SourceDetails;
}

export const sourceDecider: Decider<Source, SourceCommand, SourceEvent> = {
  initial: () => ({ status: 'absent' }),
  // The id depends on document and content: captured again, it is the same.
  decide: ({ details }, source) =>
    source.status === 'captured' ? [] : [{ type: 'SourceCaptured', data: details }],
  evolve: (_source, event) => ({ status: 'captured', sha256: event.data.sha256 }),
};

/** One version of one document is one source: the same text of the same document has the same id for ever. */
export function sourceId(workspace: string, document: string, contentHash: string): string {
  return `src_${derivedId('source', workspace, document, contentHash).replaceAll('-', '').slice(0, 20)}`;
}
