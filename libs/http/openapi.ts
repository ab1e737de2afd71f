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

/** Open to everybody; made at the first request, kept as text. */
export function serveDescription(
  fastify: FastifyInstance,
  app: INestApplication,
  about: { title: string; description: string; version: string },
): void {
  const json = once(async () => JSON.stringify(await describe(app, about)));
  const yaml = once(async () => {
    const { stringify } = await import('yaml');
    return stringify(JSON.parse(await json()), { aliasDuplicateObjects: false });
  });
  fastify.get('/openapi.json', async (_request, reply) =>
    reply.type('application/json; charset=utf-8').send(await json()),
  );
  fastify.get('/openapi.yaml', async (_request, reply) =>
    reply.type('text/yaml; charset=utf-8').send(await yaml()),
  );
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

function once(make: () => Promise<string>): () => Promise<string> {
  let made: Promise<string> | undefined;
  return () => (made ??= make());
}
