import { checkpointDecider } from './domain/checkpoint.js';
import { checkpointCodec } from './domain/checkpoint.events.js';

export const checkpointStreams = { decider: checkpointDecider, codec: checkpointCodec };

export const checkpointStream = (workspace: string): string => `checkpoint-${workspace}`;
