import type { ElicitRequestFormParams } from '@modelcontextprotocol/server';
import { Refusal, type Issue } from '#kernel/refusal.js';
import type { Field, Question, Reply } from './tool-request.js';

type Form = ElicitRequestFormParams['requestedSchema'];
type FormField = Form['properties'][string];

/** From this revision on a choice with titles is `oneOf`; older ones have `enum` with `enumNames`. */
const ONE_OF_SINCE = '2025-11-25';
const MAX_TEXT = 2_000;

/** The question as a client of that revision takes it. */
export function formOf(question: Question, revision: string): ElicitRequestFormParams {
  const properties = Object.fromEntries(
    Object.entries(question.fields).map(([name, field]) => [name, propertyOf(field, revision)]),
  );
  return {
    mode: 'form',
    message: question.message,
    requestedSchema: { type: 'object', properties, required: Object.keys(properties) },
  };
}

function propertyOf(field: Field, revision: string): FormField {
  const { title, description } = field;
  const named = { title, ...(description === undefined ? {} : { description }) };
  switch (field.kind) {
    case 'choice': {
      const { options } = field;
      return revision >= ONE_OF_SINCE
        ? {
            type: 'string',
            ...named,
            oneOf: options.map((o) => ({ const: o.value, title: o.title })),
          }
        : {
            type: 'string',
            ...named,
            enum: options.map((o) => o.value),
            enumNames: options.map((o) => o.title),
          };
    }
    case 'text':
      return { type: 'string', ...named, maxLength: field.max ?? MAX_TEXT };
    case 'number':
      return { type: 'number', ...named };
    case 'yes_no':
      return { type: 'boolean', ...named };
  }
}

/**
 * The answer that a client sent, held against the question as it is now: a Refusal `invalid_answer` for what was not offered.
 * Undefined for what is no answer at all; the question is then asked again.
 */
export function replyIn(question: Question, response: unknown): Reply | undefined {
  if (typeof response !== 'object' || response === null || !('action' in response))
    return undefined;
  const { action } = response;
  if (action === 'decline' || action === 'cancel') return { action };
  if (action !== 'accept' || !('content' in response)) return undefined;
  const content = response.content;
  if (typeof content !== 'object' || content === null || Array.isArray(content)) return undefined;
  const given = content as Readonly<Record<string, unknown>>;
  const issues = Object.entries(question.fields).flatMap(([name, field]): Issue[] => {
    const problem = problemOf(field, Object.hasOwn(given, name) ? given[name] : undefined);
    return problem === undefined ? [] : [{ path: name, problem }];
  });
  if (issues.length > 0) throw unfit(question, issues);
  const names = Object.keys(question.fields);
  return {
    action,
    content: Object.fromEntries(
      names.map((name) => [name, given[name] as string | number | boolean]),
    ),
  };
}

function problemOf(field: Field, value: unknown): string | undefined {
  switch (field.kind) {
    case 'choice':
      return field.options.some((option) => option.value === value)
        ? undefined
        : 'is none of the options that were offered';
    case 'text': {
      const max = field.max ?? MAX_TEXT;
      return typeof value === 'string' && value.isWellFormed() && [...value].length <= max
        ? undefined
        : `must be text of ${max} characters at most`;
    }
    case 'number':
      return typeof value === 'number' && Number.isFinite(value) ? undefined : 'must be a number';
    case 'yes_no':
      return typeof value === 'boolean' ? undefined : 'must be true or false';
  }
}

function unfit(question: Question, issues: readonly Issue[]): Refusal {
  const [first] = issues;
  return new Refusal('invalid', 'invalid_answer', `${first?.path}: ${first?.problem}`, {
    ...(first === undefined ? {} : { path: first.path }),
    issues,
    fix: `answer the question ${question.key} again with what it offers`,
  });
}
