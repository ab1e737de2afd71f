import 'reflect-metadata';
import { dirname } from 'node:path';
import { NestFactory } from '@nestjs/core';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Authenticate, BootstrapWorkspace, LastUsed } from '#access/module.js';
import { ingestionReaction, ontologyReaction, openAiExtractor } from '#decisions/module.js';
import type { AuthenticateBearer } from '#http/credentials.js';
import { Draining } from '#http/draining.js';
import { BODY_LIMIT, part } from '#http/fastify.js';
import { serveDescription } from '#http/openapi.js';
import { answerProblems, ProblemFilter, type OnDefect } from '#http/problem.js';
import type { Clock } from '#kernel/context.js';
import { invalid } from '#kernel/refusal.js';
import { LogService, type LogStatus } from '#ledger/module.js';
import { McpEdge } from '#mcp/edge.js';
import { mountMcp } from '#mcp/mount.js';
import { Reactor } from '#projections/reaction.js';
import { erasureReaction, finishErasures } from '#sources/module.js';
import { addressesOf, localAddress } from './address.js';
import { AppModule } from './app.module.js';
import { openDoors, requestId, serveMetrics } from './doors.js';
import { LagWatch, type Lag } from './lag.js';
import { openLedger, type Ledger } from './ledger.js';
import type { Log } from './log.js';
import { logKeysFor } from './log-key.js';
import { Metrics } from './metrics.js';
import { authenticating, foreignPeople } from './people.js';
import { pepperFor } from './pepper.js';
import { requestStateSecret } from './request-state.js';
import type { Settings } from './settings.js';
import { accountReaction, deskOf, ownSignIn } from './sign-in.js';
import type { Tracing } from './tracing.js';
import { VERSION } from './version.js';

export interface Application {
  app: NestFastifyApplication;
  edge: McpEdge;
  ledger: Ledger;
  authenticate: AuthenticateBearer;
  /** Address under which clients reach the server, without a slash at its end. */
  base: () => string;
  /** The owner's key, where this start created the workspace. */
  createdKey: string | undefined;
  /** Finishes what has begun, takes nothing new, then lets go of the ledger. */
  close(): Promise<void>;
}

const ABOUT = {
  title: 'Precedent',
  description:
    'What is decided, by whom, on what evidence, since when, and what was known at the time.',
  version: VERSION,
};

/** A request must have arrived whole by then: who sends a byte now and then holds no connection for ever. */
const REQUEST_MS = 300_000;
/** Subscriptions that are told to end have this long to do so. */
const STREAMS_MS = 1_000;

/** The optional reader of plain texts; both address and name, or none. */
function modelOf({ MODEL_URL: url, MODEL: model, MODEL_KEY: key }: Settings) {
  if (url === undefined && model === undefined) return undefined;
  if (url === undefined || model === undefined)
    throw invalid(
      url === undefined ? 'PRECEDENT_MODEL_URL' : 'PRECEDENT_MODEL',
      'is missing: a model needs an address and a name',
      'set both PRECEDENT_MODEL_URL and PRECEDENT_MODEL, or neither',
    );
  return openAiExtractor({ url, model, ...(key === undefined ? {} : { key }) });
}

/** Puts the whole server together on an open ledger; which doors it opens is the entry point's business. */
export async function assemble(
  settings: Settings,
  log: Log,
  clock: Clock = Date.now,
  tracing?: Tracing,
): Promise<Application> {
  // Refused before anything is opened that would have to be closed.
  const extractor = modelOf(settings);
  const health = {
    healthy: (): boolean => ledger.store.healthy ?? true,
    lags: (): Promise<Lag[]> => lag.read(),
    keysLoaded: (): boolean => people?.keys.loaded ?? true,
    log: (): LogStatus => signing.status(),
    serving: true,
  };
  const metrics = new Metrics({
    lags: health.lags,
    healthy: health.healthy,
    serving: () => health.serving,
    engine: () => ledger.store.stats ?? {},
    log: () => ({ ...signing.status(), ...signing.coverage() }),
  });
  const ledger = await openLedger(
    settings,
    {
      onFailure: (error) => {
        log.fatal({ err: error }, 'the read models stopped');
        process.exit(1);
      },
      onCatchUp: catchUpLine(),
      onUnfit: (why) => {
        log.warn(`the read models are made anew: ${why}`);
      },
      onAppend: (ms) => {
        metrics.appended(ms);
        tracing?.appended(ms);
      },
      onCommit: metrics.committed,
    },
    clock,
  );
  await finishErasures(ledger);
  const keys = {
    pepper: await pepperFor(settings),
    lastUsed: LastUsed.open(dirname(ledger.readFile)),
    shared: settings.EVENTSTORE.startsWith('esdb'),
  };
  const logKeys = await logKeysFor(settings).catch(async (error: unknown) => {
    await ledger.close();
    throw error;
  });
  const onDefect: OnDefect = (error, incident, request) => {
    log.error({ err: error, incident, request }, 'unexpected failure');
  };
  // Asked for at every use: a free port is known only once the server listens.
  const address = {
    base: (): string => settings.PUBLIC_URL ?? localAddress(settings, fastify.server),
    all: (): string[] => addressesOf(settings, fastify.server),
  };
  const own = await ownSignIn(settings, ledger, address);
  const app = await NestFactory.create<NestFastifyApplication>(
    AppModule.around(
      ledger,
      keys,
      health,
      onDefect,
      await requestStateSecret(settings),
      settings.CONFIRM === 'governance',
      deskOf(own, address.base),
      {
        keys: logKeys,
        seconds: settings.CHECKPOINT_SECONDS,
        onProblem: (error, problem) => {
          log.error({ err: error, problem }, 'the log could not be signed');
        },
      },
      !keys.shared,
    ),
    new FastifyAdapter({
      bodyLimit: BODY_LIMIT,
      genReqId: requestId,
      requestTimeout: REQUEST_MS,
      routerOptions: { maxParamLength: 1_000 },
    }),
    { bodyParser: false, logger: ['fatal', 'error'], abortOnError: false },
  );
  const [commands, queries] = [app.get(CommandBus), app.get(QueryBus)];
  const signing = app.get(LogService);
  const fastify = app.getHttpAdapter().getInstance();
  const people = own?.people ?? foreignPeople(settings, address.all);
  const authenticate = authenticating(
    (bearer) => queries.execute(new Authenticate(bearer)),
    people,
    ledger.models,
  );
  tracing?.traceBus(commands);
  tracing?.traceBus(queries);
  tracing?.traceRequests(fastify);
  const draining = new Draining(fastify.server);
  await openDoors(fastify, { settings, log, metrics, people, authenticate });
  app.useGlobalFilters(new ProblemFilter(onDefect));
  const edge = app.get(McpEdge);
  await fastify.register(
    part('doors', async (scope) => {
      answerProblems(scope, onDefect);
      await mountMcp(scope, edge, authenticate);
      await own?.serve(scope);
      serveMetrics(scope, metrics, settings.METRICS, authenticate);
      serveDescription(scope, app, ABOUT);
    }),
  );
  const reactor = new Reactor(
    ledger.store,
    ledger.reactions,
    [
      ingestionReaction({
        ...ledger,
        commands,
        blobs: ledger.store,
        extractor,
      }),
      ontologyReaction(ledger),
      erasureReaction(ledger),
      ...(own ? [accountReaction(own, ledger)] : []),
    ],
    (reaction, position, error) => {
      metrics.gaveUp(reaction);
      log.error({ err: error, reaction, position }, 'a reaction gave up on an event');
    },
  );
  const lag = new LagWatch(() => ledger.store.end(), ledger.projector, reactor);
  await app.init();
  await fastify.ready();
  const close = async (): Promise<void> => {
    health.serving = false;
    draining.begin();
    if (!(await draining.answered(settings.DRAIN * 1_000)))
      log.warn('the shutdown cut calls that took longer than PRECEDENT_DRAIN');
    await edge.close();
    await draining.end(STREAMS_MS);
    await app.close();
    await reactor.close();
    await signing.close();
    lag.close();
    metrics.close();
    keys.lastUsed.close();
    own?.close();
    await tracing?.close();
    await ledger.close();
  };
  const created = await commands
    .execute(
      new BootstrapWorkspace(settings.BOOTSTRAP_KEY, {
        name: settings.WORKSPACE,
        mode: settings.MODE,
        zone: settings.ZONE,
      }),
    )
    .catch(async (error: unknown) => {
      await close();
      throw error;
    });
  if (created?.reason === 'pepper_lost')
    log.warn('the pepper of the keys is gone and they with it: an owner key was issued');
  reactor.start();
  signing.start();
  if (!signing.holdsKey)
    log.warn('the log is not signed: PRECEDENT_LOG_KEY names no key that the servers share');
  return {
    app,
    edge,
    ledger,
    authenticate,
    base: address.base,
    createdKey: created?.key,
    close,
  };
}

/** Says on stderr how far the read models are, at most once a second: a start on a long log is not a hanging one. */
function catchUpLine(): (position: number, end: number) => void {
  let said = Date.now();
  return (position, end) => {
    if (Date.now() - said < 1_000) return;
    said = Date.now();
    process.stderr.write(`reading the log: position ${position} of ${end}\n`);
  };
}
