import { readFile } from 'node:fs/promises';
import type { INestApplication } from '@nestjs/common';
import type * as Swagger from '@nestjs/swagger';
import type { FastifyInstance } from 'fastify';

/**
 * What decorators say for the description of the API, applied when somebody first asks for it: `@nestjs/swagger` has a fifth of
 * all modules, and most servers never describe themselves.
 */
const waiting: ((swagger: typeof Swagger) => void)[] = [];

/** How a route appears in the description. */
export function described(
  as: (swagger: typeof Swagger) => readonly MethodDecorator[],
): MethodDecorator {
  return (target, name, method) => {
    waiting.push((swagger) => {
      for (const decorate of as(swagger)) decorate(target, name, method);
    });
  };
}

/** The routes of the controller are no part of the description. */
export function Undescribed(): ClassDecorator {
  return (controller) => {
    waiting.push((swagger) => {
      swagger.ApiExcludeController()(controller);
    });
  };
}

/**
 * Open to everybody. A build lays both texts beside this module (`scripts/describe.mjs`): making them takes a second in which nothing
 * else is answered. Where they are not there, from source and after `nest build` by itself, the first request makes them.
 */
export function serveDescription(
  fastify: FastifyInstance,
  app: INestApplication,
  about: { title: string; description: string; version: string },
): void {
  const json = once(() =>
    builtOr('openapi.json', async () => JSON.stringify(await describe(app, about))),
  );
  const yaml = once(() =>
    builtOr('openapi.yaml', async () => {
      const { stringify } = await import('yaml');
      return stringify(JSON.parse((await json()).toString()), { aliasDuplicateObjects: false });
    }),
  );
  fastify.get('/openapi.json', async (_request, reply) =>
    reply.type('application/json; charset=utf-8').send(await json()),
  );
  fastify.get('/openapi.yaml', async (_request, reply) =>
    reply.type('text/yaml; charset=utf-8').send(await yaml()),
  );
}

async function builtOr(name: string, make: () => Promise<string>): Promise<Buffer> {
  try {
    return await readFile(new URL(name, import.meta.url));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return Buffer.from(await make());
  }
}

async function describe(
  app: INestApplication,
  { title, description, version }: { title: string; description: string; version: string },
): Promise<Swagger.OpenAPIObject> {
  const swagger = await import('@nestjs/swagger');
  for (const apply of waiting.splice(0)) apply(swagger);
  const config = new swagger.DocumentBuilder()
    .setTitle(title)
    .setDescription(description)
    .setVersion(version)
    .addBearerAuth()
    .build();
  return swagger.SwaggerModule.createDocument(app, config);
}

/** Tried again after a failure. */
function once(make: () => Promise<Buffer>): () => Promise<Buffer> {
  let made: Promise<Buffer> | undefined;
  return () =>
    (made ??= make().catch((error: unknown) => {
      made = undefined;
      throw error;
    }));
}
