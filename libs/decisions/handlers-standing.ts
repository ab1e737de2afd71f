import type { Streams } from '#event-store/streams.js';
import {
  findingElsewhere,
  standing,
  type Place,
  type Standing,
} from './domain/document-standing.js';
import type { PlannedClaim } from './domain/ingestion-plan.js';
import type { FindingData } from './domain/ingestion.events.js';
import { homeTopic, topicStream, topicStreams } from './streams.js';

/** How a planned claim stands to the ledger at present, and the topic whose stream decides about it. */
export async function standingOf(
  streams: Streams,
  workspace: string,
  planned: PlannedClaim,
  of: Pick<Place, 'origin' | 'renamed'>,
): Promise<Standing & { home: string }> {
  const home = await homeTopic(streams, workspace, planned.topic.id);
  const elsewhere: FindingData[] = [];
  for (const topic of planned.document?.elsewhere ?? []) {
    const other = await homeTopic(streams, workspace, topic);
    const { state } = await streams.load(topicStreams, topicStream(workspace, other));
    elsewhere.push(...findingElsewhere(planned, home, { home: other, topic: state }));
  }
  const { state } = await streams.load(topicStreams, topicStream(workspace, home));
  const present = standing(planned, { home, topic: state, ...of });
  return { ...present, home, findings: [...present.findings, ...elsewhere] };
}

/** Each finding once, in the order in which they came. */
export function distinct(findings: readonly FindingData[]): FindingData[] {
  return [...new Map(findings.map((f) => [JSON.stringify(f), f])).values()];
}
