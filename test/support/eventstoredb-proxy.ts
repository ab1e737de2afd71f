import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** A TCP proxy that fails in the ways a network does. Clients keep its port while the server behind it changes. */
export class FaultyProxy {
  readonly #pairs = new Set<{ near: Socket; far: Socket | undefined }>();
  #blackHole = false;
  #refusing = false;
  readonly port: number;
  accepted = 0;

  private constructor(
    private readonly server: Server,
    private target: number,
  ) {
    this.port = (server.address() as AddressInfo).port;
    server.on('connection', (near) => {
      this.#accept(near);
    });
  }

  static async start(target: number): Promise<FaultyProxy> {
    const server = createServer({ pauseOnConnect: true, noDelay: true });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new FaultyProxy(server, target);
  }

  #accept(near: Socket): void {
    this.accepted++;
    near.on('error', () => near.destroy());
    if (this.#refusing) return void near.resetAndDestroy();
    const pair: { near: Socket; far: Socket | undefined } = { near, far: undefined };
    this.#pairs.add(pair);
    near.on('close', () => this.#pairs.delete(pair));
    // Accepted and never answered.
    if (this.#blackHole) return;
    const far = connect({ port: this.target, host: '127.0.0.1', noDelay: true });
    pair.far = far;
    far.on('error', () => near.destroy());
    far.on('close', () => near.destroy());
    near.on('close', () => far.destroy());
    near.pipe(far);
    far.pipe(near);
    near.resume();
  }

  /** Every connection ends with an RST; new ones are served. */
  reset(): void {
    for (const { near } of [...this.#pairs]) near.resetAndDestroy();
  }

  /** New connections are accepted and never answered; those that exist go silent without a sign. */
  blackHole(on: boolean): void {
    this.#blackHole = on;
    if (!on) return this.reset();
    for (const { near, far } of this.#pairs) {
      near.unpipe();
      far?.unpipe();
      near.pause();
      far?.pause();
    }
  }

  /** New connections are reset at once. */
  refuse(on: boolean): void {
    this.#refusing = on;
    if (on) this.reset();
  }

  /** Nobody listens: connections are refused by the machine. */
  async down(): Promise<void> {
    this.server.close();
    this.reset();
    await once(this.server, 'close');
  }

  async up(): Promise<void> {
    this.server.listen(this.port, '127.0.0.1');
    await once(this.server, 'listening');
  }

  retarget(port: number): void {
    this.target = port;
  }

  async close(): Promise<void> {
    this.reset();
    this.server.close();
    await once(this.server, 'close');
  }
}
