import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';
import { REFUSALS, type RefusalNotice } from '#kernel/notices.js';
import type { LogStatus } from '#ledger/module.js';
import type { Lag } from './lag.js';

/** What is asked at every scrape. */
export interface Measured {
  lags(): Promise<Lag[]>;
  healthy(): boolean;
  serving(): boolean;
  /** Counters of the engine since the start, by name in camel case; none on most engines. */
  engine(): Readonly<Record<string, number>>;
  /** Signed checkpoints of the log. */
  log(): LogStatus & { covered: number };
}

const SECONDS = [0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const GROUPS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];
/** Reasons that are counted by name; a client cannot invent any, this only bounds what a defect could do. */
const REASONS = 200;

/** Everything that Prometheus may ask for. docker/ has a dashboard and alert rules on these names. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #append: Histogram;
  readonly #group: Histogram;
  readonly #commit: Histogram;
  readonly #requests: Histogram<'route' | 'status'>;
  readonly #refusals: Counter<'door' | 'reason'>;
  readonly #reasons = new Set<string>();
  readonly #givenUp: Counter<'reaction'>;
  #processMetrics = false;

  constructor(measured: Measured) {
    const registers = [this.#registry];
    const histogram = <L extends string>(
      name: string,
      help: string,
      buckets: number[],
      labelNames: L[] = [],
    ) => new Histogram<L>({ name: `precedent_${name}`, help, buckets, labelNames, registers });
    this.#append = histogram(
      'append_duration_seconds',
      'From an append to its durable acknowledgement.',
      SECONDS,
    );
    this.#group = histogram('commit_requests', 'Appends and texts that shared one commit.', GROUPS);
    this.#commit = histogram(
      'commit_duration_seconds',
      'One commit with its fsync, embedded engine.',
      SECONDS,
    );
    this.#requests = histogram(
      'http_request_duration_seconds',
      'From the headers of a request to the end of its answer.',
      SECONDS,
      ['route', 'status'],
    );
    this.#refusals = new Counter({
      name: 'precedent_refusals_total',
      help: 'Expected noes by the error that callers see.',
      labelNames: ['door', 'reason'],
      registers,
    });
    this.#givenUp = new Counter({
      name: 'precedent_reactions_given_up_total',
      help: 'Events that a reaction gave up on; an operator has to look.',
      labelNames: ['reaction'],
      registers,
    });
    this.#atScrape(measured);
    subscribe(REFUSALS, this.#count);
  }

  readonly appended = (ms: number): void => {
    this.#append.observe(ms / 1_000);
  };

  readonly committed = (requests: number, ms: number): void => {
    this.#group.observe(requests);
    this.#commit.observe(ms / 1_000);
  };

  readonly answered = (route: string, status: number, ms: number): void => {
    this.#requests.observe({ route, status: `${Math.floor(status / 100)}xx` }, ms / 1_000);
  };

  readonly gaveUp = (reaction: string): void => {
    this.#givenUp.inc({ reaction });
  };

  readonly #count = (message: unknown): void => {
    const { door, reason } = message as RefusalNotice;
    if (!this.#reasons.has(reason)) {
      if (this.#reasons.size === REASONS) return;
      this.#reasons.add(reason);
    }
    this.#refusals.inc({ door, reason });
  };

  /** The text format of Prometheus. */
  async text(): Promise<{ type: string; body: string }> {
    // Watches the event loop and the garbage collector: begun when somebody looks.
    if (!this.#processMetrics) collectDefaultMetrics({ register: this.#registry });
    this.#processMetrics = true;
    return { type: this.#registry.contentType, body: await this.#registry.metrics() };
  }

  close(): void {
    unsubscribe(REFUSALS, this.#count);
    this.#registry.clear();
  }

  #atScrape(measured: Measured): void {
    const registers = [this.#registry];
    new Gauge({
      name: 'precedent_up',
      help: '1 while the server serves, 0 once it shuts down.',
      registers,
      collect() {
        this.set(measured.serving() ? 1 : 0);
      },
    });
    new Gauge({
      name: 'precedent_store_writable',
      help: '1 while the event store takes writes.',
      registers,
      collect() {
        this.set(measured.healthy() ? 1 : 0);
      },
    });
    const ofFollowers = (name: string, help: string, value: (lag: Lag) => number): void => {
      new Gauge({
        name,
        help,
        labelNames: ['follower'],
        registers,
        async collect() {
          for (const lag of await measured.lags()) this.set({ follower: lag.name }, value(lag));
        },
      });
    };
    ofFollowers(
      'precedent_follower_lag_positions',
      'Positions that a follower is behind the end of the log.',
      ({ lag }) => lag,
    );
    ofFollowers(
      'precedent_follower_lag_seconds',
      'How long a follower has been behind the end of the log.',
      ({ lag_seconds }) => lag_seconds,
    );
    ofFollowers(
      'precedent_follower_parked',
      '1 for a read model that stopped before an event it cannot digest.',
      ({ parked }) => (parked ? 1 : 0),
    );
    new Gauge({
      name: 'precedent_queue_age_seconds',
      help: 'How long the oldest event has waited for its reactions: ingestions, above all.',
      registers,
      async collect() {
        const reactions = (await measured.lags()).find(({ name }) => name === 'reactions');
        this.set(reactions?.lag_seconds ?? 0);
      },
    });
    ofTheLog(measured, registers);
    new Counter({
      name: 'precedent_eventstore_events_total',
      help: 'On a cluster: reconnects, silent subscriptions, replaced clients, doubtful, settled and unknown appends.',
      labelNames: ['event'],
      registers,
      collect() {
        this.reset();
        for (const [name, value] of Object.entries(measured.engine()))
          this.inc({ event: name.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`) }, value);
      },
    });
  }
}

function ofTheLog(measured: Measured, registers: Registry[]): void {
  const gauges: [string, string, (log: ReturnType<Measured['log']>) => number][] = [
    [
      'precedent_log_signing',
      '1 while this server can sign the log, 0 where it has no key or the log is signed with another.',
      ({ state }) => (state === 'no_key' || state === 'foreign_key' ? 0 : 1),
    ],
    [
      'precedent_checkpoint_age_seconds',
      'How long the oldest event that no signed checkpoint covers has waited.',
      ({ uncoveredSeconds }) => uncoveredSeconds,
    ],
    [
      'precedent_checkpoint_covered_events',
      'Events under a signed checkpoint.',
      ({ covered }) => covered,
    ],
    [
      'precedent_checkpoint_inconsistent',
      'Logs whose events are not those of their last checkpoint; nothing more of them is signed.',
      ({ inconsistent }) => inconsistent,
    ],
  ];
  for (const [name, help, value] of gauges)
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(value(measured.log()));
      },
    });
  new Counter({
    name: 'precedent_checkpoint_errors_total',
    help: 'Attempts to sign the log that failed.',
    registers,
    collect() {
      this.reset();
      this.inc(measured.log().errors);
    },
  });
}
