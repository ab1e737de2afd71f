import { workspaceView } from '#access/index.js';
import { whenMs } from '#kernel/time.js';
import type { Reads } from '#projections/read-database.js';
import type { Timing } from '../domain/topic-state.js';
import { ontologyAt } from './ontology-queries.js';

/** What a command on a topic needs to know of its workspace: the zone that dates are read in, and what the active ontology says. */
export function timingFor(reads: Reads, workspace: string, topic: string, nowMs: number): Timing {
  const { zone } = workspaceView(reads, workspace);
  const ontology = ontologyAt(reads, workspace);
  return {
    nowMs,
    toMs: (when) => whenMs(when, zone),
    isWithin: ontology.isWithin,
    succession: ontology.successionOf(topic),
  };
}
