const LEAST = 24;

/** Ends the process in one line where the runtime is too old. Imports nothing: what needs a newer one must be loaded after this. */
export function requireRuntime(): void {
  if (Number.parseInt(process.versions.node, 10) >= LEAST) return;
  process.stderr.write(
    `precedent: needs Node.js ${LEAST} or newer, this is ${process.versions.node}; start it with "npm start", which brings one\n`,
  );
  process.exit(2);
}
