import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { TestApplication } from '../support/application.js';

describe('pepper', () => {
  it('is a file that only its owner reads; without it the keys end and an owner gets in again', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'precedent-pepper-'));
    const settings = {
      PRECEDENT_EVENTSTORE: 'sqlite:',
      PRECEDENT_DATA: dir,
      PRECEDENT_BOOTSTRAP_KEY: '',
    };
    const opened: TestApplication[] = [];
    const start = async (more: Record<string, string> = {}): Promise<TestApplication> => {
      await opened.pop()?.close();
      const app = await TestApplication.start({ ...settings, ...more });
      opened.push(app);
      return app;
    };
    const status = async (app: TestApplication, key: string): Promise<number> =>
      (await app.call('GET', '/v1/organisation', undefined, key)).status;
    try {
      const first = await start();
      const owner = first.application.createdKey ?? '';
      const path = join(dir, 'pepper');
      expect(statSync(path).mode & 0o777).toBe(0o600);
      const pepper = readFileSync(path, 'utf8').trim();
      expect(pepper).toMatch(/^[0-9a-f]{64}$/);
      for await (const batch of first.application.ledger.store.readStream('workspace-main'))
        for (const { payload } of batch) {
          expect(payload).not.toContain(pepper);
          if (payload.includes('secret')) expect(payload).toContain('sha256-pepper-');
        }
      const again = await start();
      expect(again.application.createdKey).toBeUndefined();
      expect(await status(again, owner)).toBe(200);
      // A backup that is restored without it: nobody is locked out for good.
      await opened.pop()?.close();
      rmSync(path);
      const restored = await start();
      const fresh = restored.application.createdKey ?? '';
      expect([await status(restored, owner), await status(restored, fresh)]).toEqual([401, 200]);
      // Once more with the key that was chosen at the first start: the same name, under the new pepper.
      await opened.pop()?.close();
      rmSync(path);
      const chosen = await start({ PRECEDENT_BOOTSTRAP_KEY: fresh });
      expect(await status(chosen, fresh)).toBe(200);
    } finally {
      await opened.pop()?.close();
      rmSync(dir, { recursive: true, force: true });
    }
  });
});
