import { tool } from '#mcp/tool.js';
import { IngestInput, IngestReceipt } from '../contract-ingestion.js';
import { SubmitIngestion } from '../messages.js';

export default tool({
  name: 'ingest',
  title: 'Ingest sources and records',
  description:
    'Captures a text with reviewed records, or a folder of decision records, with source metadata. Returns a job; ' +
    'get_ingestion_status tells what was stored, skipped or queued. Records marked approved need a governor and verified quotes, ' +
    'otherwise they wait for review. Quotes must be verbatim: do not paraphrase. Use dry_run to see what would happen. ' +
    'Do not use it to approve a waiting candidate: that is review_decision.',
  toolset: 'decisions',
  audience: ['person', 'agent', 'service'],
  role: 'member',
  hints: { readOnly: false, destructive: false, idempotent: true, openWorld: false },
  input: IngestInput,
  output: IngestReceipt,
  run: (input, caller, bus) => bus.commands.execute(new SubmitIngestion(caller, input)),
});
