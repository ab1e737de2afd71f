import type { RecordedEvent } from '#event-store/event-store.js';
import type { Origin, Streams } from '#event-store/streams.js';
import type { Clock } from '#kernel/context.js';
import { reaction, type Reaction } from '#projections/reaction.js';
import { contentOf } from '../domain/ontology-state.js';
import { ontologyCodec, type Merge, type OntologyContent } from '../domain/ontology.events.js';
import { viewOf, type OntologyView } from '../projections/ontology-queries.js';
import { ontologyStream, ontologyStreams, topicStream, topicStreams } from '../streams.js';

interface Needs {
  streams: Streams;
  clock: Clock;
}

/**
 * Joins the topics that an approved version merges: closes the one, then lets the other absorb it, part by part. Cut short anywhere and
 * run again, it goes on where it was. In between the closed topic is read as it was, and what would be written to it waits.
 */
export function ontologyReaction(needs: Needs): Reaction {
  return reaction(
    'ontology',
    ontologyCodec,
    'OntologyProposalApproved',
    async ({ merges, version }, event) => {
      if (merges.length === 0) return;
      const { state } = await needs.streams.load(ontologyStreams, ontologyStream(event.workspace));
      const content = contentOf(state, version);
      const view = viewOf(version, content);
      for (const merge of merges) await join(needs, event, merge, content, view);
    },
  );
}

async function join(
  { streams, clock }: Needs,
  event: RecordedEvent,
  { topic, into }: Merge,
  content: OntologyContent,
  view: OntologyView,
): Promise<void> {
  const { workspace } = event;
  const origin = (step: string): Origin => ({
    workspace,
    actor: event.actor,
    command: `ontology@${event.position}/${topic}/${step}`,
    correlation: event.correlation,
  });
  const closed = await streams.execute(
    topicStreams,
    topicStream(workspace, topic),
    { type: 'Merge', topic, into, ontologyVersion: view.version },
    origin('close'),
  );
  const from = closed.state;
  for (let part = 1; ; part += 1) {
    const { state } = await streams.execute(
      topicStreams,
      topicStream(workspace, into),
      {
        type: 'Absorb',
        topic: into,
        name: content.topics.find((t) => t.id === into)?.name ?? into,
        merged: topic,
        from,
        succession: view.successionOf(into),
        isWithin: view.isWithin,
        nowMs: clock(),
      },
      origin(`absorb-${part}`),
    );
    if (state.absorbed.has(topic)) return;
  }
}
