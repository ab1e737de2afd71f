import module from 'node:module';
import { fileURLToPath } from 'node:url';

const LEAST = 24;
/** Of this checkout, as its code is: in a folder that others may write to, they could lay code for this process. */
const CACHE = '../../../../node_modules/.cache/precedent/compiled';

/** Ends the process in one line where the runtime is too old. Imports nothing of the product: what needs a newer one must be loaded after this. */
export function requireRuntime(): void {
  if (Number.parseInt(process.versions.node, 10) >= LEAST) return;
  process.stderr.write(
    `precedent: needs Node.js ${LEAST} or newer, this is ${process.versions.node}; start it with "npm start", which brings one\n`,
  );
  process.exit(2);
}

/** Compiled code is kept for the next start, where the folder may be written. */
export function keepCompiled(): void {
  module.enableCompileCache(fileURLToPath(new URL(CACHE, import.meta.url)));
}
