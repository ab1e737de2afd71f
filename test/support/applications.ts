import { rmSync } from 'node:fs';
import { TestApplication } from './application.js';

/** Servers of one file of tests, each on a folder of its own. */
export class TestApplications {
  private readonly started: TestApplication[] = [];

  readonly start = async (settings: Record<string, string> = {}): Promise<TestApplication> => {
    const server = await TestApplication.start(settings);
    this.started.push(server);
    return server;
  };

  /** Ends them all, and removes their folders. */
  async close(): Promise<void> {
    for (const server of this.started.splice(0)) {
      await server.close();
      rmSync(server.dir, { recursive: true, force: true });
    }
  }
}
