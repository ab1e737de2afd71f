import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { CommandBus, QueryBus } from '@nestjs/cqrs';
import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Context,
  type Span,
  type Tracer,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { MCP_MESSAGES } from '#kernel/notices.js';
import { Refusal } from '#kernel/refusal.js';
import { VERSION } from './version.js';

/** W3C: version 00, trace, parent, flags. */
const TRACEPARENT = /^00-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})$/;

/**
 * Spans of requests, messages and appends, sent to a collector. This module is loaded only where one is named: without it nothing of
 * OpenTelemetry runs. Spans name routes, messages and streams' kinds, never what is asked or answered.
 */
export class Tracing {
  readonly #provider: TracerProvider;
  readonly #tracer: Tracer;
  readonly #current = new AsyncLocalStorage<Context>();
  readonly #spans = new WeakMap<FastifyRequest, Span>();

  /** Address and headers of the collector are the exporter's own variables, `OTEL_EXPORTER_OTLP_…`, unless `url` is given. */
  constructor(options: { url?: string } = {}) {
    this.#provider = new TracerProvider({
      resource: resourceFromAttributes({ 'service.name': 'precedent', 'service.version': VERSION }),
      spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter(options) })],
    });
    this.#tracer = this.#provider.getTracer('precedent', VERSION);
    subscribe(MCP_MESSAGES, this.#messageCame);
  }

  /** Every request has a span, below the caller's own where it sent a `traceparent`. */
  traceRequests(fastify: FastifyInstance): void {
    fastify.addHook('onRequest', (request, _reply, done) => {
      const parent = parentIn(request.headers['traceparent']) ?? ROOT_CONTEXT;
      const route = request.routeOptions.url ?? 'none';
      const span = this.#tracer.startSpan(
        `${request.method} ${route}`,
        {
          kind: SpanKind.SERVER,
          attributes: {
            'http.request.method': request.method,
            'http.route': route,
            'precedent.request': request.id,
          },
        },
        parent,
      );
      this.#spans.set(request, span);
      this.#current.run(trace.setSpan(parent, span), done);
    });
    fastify.addHook('onResponse', (request, reply, done) => {
      const span = this.#spans.get(request);
      const { statusCode } = reply.raw;
      span?.setAttribute('http.response.status_code', statusCode);
      if (statusCode >= 500) span?.setStatus({ code: SpanStatusCode.ERROR });
      span?.end();
      done();
    });
  }

  /** Every message that goes over a bus has a span, with the error of a refusal. */
  traceBus(bus: CommandBus | QueryBus): void {
    const send: (message: object) => Promise<unknown> = bus.execute.bind(bus);
    bus.execute = (message: object) =>
      this.#within(message.constructor.name, () => send(message)) as Promise<never>;
  }

  /** An append that took `ms` has just ended. */
  readonly appended = (ms: number): void => {
    const parent = this.#current.getStore();
    // Appends of reactions belong to no request.
    if (!parent) return;
    const now = Date.now();
    this.#tracer.startSpan('append', { startTime: now - ms }, parent).end(now);
  };

  async close(): Promise<void> {
    unsubscribe(MCP_MESSAGES, this.#messageCame);
    // A collector that is away must not keep the server from ending.
    await this.#provider.shutdown().catch(() => undefined);
  }

  /** An MCP client says in the message, not in a header, what it belongs to. */
  readonly #messageCame = (message: unknown): void => {
    const meta = (message as { params?: { _meta?: { traceparent?: unknown } } } | null)?.params
      ?._meta;
    const parent = parentIn(meta?.traceparent);
    if (parent) this.#current.enterWith(parent);
  };

  async #within<T>(name: string, work: () => Promise<T>): Promise<T> {
    const parent = this.#current.getStore() ?? ROOT_CONTEXT;
    const span = this.#tracer.startSpan(name, {}, parent);
    try {
      return await this.#current.run(trace.setSpan(parent, span), work);
    } catch (error) {
      if (error instanceof Refusal) span.setAttribute('precedent.refusal', error.error);
      else span.setStatus({ code: SpanStatusCode.ERROR });
      throw error;
    } finally {
      span.end();
    }
  }
}

function parentIn(header: unknown): Context | undefined {
  const [, traceId, spanId, flags = ''] = TRACEPARENT.exec(String(header)) ?? [];
  if (traceId === undefined || spanId === undefined) return undefined;
  const span = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return trace.setSpanContext(ROOT_CONTEXT, span);
}
