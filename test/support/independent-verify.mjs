// Proves a ledger file knowing only what docs/operations.md says of it. Imports nothing of the product.
// usage: node independent-verify.mjs FILE      prints { events, roots: { workspace: root in base64 }, wrong: [...] }
import { createHash } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';

const sha = (...parts) => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
};

/** RFC 6962, section 2.1, word for word. */
function root(leaves) {
  if (leaves.length === 0) return sha('');
  if (leaves.length === 1) return sha(Buffer.of(0), leaves[0]);
  let k = 1;
  while (k * 2 < leaves.length) k *= 2;
  return sha(Buffer.of(1), root(leaves.slice(0, k)), root(leaves.slice(k)));
}

const db = new DatabaseSync(process.argv[2], { readOnly: true });
const rows = db.prepare(
  'SELECT position, name, revision, CAST(header AS BLOB) AS header, CAST(payload AS BLOB) AS payload ' +
    'FROM event JOIN stream ON stream.id = event.stream ORDER BY position',
);
const wrong = [];
const revisions = new Map();
const leaves = new Map();
let position = 0;
let recordedAt = '';
for (const row of rows.iterate()) {
  position += 1;
  const header = JSON.parse(Buffer.from(row.header).toString('utf8'));
  const expected = (revisions.get(header.stream) ?? -1) + 1;
  const right =
    row.position === position &&
    sha(row.payload).toString('hex') === header.payload_sha256 &&
    header.stream === row.name &&
    header.revision === row.revision &&
    row.revision === expected &&
    header.recorded_at >= recordedAt;
  if (!right) wrong.push(row.position);
  revisions.set(header.stream, row.revision);
  recordedAt = header.recorded_at;
  leaves.set(header.workspace, [...(leaves.get(header.workspace) ?? []), row.header]);
}
const roots = Object.fromEntries(
  [...leaves].map(([workspace, all]) => [workspace, root(all).toString('base64')]),
);
process.stdout.write(`${JSON.stringify({ events: position, roots, wrong })}\n`);
