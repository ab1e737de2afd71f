import { requireRuntime } from './runtime.js';

requireRuntime();
await import('./serve.js');
