import { randomUUID } from 'node:crypto';
import { Catch, HttpException, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { UnknownOutcome } from '#event-store/event-store.js';
import { noteRefusal } from '#kernel/notices.js';
import { Refusal, type RefusalBody, type RefusalKind } from '#kernel/refusal.js';

const STATUS: Readonly<Record<RefusalKind, number>> = {
  invalid: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  too_large: 413,
  key_reused: 422,
  rate_limited: 429,
  unavailable: 503,
};

/** RFC 9457 members beside those of a refusal. */
export interface Problem extends RefusalBody {
  title: string;
  status: number;
}

export const PROBLEM_SCHEMA = {
  type: 'object',
  required: ['title', 'status', 'error', 'message', 'issues'],
  properties: {
    title: { type: 'string' },
    status: { type: 'integer' },
    error: { type: 'string', description: 'Stable word that programs may switch on.' },
    message: { type: 'string' },
    path: { type: 'string', description: 'The first wrong field.' },
    issues: {
      type: 'array',
      items: {
        type: 'object',
        required: ['path', 'problem'],
        properties: { path: { type: 'string' }, problem: { type: 'string' } },
      },
    },
    fix: { type: 'string' },
  },
};

export function problemStatuses(method: 'GET' | 'POST'): number[] {
  return method === 'GET'
    ? [400, 401, 403, 404, 429, 503]
    : [400, 401, 403, 404, 409, 413, 415, 422, 429, 503];
}

/** Told of what was thrown and is shown to nobody, with the incident number that is, and the id of the request where there is one. */
export type OnDefect = (error: unknown, incident: string, request?: string) => void;

/** What a door says of anything that was thrown. A defect gets an incident number, its cause goes to `onDefect` only. */
export function problemOf(
  thrown: unknown,
  onDefect: (error: unknown, incident: string) => void,
): Problem {
  if (thrown instanceof Refusal) {
    const status = STATUS[thrown.kind];
    return { title: thrown.error.replaceAll('_', ' '), status, ...thrown.body() };
  }
  if (thrown instanceof UnknownOutcome) {
    onDefect(thrown, 'unknown_outcome');
    return plain(503, 'outcome_unknown', 'the write may or may not have been stored', {
      fix: 'once the server is back, send the same request again: it settles the outcome',
    });
  }
  const known = clientFault(thrown);
  if (known) return known;
  const incident = randomUUID();
  onDefect(thrown, incident);
  return plain(500, 'internal_error', `unexpected failure, incident ${incident}`, {
    fix: 'report the incident number to the operator',
  });
}

/** Errors of the HTTP layer that are the sender's: unknown route, wrong media type, body too large. */
function clientFault(thrown: unknown): Problem | undefined {
  const status =
    thrown instanceof HttpException
      ? thrown.getStatus()
      : (thrown as { statusCode?: unknown } | undefined)?.statusCode;
  if (typeof status !== 'number' || status < 400 || status >= 500) return undefined;
  switch (status) {
    case 404:
      return plain(404, 'not_found', 'there is nothing here', { fix: 'see /openapi.json' });
    case 413:
      return plain(413, 'body_too_large', 'the body is over the limit of the server', {
        fix: 'send less at once',
      });
    case 415:
      return plain(415, 'unsupported_media_type', 'the body is not JSON', {
        fix: 'send content-type application/json',
      });
    default:
      return plain(status, 'bad_request', 'the request is malformed', {});
  }
}

function plain(status: number, error: string, message: string, more: { fix?: string }): Problem {
  return { title: error.replaceAll('_', ' '), status, error, message, issues: [], ...more };
}

/** The least that a 401 says; doors with a sign-in say where it is, too. */
export const BEARER = 'Bearer realm="precedent"';

export function sendProblem(reply: FastifyReply, problem: Problem): void {
  if (problem.status === 401 && !reply.hasHeader('www-authenticate'))
    void reply.header('www-authenticate', BEARER);
  noteRefusal('rest', problem.error);
  if (problem.status === 503) void reply.header('retry-after', '1');
  void reply
    .status(problem.status)
    .header('content-type', 'application/problem+json')
    .send(JSON.stringify(problem));
}

/** For routes that are not Nest's: whatever they throw becomes a problem, too. */
export function answerProblems(scope: FastifyInstance, onDefect: OnDefect): void {
  scope.setErrorHandler((thrown, _request, reply) => {
    sendProblem(reply, problemOf(thrown, ofRequest(reply, onDefect)));
  });
}

@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(private readonly onDefect: OnDefect) {}

  catch(thrown: unknown, host: ArgumentsHost): void {
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    sendProblem(reply, problemOf(thrown, ofRequest(reply, this.onDefect)));
  }
}

function ofRequest({ request }: FastifyReply, onDefect: OnDefect) {
  return (error: unknown, incident: string): void => {
    onDefect(error, incident, request.id);
  };
}
