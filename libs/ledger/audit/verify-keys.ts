import type { EventStore, Position } from '#event-store/event-store.js';
import type { HeaderFacts } from '#event-store/header-facts.js';
import { LedgerDamage, type StoredEvent } from '#event-store/ledger-check.js';
import { openCheckpoint } from '#transparency/checkpoint.js';
import { parseVkey } from '#transparency/note.js';
import { ProofError } from '#transparency/proof-error.js';
import { verifyRotation } from '../signing/key-chain.js';
import { isCheckpointStream } from '../streams.js';

/** Follows the checkpoint stream of one log: which key signs, and that what it signed is signed by it. */
export class KeyChain {
  origin: string | undefined;
  /** In the order in which they came; the last one signs. */
  readonly vkeys: string[] = [];

  readonly #trusted: Set<string> | undefined;

  /** `trusted`: keys that somebody outside of the ledger vouches for. What such a key hands over to is trusted as well. */
  constructor(trusted: ReadonlySet<string> | undefined) {
    this.#trusted = trusted && new Set(trusted);
  }

  /** The checkpoint that this event is, with its signature proved. Throws `LedgerDamage`. */
  take(event: StoredEvent, { type }: HeaderFacts): { size: number; root: string } | undefined {
    try {
      return this.#take(type, payloadOf(event));
    } catch (error) {
      if (error instanceof ProofError) throw unproved(event.position, type, error);
      throw error;
    }
  }

  /** The root that a checkpoint read ahead is signed for with the present key; undefined where it is not. */
  signedRoot(event: StoredEvent): string | undefined {
    try {
      return this.#signed(payloadOf(event)).root;
    } catch (error) {
      if (error instanceof ProofError) return undefined;
      throw error;
    }
  }

  #take(type: string, data: Data): { size: number; root: string } | undefined {
    switch (type) {
      case 'LogOpened':
        this.#opened(text(data, 'origin'), text(data, 'vkey'), data['replaces']);
        return undefined;
      case 'LogKeyRotated': {
        const vkey = text(data, 'vkey');
        const former = this.#signing();
        verifyRotation(this.origin ?? '', former, vkey, text(data, 'note'));
        if (this.#trusted?.has(former)) this.#trusted.add(vkey);
        this.#add(vkey);
        return undefined;
      }
      case 'CheckpointSigned':
        return this.#signed(data);
      default:
        // A key that nobody follows any more would make what comes next look bad.
        throw new ProofError('no event of a log’s checkpoints', {
          expected: 'LogOpened, CheckpointSigned or LogKeyRotated',
          found: type,
        });
    }
  }

  #opened(origin: string, vkey: string, replaces: unknown): void {
    const current = this.vkeys.at(-1);
    if (current !== replaces)
      throw new ProofError('the log is opened again', {
        expected: current ?? 'no key before it',
        found: typeof replaces === 'string' ? replaces : 'no key that it replaces',
      });
    if (this.origin !== undefined && this.origin !== origin)
      throw new ProofError('the log has another name', { expected: this.origin, found: origin });
    this.origin = origin;
    this.#add(vkey);
  }

  #add(vkey: string): void {
    const { name } = parseVkey(vkey);
    if (name !== this.origin)
      throw new ProofError('the key is of another log', {
        expected: this.origin ?? 'a log that was opened',
        found: name,
      });
    this.vkeys.push(vkey);
  }

  #signing(): string {
    const vkey = this.vkeys.at(-1);
    if (vkey === undefined) throw new ProofError('the log was never opened with a key');
    return vkey;
  }

  #signed(data: Data): { size: number; root: string } {
    const vkey = this.#signing();
    const { size, root } = data;
    if (this.#trusted && !this.#trusted.has(vkey))
      throw new ProofError('it is signed by a key that is not among those given', {
        expected: 'one of the keys given with --keys',
        found: vkey,
      });
    const checkpoint = openCheckpoint(text(data, 'note'), [parseVkey(vkey)], this.origin);
    const said = Buffer.from(checkpoint.root).toString('base64');
    if (checkpoint.size !== size || said !== root)
      throw new ProofError('the note signs another tree than the event says', {
        expected: `${String(size)} leaves, root ${String(root)}`,
        found: `${checkpoint.size} leaves, root ${said}`,
      });
    return { size: checkpoint.size, root: said };
  }
}

type Data = Readonly<Record<string, unknown>>;

function payloadOf({ payload }: StoredEvent): Data {
  try {
    const value: unknown = JSON.parse(payload);
    if (typeof value === 'object' && value !== null) return value as Data;
  } catch {
    // Said below.
  }
  throw new ProofError('its payload is no JSON object');
}

function text(data: Data, name: string): string {
  const value = data[name];
  if (typeof value === 'string') return value;
  throw new ProofError(`it has no ${name}`);
}

function unproved(position: Position, type: string, error: ProofError): LedgerDamage {
  return new LedgerDamage(
    {
      at: `position ${position}`,
      what: `${type}: ${error.message}`,
      expected: error.expected ?? 'a proof',
      found: error.found ?? 'none',
      first: position,
      last: position,
    },
    { cause: error },
  );
}

/** Verifier keys of all logs, in the order in which the log names them: what the ledger says of itself. Reads the whole log. */
export async function keysOfLog(store: Pick<EventStore, 'follow'>): Promise<string[]> {
  const { signal } = new AbortController();
  const vkeys: string[] = [];
  for await (const batch of store.follow(0, { signal, live: false, batch: 4_096 }))
    for (const { type, stream, payload } of batch) {
      if (!isCheckpointStream(stream)) continue;
      if (type !== 'LogOpened' && type !== 'LogKeyRotated') continue;
      const { vkey } = JSON.parse(payload) as { vkey?: unknown };
      if (typeof vkey === 'string') vkeys.push(vkey);
    }
  return vkeys;
}
