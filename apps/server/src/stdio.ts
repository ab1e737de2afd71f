import { requireRuntime } from './runtime.js';

requireRuntime();
await import('./serve-stdio.js');
