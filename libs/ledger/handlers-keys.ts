import type { KeyObject } from 'node:crypto';
import {
  CommandHandler,
  QueryHandler,
  type ICommandHandler,
  type IQueryHandler,
} from '@nestjs/cqrs';
import { ownership } from '#access/index.js';
import type { Caller } from '#kernel/context.js';
import { invalid, Refusal } from '#kernel/refusal.js';
import { ReadModels } from '#projections/read-models.js';
import { parseVkey } from '#transparency/note.js';
import type { LogKeyList, Rotated, RotationInput } from './contract-log.js';
import { foreignKey } from './domain/checkpoint.js';
import { LogService } from './signing/log-service.js';
import { GetLogKeys, RotateLogKey } from './messages.js';
import { originOfLog } from './domain/origin.js';
import { keysOf, type StoredKey } from './projections/checkpoints.js';
import { vkeyOf } from './signing/signer.js';

@QueryHandler(GetLogKeys)
export class GetLogKeysHandler implements IQueryHandler<GetLogKeys> {
  constructor(
    private readonly models: ReadModels,
    private readonly log: LogService,
  ) {}

  async execute({ caller: { workspace }, input }: GetLogKeys): Promise<LogKeyList> {
    await this.models.settled(Number(input.at_least ?? 0));
    return shown(await keysNow(this.models, this.log, workspace));
  }
}

@CommandHandler(RotateLogKey)
export class RotateLogKeyHandler implements ICommandHandler<RotateLogKey> {
  constructor(
    private readonly models: ReadModels,
    private readonly log: LogService,
  ) {}

  async execute({ caller, input }: RotateLogKey): Promise<Rotated> {
    await this.assertOperates(caller);
    const { workspace } = caller;
    const keys = await keysNow(this.models, this.log, workspace);
    if (!keys.some(({ vkey }) => vkey === input.from))
      throw invalid('from', 'is no key of this log', 'take it from GET /v1/log/keys');
    const signs = keys.at(-1)?.vkey === input.from;
    const finished = signs ? await this.change(input, workspace) : await this.log.leadOn();
    return { ...shown(await keysNow(this.models, this.log, workspace)), finished };
  }

  private change({ from, lost, reason }: RotationInput, workspace: string): Promise<boolean> {
    const origin = originOfLog(this.log.keys.name, workspace);
    const isFormer = (key: KeyObject): boolean => vkeyOf(origin, key) === from;
    const isHere = this.log.keys.held.some(isFormer);
    if (lost === true) {
      if (isHere)
        throw new Refusal('conflict', 'key_not_lost', 'this server has that key', {
          path: 'lost',
          issues: [{ path: 'lost', problem: 'the key is here and can sign its successor' }],
          fix: 'leave `lost` out',
        });
      if (reason === undefined) throw invalid('reason', 'is missing', 'say how the key was lost');
      return this.log.replaceLost(reason);
    }
    if (!isHere) throw foreignKey(from);
    return this.log.rotate(isFormer);
  }

  /** The keys sign for everybody on the server. */
  private async assertOperates({ organisation, principal, toolsets }: Caller): Promise<void> {
    const { operator } = await this.models.read((reads) =>
      ownership(reads, organisation, principal),
    );
    if (operator && toolsets === undefined) return;
    throw new Refusal(
      'forbidden',
      'requires_operator',
      'only the operator may change the key of the log',
      {
        fix: 'ask who runs the server; a key that is limited to toolsets will not do',
      },
    );
  }
}

/** Keys of a log, which is opened where it is not. */
async function keysNow(
  models: ReadModels,
  log: LogService,
  workspace: string,
): Promise<StoredKey[]> {
  const keys = await models.read((reads) => keysOf(reads, workspace));
  if (keys.length > 0) return keys;
  await log.open(workspace);
  return models.read((reads) => keysOf(reads, workspace));
}

function shown(keys: readonly StoredKey[]): LogKeyList {
  const last = keys.at(-1);
  if (!last) throw new Error('a log without a key');
  return {
    origin: last.origin,
    keys: keys.map(({ vkey, how, detail, position }) => ({
      vkey,
      how,
      position: String(position),
      ...(how === 'rotated' ? { note: detail } : {}),
      ...(how === 'replaced' ? { reason: detail } : {}),
    })),
    public_key: parseVkey(last.vkey).publicKey.export({ type: 'spki', format: 'pem' }).toString(),
  };
}
