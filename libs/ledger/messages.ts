import { Command, Query } from '@nestjs/cqrs';
import type { Caller } from '#kernel/context.js';
import type { Events, EventsInput } from './contract.js';
import type {
  Consistency,
  ConsistencyInput,
  Inclusion,
  InclusionInput,
  LogInput,
  LogKeyList,
  Rotated,
  RotationInput,
} from './contract-log.js';

export class ListEvents extends Query<Events> {
  constructor(
    readonly caller: Caller,
    readonly input: EventsInput,
  ) {
    super();
  }
}

/** The last signed note. */
export class GetCheckpoint extends Query<string> {
  constructor(
    readonly caller: Caller,
    readonly input: LogInput,
  ) {
    super();
  }
}

/** A hash tile or entry bundle of C2SP tlog-tiles; `path` begins with `tile/`. */
export class GetTile extends Query<Uint8Array> {
  constructor(
    readonly caller: Caller,
    readonly path: string,
  ) {
    super();
  }
}

export class ProveInclusion extends Query<Inclusion> {
  constructor(
    readonly caller: Caller,
    readonly input: InclusionInput,
  ) {
    super();
  }
}

export class ProveConsistency extends Query<Consistency> {
  constructor(
    readonly caller: Caller,
    readonly input: ConsistencyInput,
  ) {
    super();
  }
}

export class GetLogKeys extends Query<LogKeyList> {
  constructor(
    readonly caller: Caller,
    readonly input: LogInput,
  ) {
    super();
  }
}

/** A new key signs all logs of the ledger from now on. The operator's. */
export class RotateLogKey extends Command<Rotated> {
  constructor(
    readonly caller: Caller,
    readonly input: RotationInput,
  ) {
    super();
  }
}
