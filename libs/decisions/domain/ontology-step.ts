import { Refusal, invalid, type RefusalKind } from '#kernel/refusal.js';
import type { Draft } from './ontology-content.js';
import type { StoredOperation } from './ontology.events.js';

/** Documented limits of an ontology; all are refused before anything is stored. */
export const ONTOLOGY_LIMITS = {
  operationsPerChange: 200,
  topics: 2_000,
  aliasesPerTopic: 50,
  /** As many as a scope may have. */
  dimensions: 16,
  valuesPerDimension: 500,
  sourceTypes: 100,
  rules: 500,
  personsPerRule: 20,
  /** Levels of topics, and of values of a dimension. */
  depth: 16,
  /** UTF-8 bytes of the whole ontology in canonical JSON. */
  bytes: 400_000,
  openProposals: 50,
} as const;

/** Topics that records opened, by the folded form of each name that a change uses. Looked up before, since a decider reads nothing. */
export type Recorded = ReadonlyMap<string, readonly { topic: string; name: string }[]>;

/** One step and where it stands. `put` does it and keeps it as it will be stored. */
export interface Place {
  draft: Draft;
  step: StoredOperation;
  path: string;
  recorded: Recorded;
  put: (step: StoredOperation) => void;
}

/** Words of refusal for one step of a change; `path` is the step's own, such as `change[2]`. */
export class Refusals {
  constructor(private readonly path: string) {}

  wrong(field: string, problem: string, fix: string): Refusal {
    return invalid(`${this.path}.${field}`, problem, fix);
  }

  refusal(field: string, kind: RefusalKind, error: string, problem: string, fix: string): Refusal {
    const path = `${this.path}.${field}`;
    return new Refusal(kind, error, `${path}: ${problem}`, {
      path,
      issues: [{ path, problem }],
      fix,
    });
  }

  /** B33: the existing one is named. */
  duplicate(field: string, existing: string): Refusal {
    return this.refusal(
      field,
      'conflict',
      'duplicate_name',
      `"${existing}" is declared already`,
      `use ${existing}, or choose a name that differs in more than case, spaces and hyphens`,
    );
  }

  taken(field: string, name: string, holder: string): Refusal {
    return this.refusal(
      field,
      'conflict',
      'duplicate_name',
      `the topic ${holder} bears the name "${name}"`,
      `choose another name, or change ${holder}`,
    );
  }

  unknown(field: string, error: string, problem: string, fix: string): Refusal {
    return this.refusal(field, 'invalid', error, problem, fix);
  }

  inUse(field: string, problem: string, fix: string): Refusal {
    return this.refusal(field, 'conflict', 'in_use', problem, fix);
  }

  ring(field: string, value: string, parent: string): Refusal {
    return this.refusal(
      field,
      'conflict',
      'hierarchy_cycle',
      `${parent} is ${value} itself or lies below it`,
      'choose a parent that lies elsewhere, or none',
    );
  }

  tooDeep(field: string, what: string, levels: number): Refusal {
    return this.refusal(
      field,
      'too_large',
      'too_large',
      `${what} are at most ${levels} levels deep`,
      'make it flatter',
    );
  }
}
