import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from '@jest/globals';
import { openAiExtractor } from './extractor-openai.js';
import { readWith } from './extractor.js';

it('X-10: a model that does not answer in time is not waited for', async () => {
  const service = createServer(() => undefined);
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
  try {
    const url = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
    const reader = openAiExtractor({ url, model: 'slow' }, 100);
    const started = performance.now();
    const reading = await readWith(reader, 'Some text.', { source_id: 's', document: 'd' }, []);
    expect(reading).toMatchObject({ records: [], findings: [{ kind: 'model_unavailable' }] });
    expect(performance.now() - started).toBeLessThan(10_000);
  } finally {
    service.closeAllConnections();
    service.close();
  }
});
