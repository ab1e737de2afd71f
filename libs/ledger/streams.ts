import { checkpointDecider } from './domain/checkpoint.js';
import { checkpointCodec } from './domain/checkpoint.events.js';

export const checkpointStreams = { decider: checkpointDecider, codec: checkpointCodec };

const PREFIX = 'checkpoint-';

export const checkpointStream = (workspace: string): string => `${PREFIX}${workspace}`;

export const isCheckpointStream = (stream: string): boolean => stream.startsWith(PREFIX);
