import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { Authenticate, BootstrapWorkspace } from '#access/module.js';
import { ingestionReaction } from '#decisions/module.js';
import { BODY_LIMIT, parseBodies, requireCredentials } from '#http/fastify.js';
import { ProblemFilter } from '#http/problem.js';
import type { Caller } from '#kernel/context.js';
import { McpEdge } from '#mcp/edge.js';
import { mountMcp } from '#mcp/mount.js';
import { Reactor } from '#projections/reaction.js';
import { AppModule } from './app.module.js';
import { openLedger, type Ledger } from './ledger.js';
import type { Log } from './log.js';
import type { Settings } from './settings.js';
import { VERSION } from './version.js';

export interface Application {
  app: NestFastifyApplication;
  edge: McpEdge;
  ledger: Ledger;
  authenticate: (bearer: string) => Promise<Caller | undefined>;
  /** The owner's key, where this start created the workspace. */
  createdKey: string | undefined;
  close(): Promise<void>;
}

/** Puts the whole server together on an open ledger; which doors it opens is the entry point's business. */
export async function assemble(settings: Settings, log: Log): Promise<Application> {
  const ledger = await openLedger(settings, {
    onFailure: (error) => {
      log.fatal({ err: error }, 'the read models stopped');
      process.exit(1);
    },
    onCatchUp: catchUpLine(),
  });
  const health = {
    projector: ledger.projector,
    healthy: () => ledger.store.healthy ?? true,
    end: () => ledger.store.end(),
    serving: true,
  };
  const onDefect = (error: unknown, incident: string): void => {
    log.error({ err: error, incident }, 'unexpected failure');
  };
  const app = await NestFactory.create<NestFastifyApplication>(
    AppModule.around(ledger, health, onDefect),
    new FastifyAdapter({ bodyLimit: BODY_LIMIT, routerOptions: { maxParamLength: 1_000 } }),
    { bodyParser: false, logger: ['fatal', 'error'], abortOnError: false },
  );
  const [commands, queries] = [app.get(CommandBus), app.get(QueryBus)];
  const authenticate = (bearer: string) => queries.execute(new Authenticate(bearer));
  const fastify = app.getHttpAdapter().getInstance();
  requireCredentials(fastify, authenticate);
  parseBodies(fastify);
  app.useGlobalFilters(new ProblemFilter(onDefect));
  const edge = app.get(McpEdge);
  await mountMcp(fastify, edge);
  SwaggerModule.setup('docs', app, openApi(app), {
    ui: false,
    jsonDocumentUrl: 'openapi.json',
    yamlDocumentUrl: 'openapi.yaml',
  });
  await app.init();
  await fastify.ready();
  const reactor = new Reactor(
    ledger.store,
    ledger.reactions,
    [ingestionReaction({ ...ledger, commands, blobs: ledger.store })],
    (reaction, position, error) => {
      log.error({ err: error, reaction, position }, 'a reaction gave up on an event');
    },
  );
  const created = await commands.execute(
    new BootstrapWorkspace(settings.BOOTSTRAP_KEY, {
      name: settings.WORKSPACE,
      mode: settings.MODE,
      zone: settings.ZONE,
    }),
  );
  reactor.start();
  return {
    app,
    edge,
    ledger,
    authenticate,
    createdKey: created?.key,
    async close() {
      health.serving = false;
      await edge.close();
      await app.close();
      await reactor.close();
      await ledger.close();
    },
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

function openApi(app: NestFastifyApplication) {
  const config = new DocumentBuilder()
    .setTitle('Precedent')
    .setDescription(
      'What is decided, by whom, on what evidence, since when, and what was known at the time.',
    )
    .setVersion(VERSION)
    .addBearerAuth()
    .build();
  return SwaggerModule.createDocument(app, config);
}
