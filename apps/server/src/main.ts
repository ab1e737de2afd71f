import { A } from '#kernel/probe.js';
process.stdout.write(String(A) + process.version);
