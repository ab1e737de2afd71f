import { datasetDecider } from './domain/dataset.js';
import { datasetCodec } from './domain/dataset.events.js';
import { evalrunDecider } from './domain/evalrun.js';
import { evalrunCodec } from './domain/evalrun.events.js';

/** The streams of this context: how each is named and folded. */
export const datasetStreams = { decider: datasetDecider, codec: datasetCodec, transient: true };
export const evalrunStreams = { decider: evalrunDecider, codec: evalrunCodec, transient: true };

export const datasetStream = (workspace: string, dataset: string): string =>
  `dataset-${workspace}-${dataset}`;
export const evalrunStream = (workspace: string, run: string): string =>
  `evalrun-${workspace}-${run}`;
