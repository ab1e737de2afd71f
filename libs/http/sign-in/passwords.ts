import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { invalid } from '#kernel/refusal.js';

/** OWASP's first choice for argon2id: 19 MiB, two passes. A stored hash keeps the figures it was made with. */
const COST = { memory: 19_456, passes: 2, parallelism: 1 };
const TAG = 32;
const FORM = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([\w+/]+)\$([\w+/]+)$/;

const LEAST = 12;
const MOST = 200;

const derive = promisify(argon2);

/** Refuses what is too short, too long or the name itself; asks for no signs of any kind (NIST SP 800-63B). */
export function assertPassword(password: string, login: string): void {
  const length = [...password].length;
  if (length < LEAST)
    throw invalid('password', `has fewer than ${LEAST} characters`, 'choose a longer one');
  if (length > MOST)
    throw invalid('password', `has more than ${MOST} characters`, 'choose a shorter one');
  if (password.toLowerCase() === login.toLowerCase())
    throw invalid('password', 'is the name', 'choose another one');
}

/** In the usual form: `$argon2id$v=19$m=…,t=…,p=…$salt$hash`. */
export async function hashPassword(password: string): Promise<string> {
  const nonce = randomBytes(16);
  const hash = await hashWith(password, nonce, COST);
  const { memory, passes, parallelism } = COST;
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${plain(nonce)}$${plain(hash)}`;
}

/** Takes as long for an account that is not there as for one that is. */
export async function isPassword(password: string, stored: string | undefined): Promise<boolean> {
  const [, memory, passes, parallelism, salt = '', hash = ''] = FORM.exec(stored ?? '') ?? [];
  if (stored === undefined || memory === undefined) {
    await hashWith(password, randomBytes(16), COST);
    return false;
  }
  const cost = { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) };
  const found = await hashWith(password, Buffer.from(salt, 'base64'), cost);
  return timingSafeEqual(found, Buffer.from(hash, 'base64'));
}

async function hashWith(password: string, nonce: Buffer, cost: typeof COST): Promise<Buffer> {
  const message = Buffer.from(password.normalize('NFKC'), 'utf8').subarray(0, MOST * 4);
  return derive('argon2id', { message, nonce, tagLength: TAG, ...cost });
}

function plain(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}
