import { keepCompiled, requireRuntime } from './runtime.js';

requireRuntime();
keepCompiled();
await import('./serve.js');
