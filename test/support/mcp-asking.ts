import { setTimeout } from 'node:timers/promises';
import { IsArray, IsBoolean, IsInt, IsOptional, Max, Min } from 'class-validator';
import { Doc, IsText, OrNull } from '#kernel/shape-decorators.js';
import type { Question } from '#mcp/tool-request.js';
import { tool, type Tool } from '#mcp/tool.js';

/** Tools that take their request: they ask the user, one question a round, or report progress. What they did is on record. */

class PickInput {
  @Doc('Group to pick a term for.') @IsText({ max: 50 }) group!: string;
}

class Picked {
  @OrNull() @IsText() term!: string | null;
  @OrNull() @IsBoolean() sure!: boolean | null;
  @IsArray() @IsText({}, { each: true }) asked!: string[];
  @IsText() revision!: string;
}

class ManyInput {
  @IsInt() @Min(1) @Max(200) count!: number;
}

class WorkInput {
  @IsOptional() @IsInt() @Min(1) @Max(60_000) ms?: number;
}

class Worked {
  @IsBoolean() done!: boolean;
}

const WRITE = { readOnly: false, destructive: false, idempotent: false, openWorld: false };

export interface AskingTools {
  readonly tools: Tool[];
  /** Answers that had their effect, in order. */
  readonly effects: string[];
  /** Calls that were told to stop. */
  readonly stopped: string[];
}

export function termChoice(group: string): Question {
  return {
    key: `term_choice:${group}`,
    message: `Which term fits ${group}?`,
    fields: {
      term: {
        kind: 'choice',
        title: 'Term',
        options: [
          { value: `${group}-1`, title: 'liver (UBERON:0002107) p(fits)=0.83 L1' },
          { value: `${group}-2`, title: 'lung (UBERON:0002048) (unranked: decider unavailable)' },
        ],
      },
    },
    about: { run_id: 'run-1' },
    otherwise: 'decide the group term_choice with decide_term',
  };
}

const SURE: Question = {
  key: 'sure',
  message: 'Are you sure?',
  fields: { yes: { kind: 'yes_no', title: 'Sure' } },
  about: { run_id: 'run-1' },
  otherwise: 'call decide_term',
};

export function askingTools(): AskingTools {
  const effects: string[] = [];
  const stopped: string[] = [];
  const shared = {
    toolset: 'annotation',
    audience: ['person', 'agent', 'service'],
    role: 'member',
    hints: WRITE,
  } as const;
  const tools = ['pick_term', 'pick_other'].map((name) =>
    tool({
      ...shared,
      name,
      title: 'Pick',
      description: 'Asks for a term, and then whether that was meant.',
      input: PickInput,
      output: Picked,
      run: async ({ group }, _caller, _bus, request) => {
        const { asked, revision } = request;
        const key = `term_choice:${group}`;
        if (asked.at(-1) !== SURE.key) {
          const picked = await request.elicit(termChoice(group));
          if (picked.action !== 'accept')
            return { term: null, sure: null, asked: [...asked], revision };
          effects.push(`${key}=${String(picked.content['term'])}`);
        }
        const sure = await request.elicit(SURE);
        const yes = sure.action === 'accept' ? sure.content['yes'] === true : null;
        return { term: effects.at(-1) ?? null, sure: yes, asked: [...asked], revision };
      },
    }),
  );
  tools.push(
    tool({
      ...shared,
      name: 'ask_many',
      title: 'Ask much',
      description: 'Asks one question after the other, and never one again.',
      input: ManyInput,
      output: Worked,
      run: async ({ count }, _caller, _bus, request) => {
        for (let n = Math.max(0, request.asked.length - 1); n < count; n += 1) {
          const key = `group:${String(n).padStart(36, '0')}`;
          const reply = await request.elicit({ ...SURE, key });
          effects.push(`${n} ${reply.action}`);
        }
        return { done: true };
      },
    }),
    tool({
      ...shared,
      name: 'work_long',
      title: 'Work',
      description: 'Works for a while and says how far it is.',
      input: WorkInput,
      output: Worked,
      run: async ({ ms = 50 }, caller, _bus, request) => {
        request.progress(1, 3, 'one of three');
        try {
          await setTimeout(ms, undefined, { signal: request.signal });
        } catch (error) {
          stopped.push(caller.principal);
          throw error;
        }
        return { done: true };
      },
    }),
  );
  return { tools, effects, stopped };
}
