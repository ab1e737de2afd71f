import type {
  Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import type { Caller, Clock } from '#kernel/context.js';
import type { McpLimits } from './limits.js';

/** Whether the credential that a request came with still holds. */
export type Holds = () => Promise<boolean>;

export interface Session {
  readonly id: string;
  readonly workspace: string;
  readonly principal: string;
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- as in sdk.ts
  readonly server: Server;
  readonly transport: WebStandardStreamableHTTPServerTransport;
}

interface Kept extends Session {
  /** Of the latest request. */
  holds: Holds;
  usedAt: number;
  /** Requests that are being answered. */
  open: number;
}

type Owner = Pick<Caller, 'workspace' | 'principal'>;

/**
 * Sessions of older clients that can ask their user: the way back to them. Each belongs to one principal; for everybody else it is
 * not there. Bounded in number and in idle time, and gone with the credential that used it last.
 */
export class Sessions {
  /** In the order of their last use that needed them. */
  readonly #sessions = new Map<string, Kept>();
  readonly #limits: McpLimits;
  readonly #now: Clock;
  #timer: NodeJS.Timeout | undefined;

  constructor(limits: McpLimits, now: Clock) {
    this.#limits = limits;
    this.#now = now;
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** False when all places are taken; a principal's own oldest session makes room for a new one of his. */
  admits(owner: Owner): boolean {
    const own = [...this.#sessions.values()].filter((session) => belongs(session, owner));
    const full = this.#sessions.size >= this.#limits.sessions;
    if (!full && own.length < this.#limits.sessionsOfPrincipal) return true;
    const oldest = own.find((session) => session.open === 0);
    if (!oldest) return false;
    this.#close(oldest);
    return true;
  }

  add(session: Session, holds: Holds): void {
    this.#sessions.set(session.id, { ...session, holds, usedAt: this.#now(), open: 0 });
    this.#timer ??= setInterval(() => void this.#sweep(), this.#limits.recheckMs).unref();
  }

  /** The session, marked as used until `done` is called. Undefined where it is not there for this caller. */
  use(id: string, owner: Owner, holds: Holds): { session: Session; done: () => void } | undefined {
    const session = this.#sessions.get(id);
    if (!session || !belongs(session, owner)) return undefined;
    this.#sessions.delete(id);
    this.#sessions.set(id, session);
    session.holds = holds;
    session.open += 1;
    return {
      session,
      done: () => {
        session.open -= 1;
        session.usedAt = this.#now();
      },
    };
  }

  /** For a request that needs nothing of the session; false where it is not there for this caller. */
  touch(id: string, owner: Owner): boolean {
    const session = this.#sessions.get(id);
    if (!session || !belongs(session, owner)) return false;
    session.usedAt = this.#now();
    return true;
  }

  remove(id: string): void {
    this.#sessions.delete(id);
    if (this.#sessions.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  closeAll(): void {
    for (const session of [...this.#sessions.values()]) this.#close(session);
  }

  #close(session: Session): void {
    this.remove(session.id);
    // Ends its streams and what runs in it.
    void session.server.close().catch(() => undefined);
  }

  async #sweep(): Promise<void> {
    const idle = this.#now() - this.#limits.sessionIdleMs;
    for (const session of [...this.#sessions.values()])
      if ((session.open === 0 && session.usedAt < idle) || !(await holdsStill(session.holds)))
        this.#close(session);
  }
}

/** A store that cannot be asked is no reason to end what was let in. */
export async function holdsStill(holds: Holds): Promise<boolean> {
  return holds().catch(() => true);
}

function belongs(session: Session, { workspace, principal }: Owner): boolean {
  return session.workspace === workspace && session.principal === principal;
}
