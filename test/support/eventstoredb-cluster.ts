import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ServerLog } from './eventstoredb-log.js';
import { TestEventStoreDb, type ServerOptions } from './eventstoredb-server.js';

/** Nodes that share one log, of which one leads and takes the writes, and which gossip about one another. */
export class TestCluster {
  readonly nodes: TestEventStoreDb[] = [];
  readonly #alive = new Set<TestEventStoreDb>();
  #leader: TestEventStoreDb | undefined;

  static async start(size: number, options: ServerOptions = {}): Promise<TestCluster> {
    const cluster = new TestCluster();
    const log = new ServerLog();
    const members = () => cluster.#members();
    for (let i = 0; i < size; i++)
      cluster.nodes.push(await TestEventStoreDb.start({ ...options, log, members }));
    for (const node of cluster.nodes) cluster.#alive.add(node);
    cluster.elect();
    return cluster;
  }

  #members() {
    return this.nodes.map((node) => ({
      port: node.proxy.port,
      alive: this.#alive.has(node),
      leader: this.#leader === node,
    }));
  }

  get leader(): TestEventStoreDb {
    if (!this.#leader) throw new Error('nobody leads');
    return this.#leader;
  }

  get hosts(): string[] {
    return this.nodes.map((node) => `127.0.0.1:${node.proxy.port}`);
  }

  get log(): ServerLog {
    return this.leader.log;
  }

  /** The leader is gone, or cut off without a sign; nobody leads until `elect`. */
  async lose(how: 'killed' | 'black hole'): Promise<TestEventStoreDb> {
    const lost = this.leader;
    this.#leader = undefined;
    this.#alive.delete(lost);
    if (how === 'killed') await lost.kill();
    else lost.proxy.blackHole(true);
    return lost;
  }

  /** Another of those that are there leads. */
  elect(): void {
    this.#leader = [...this.#alive].find((node) => node !== this.#leader);
  }

  /** As a follower. */
  async back(node: TestEventStoreDb): Promise<void> {
    node.proxy.blackHole(false);
    await node.restart();
    this.#alive.add(node);
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.stop()));
  }
}

/** LibreSSL cannot sign in one step. */
export const hasOpenssl = /^OpenSSL [3-9]/.test(
  spawnSync('openssl', ['version'], { encoding: 'utf8' }).stdout ?? '',
);

export interface Certificate {
  /** Path of the authority's certificate, for `tlsCAFile`. */
  ca: string;
  tls: { key: Buffer; cert: Buffer };
}

/** A certificate of an authority of its own, made in `dir` under `name`, for 127.0.0.1 or for whom `subject` says. */
export function certificate(dir: string, name: string, subject = 'IP:127.0.0.1'): Certificate {
  const path = (what: string): string => join(dir, `${name}-${what}.pem`);
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'pipe' });
  const fresh = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
  const authority = ['-x509', '-subj', `/CN=${name} authority`];
  const out = (what: string): string[] => ['-keyout', path(`${what}-key`), '-out', path(what)];
  openssl('req', ...fresh, ...authority, ...out('ca'));
  openssl(
    'req',
    ...fresh,
    ...['-x509', '-subj', '/CN=node', '-addext', `subjectAltName=${subject}`],
    ...['-addext', 'basicConstraints=critical,CA:FALSE'],
    ...['-CA', path('ca'), '-CAkey', path('ca-key')],
    ...out('node'),
  );
  const tls = { key: readFileSync(path('node-key')), cert: readFileSync(path('node')) };
  return { ca: path('ca'), tls };
}
