import { Controller, Header } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import { CallerOf, Input, Operation, Raw } from '#http/operation.js';
import type { Caller } from '#kernel/context.js';
import {
  Consistency,
  ConsistencyInput,
  Inclusion,
  InclusionInput,
  LogInput,
  LogKeyList,
  Rotated,
  RotationInput,
  TileInput,
} from './contract-log.js';
import {
  GetCheckpoint,
  GetLogKeys,
  GetTile,
  ProveConsistency,
  ProveInclusion,
  RotateLogKey,
} from './messages.js';

const TEXT = 'text/plain; charset=utf-8';
const BYTES = 'application/octet-stream';

/** The signed log of the caller's workspace. `/v1/log` is the prefix of C2SP tlog-tiles. */
@Controller('v1/log')
export class LogController {
  constructor(
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
  ) {}

  @Operation(
    'GET',
    'checkpoint',
    'The last signed checkpoint (C2SP tlog-checkpoint)',
    LogInput,
    new Raw(TEXT),
  )
  @Header('content-type', TEXT)
  checkpoint(@CallerOf() caller: Caller, @Input() input: LogInput) {
    return this.queries.execute(new GetCheckpoint(caller, input));
  }

  @Operation(
    'GET',
    'tile/*path',
    'A tile of hashes, or of records (C2SP tlog-tiles)',
    TileInput,
    new Raw(BYTES),
  )
  @Header('content-type', BYTES)
  tile(@CallerOf() caller: Caller, @Input() { path }: TileInput) {
    return this.queries.execute(new GetTile(caller, `tile/${path}`));
  }

  @Operation(
    'GET',
    'proofs/inclusion',
    'Proof that an event is in the signed log',
    InclusionInput,
    Inclusion,
  )
  inclusion(@CallerOf() caller: Caller, @Input() input: InclusionInput) {
    return this.queries.execute(new ProveInclusion(caller, input));
  }

  @Operation(
    'GET',
    'proofs/consistency',
    'Proof that a newer tree continues an older one',
    ConsistencyInput,
    Consistency,
  )
  consistency(@CallerOf() caller: Caller, @Input() input: ConsistencyInput) {
    return this.queries.execute(new ProveConsistency(caller, input));
  }

  @Operation('GET', 'keys', 'Public keys of the log, former ones included', LogInput, LogKeyList)
  keys(@CallerOf() caller: Caller, @Input() input: LogInput) {
    return this.queries.execute(new GetLogKeys(caller, input));
  }

  @Operation(
    'POST',
    'keys/rotations',
    'Lets a new key sign the logs of the ledger (operator)',
    RotationInput,
    Rotated,
  )
  rotate(@CallerOf() caller: Caller, @Input() input: RotationInput) {
    return this.commands.execute(new RotateLogKey(caller, input));
  }
}
