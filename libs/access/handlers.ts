import { randomBytes, randomUUID } from 'node:crypto';
import { Inject } from '@nestjs/common';
import {
  CommandHandler,
  QueryHandler,
  type ICommandHandler,
  type IQueryHandler,
} from '@nestjs/cqrs';
import { Streams, type Origin } from '#event-store/streams.js';
import type { Caller, Clock } from '#kernel/context.js';
import { Refusal, invalid } from '#kernel/refusal.js';
import { Recent } from '#kernel/recent.js';
import type { Row } from '#projections/read-database.js';
import { ReadModels } from '#projections/read-models.js';
import { CLOCK } from '#projections/tokens.js';
import {
  API_KEY_FORM,
  apiKeyFrom,
  parseApiKey,
  secretHash,
  type Pepper,
} from './domain/api-key.js';
import type { WorkspaceCommand } from './domain/workspace.js';
import { Authenticate, BootstrapWorkspace } from './messages.js';
import { callerOfKey, keyRow, strandedKeys } from './projections/callers.js';
import type { LastUsed } from './projections/last-used.js';
import {
  organisationStream,
  organisationStreams,
  workspaceStream,
  workspaceStreams,
} from './streams.js';

/** What this server knows of keys beside the ledger. */
export interface KeyRing {
  /** Hashed with every new secret; undefined where servers share a ledger and no pepper was set. */
  pepper: Pepper | undefined;
  lastUsed: LastUsed;
  /** Other servers use the same ledger: what this one does not know, another may. */
  shared: boolean;
}
export const KEY_RING = Symbol('KeyRing');

/** The one that an empty ledger gets. Fixed names: two servers that start at once cannot both create it. */
const FIRST = { workspace: 'main', organisation: 'main', owner: 'owner' };

/** A key and what is stored of it. `short`: given, or random. */
export function newKey(
  pepper: Pepper | undefined,
  short?: string,
): { text: string; short: string; secret: string } {
  return stored(apiKeyFrom(randomBytes(128), short), pepper);
}

function stored(text: string, pepper: Pepper | undefined) {
  const parsed = parseApiKey(text);
  if (!parsed)
    throw invalid('PRECEDENT_BOOTSTRAP_KEY', 'is no API key', `use the form ${API_KEY_FORM}`);
  return { text, short: parsed.short, secret: secretHash(parsed.long, pepper) };
}

@CommandHandler(BootstrapWorkspace)
export class BootstrapWorkspaceHandler implements ICommandHandler<BootstrapWorkspace> {
  constructor(
    private readonly streams: Streams,
    private readonly models: ReadModels,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(KEY_RING) private readonly ring: KeyRing,
  ) {}

  /** Returns once the workspace can be used, whoever created it. */
  async execute({ key, settings }: BootstrapWorkspace): ReturnType<typeof this.recovered> {
    const stream = workspaceStream(FIRST.workspace);
    const created = await this.create(stream, key, settings);
    await this.models.settled((await this.streams.load(workspaceStreams, stream)).position);
    return created === undefined
      ? this.recovered(stream, key)
      : { key: created, reason: 'first_start' };
  }

  /** Organisation first, workspace last: cut short between, the next start goes on, and only a workspace makes anything usable. */
  private async create(
    stream: string,
    key: string | undefined,
    { name, mode, zone }: BootstrapWorkspace['settings'],
  ): Promise<string | undefined> {
    if ((await this.streams.load(workspaceStreams, stream)).state.status === 'open')
      return undefined;
    const { text, short, secret } =
      key === undefined ? this.drawn() : stored(key, this.ring.pepper);
    const { organisation } = FIRST;
    const owner = {
      organisation,
      principal: FIRST.owner,
      kind: 'person',
      name: 'Owner',
    } as const;
    await unlessExists('organisation_exists', () =>
      this.streams.execute(
        organisationStreams,
        organisationStream(FIRST.organisation),
        { type: 'Create', name, mode, operator: true, owner },
        system(),
      ),
    );
    const credential = { short, secret, label: 'first key', toolsets: null, expiresAt: null };
    const command: WorkspaceCommand = {
      type: 'Create',
      name,
      organisation,
      zone,
      owner: FIRST.owner,
      credential,
    };
    const mine = await unlessExists('workspace_exists', () =>
      this.streams.execute(workspaceStreams, stream, command, system()),
    );
    return mine ? text : undefined;
  }

  /** A ledger that came without the pepper of its keys would be closed to everybody. Who holds its files gets in again. */
  private async recovered(
    stream: string,
    key: string | undefined,
  ): Promise<{ key: string; reason: 'first_start' | 'pepper_lost' } | undefined> {
    const now = this.clock();
    const { stranded, usable } = this.models.now((reads) =>
      strandedKeys(reads, FIRST.workspace, this.ring.pepper, now),
    );
    if (stranded === 0 || usable > 0) return undefined;
    if (this.ring.shared) throw otherPepper();
    const { state } = await this.streams.load(workspaceStreams, stream);
    if (state.status !== 'open') return undefined;
    const [principal] = [...state.members].find(([, member]) => member.role === 'owner') ?? [];
    if (principal === undefined) return undefined;
    const { text, short, secret } =
      key === undefined ? this.drawn() : stored(key, this.ring.pepper);
    const by = { principal, role: 'owner' } as const;
    const credential = { short, secret, label: 'pepper lost', toolsets: null, expiresAt: null };
    const command: WorkspaceCommand = state.credentials.has(short)
      ? { type: 'RerollCredential', by, short, secret, now, overlap: 0 }
      : { type: 'IssueCredential', by, principal, credential, now };
    await this.streams.execute(workspaceStreams, stream, command, system());
    await this.models.settled();
    return { key: text, reason: 'pepper_lost' };
  }

  private drawn() {
    return newKey(this.ring.pepper);
  }
}

function otherPepper(): Refusal {
  return new Refusal(
    'invalid',
    'pepper_differs',
    'the keys of this ledger were made with another pepper than this server has',
    { fix: 'set PRECEDENT_PEPPER to what the other servers of the ledger have' },
  );
}

function system(): Origin {
  const id = randomUUID();
  return {
    workspace: FIRST.workspace,
    actor: { principal: 'system', kind: 'system', credential: null },
    command: id,
    correlation: id,
  };
}

/** False where another server was faster. */
async function unlessExists(error: string, work: () => Promise<unknown>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (thrown) {
    if (thrown instanceof Refusal && thrown.error === error) return false;
    throw thrown;
  }
}

const KNOWN_KEYS = 10_000;

@QueryHandler(Authenticate)
export class AuthenticateHandler implements IQueryHandler<Authenticate> {
  private readonly known = new Recent<{ position: number; row: Row | undefined }>(KNOWN_KEYS);

  constructor(
    private readonly models: ReadModels,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(KEY_RING) private readonly ring: KeyRing,
  ) {}

  async execute({ bearer }: Authenticate): Promise<Caller | undefined> {
    const key = parseApiKey(bearer);
    if (!key) return undefined;
    const now = this.clock();
    const caller = callerOfKey(this.row(key.short), key, this.ring.pepper, now);
    if (caller) this.ring.lastUsed.note(key.short, now);
    return caller;
  }

  /** Looked up once for every state of the read models: a revocation counts as soon as they have seen it (B40). */
  private row(short: string): Row | undefined {
    const { position } = this.models;
    const known = this.known.get(short);
    if (known?.position === position) return known.row;
    const row = this.models.now((reads) => keyRow(reads, short));
    this.known.set(short, { position, row });
    return row;
  }
}
