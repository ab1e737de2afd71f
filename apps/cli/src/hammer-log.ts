import type { LogKeyList } from '#ledger/contract-log.js';
import { verifyRotation } from '#ledger/index.js';
import { fetchCheckpoint, TiledTree, type FetchResource } from '#transparency/log-reader.js';
import { parseVkey, type Verifier } from '#transparency/note.js';
import { ProofError } from '#transparency/proof-error.js';
import { exchange } from './api.js';
import type { Connection } from './connection.js';
import { EXIT, Failure } from './failure.js';
import { lie } from './hammer-lie.js';

/** Watches the log that a server signs: each checkpoint must continue the one before. */
export class WatchedLog {
  checked = 0;
  /** Keys that are trusted: the first that the server named, and those to which a trusted one handed over. */
  #keys: Verifier[] = [];
  #last: TiledTree['checkpoint'] | undefined;

  constructor(private readonly connection: Connection) {}

  /** False where the server signs no log. Rejects with the lie where a checkpoint does not continue the one before, or its tiles do not fit it. */
  async look(): Promise<boolean> {
    if (!(await this.#get('checkpoint'))) return false;
    const keys = await this.#get('keys');
    if (!keys) return false;
    try {
      this.#trust(JSON.parse(Buffer.from(keys).toString()) as LogKeyList);
      const checkpoint = await fetchCheckpoint(this.#get, this.#keys);
      const tree = await TiledTree.open(this.#get, checkpoint);
      if (this.#last && this.#last.size > 0) await tree.consistency(this.#last);
      this.#last = checkpoint;
      this.checked += 1;
    } catch (error) {
      if (error instanceof ProofError) throw this.#lieOf(error);
      throw error;
    }
    return true;
  }

  #lieOf({ message, expected, found }: ProofError): Failure {
    const before = this.#last === undefined ? 'any' : `one that continues size ${this.#last.size}`;
    return lie({
      what: `the signed log does not hold: ${message}`,
      asked: 'GET /v1/log/checkpoint',
      expected: expected ?? `a checkpoint that holds, ${before}`,
      found: found ?? message,
    });
  }

  #trust({ origin, keys }: LogKeyList): void {
    for (const [i, { vkey, note = '' }] of keys.entries()) {
      const known = this.#keys[i];
      if (known && known.vkey !== vkey)
        throw new ProofError('the keys of the log are others than before', {
          expected: known.vkey,
          found: vkey,
        });
      if (known) continue;
      const former = this.#keys.at(-1);
      if (former) verifyRotation(origin, former.vkey, vkey, note);
      this.#keys.push(parseVkey(vkey));
    }
  }

  readonly #get: FetchResource = async (path) => {
    const { connection } = this;
    const reply = await exchange(connection, `${connection.url}/v1/log/${path}`, {});
    const bytes = new Uint8Array(await reply.arrayBuffer());
    if (reply.ok) return bytes;
    // 404: no such resource. 409: this server has no key to sign with.
    if (reply.status === 404 || reply.status === 409) return undefined;
    throw new Failure(EXIT.unreachable, {
      error: 'log_unavailable',
      message: `the server did not give /v1/log/${path} (HTTP ${reply.status})`,
    });
  };
}
