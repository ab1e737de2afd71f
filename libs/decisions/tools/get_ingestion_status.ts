import { tool } from '#mcp/tool.js';
import { Ingestion, IngestionInput } from '../contract-ingestion.js';
import { GetIngestion } from '../messages.js';

export default tool({
  name: 'get_ingestion_status',
  title: 'Ingestion status',
  description:
    'The persisted result of an ingestion job: each record stored, skipped or queued with its reason, and the findings about the documents. ' +
    'Use it after ingest until the status is completed. It lists no other jobs.',
  toolset: 'decisions',
  audience: ['person', 'agent', 'service'],
  role: 'member',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  input: IngestionInput,
  output: Ingestion,
  run: (input, caller, bus) => bus.queries.execute(new GetIngestion(caller, input)),
});
