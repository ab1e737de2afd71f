import { generateKeyPairSync } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { formatCheckpoint } from '#transparency/checkpoint.js';
import { CompactRange, leafHash } from '#transparency/merkle.js';
import { ed25519Vkey, noteSigner, signNote } from '#transparency/note.js';
import { encodeTile } from '#transparency/tile.js';
import { EXIT, Failure } from '../../apps/cli/src/failure.js';
import { hammer, type Hammered } from '../../apps/cli/src/hammer-run.js';
import { precedent } from '../support/cli.js';
import { LyingServer, type Exchange, type Lie } from '../support/lying-server.js';
import { proved } from '../support/proved.js';
import { startServer, type RunningServer } from '../support/server.js';

let server: RunningServer;

beforeAll(async () => {
  server = await startServer();
});
afterAll(async () => {
  await server.stop();
  await rm(server.dir, { recursive: true });
});

interface Answer {
  state: string;
  position: string;
  decision?: { id: string; value: number };
}
interface Question {
  topic: string;
  known_at?: string;
}

const answers = ({ method, url, status }: Exchange): boolean =>
  method === 'POST' && url === '/v1/answers' && status === 200;

/** Answers about the present, from the fifth of each topic on. */
const late = (tell: (given: Answer, first: Answer, asked: Question) => Answer | undefined): Lie => {
  const seen = new Map<string, { n: number; first: Answer }>();
  return (exchange) => {
    const asked = exchange.request as Question;
    if (!answers(exchange) || asked.known_at !== undefined) return undefined;
    const given = exchange.reply as Answer;
    const before = seen.get(asked.topic);
    seen.set(asked.topic, { n: (before?.n ?? 0) + 1, first: before?.first ?? given });
    return before && before.n >= 4 ? tell(given, before.first, asked) : undefined;
  };
};

/** A log of its own: a tree of so many leaves, signed by its own key. */
const key = generateKeyPairSync('ed25519');
const ORIGIN = 'precedent/lies';

function logOf(leaves: readonly string[]): { checkpoint: Buffer; tile: Buffer } {
  const hashes = leaves.map((leaf) => leafHash(leaf));
  const range = CompactRange.from(0, []);
  for (const hash of hashes) range.append(hash);
  const text = formatCheckpoint({ origin: ORIGIN, size: leaves.length, root: range.root() });
  const note = signNote(text, [noteSigner(ORIGIN, key.privateKey)]);
  return { checkpoint: Buffer.from(note), tile: Buffer.from(encodeTile(hashes)) };
}

const KEYS = {
  origin: ORIGIN,
  keys: [{ vkey: ed25519Vkey(ORIGIN, key.publicKey), how: 'opened', position: '1' }],
  public_key: '',
};

/** Shows one log after the other, each for one look at checkpoint, keys and tiles. */
const logs = (...shown: readonly (readonly string[])[]): Lie => {
  let looks = -1;
  return ({ url }) => {
    if (url === '/v1/log/keys') return KEYS;
    // The checkpoint is asked twice a look: whether there is one, and for what it says.
    if (url === '/v1/log/checkpoint') looks += 0.5;
    const log = logOf(shown[Math.min(Math.floor(looks), shown.length - 1)] ?? []);
    if (url === '/v1/log/checkpoint') return log.checkpoint;
    return url.startsWith('/v1/log/tile/') ? log.tile : undefined;
  };
};

const leaves = (...names: string[]): string[] => names;

const lies: Record<string, { lie: Lie; found: RegExp }> = {
  'an answer with another value': {
    lie: late((given) => ({
      ...given,
      decision: { id: given.decision?.id ?? '', value: 1_000_000 },
    })),
    found: /is not what is read after it|was never written/,
  },
  'an old answer': {
    lie: late((given, first) => ({ ...first, position: given.position })),
    found: /is not what is read after it|is older than what was acknowledged/,
  },
  'an answer that forgets the decision': {
    lie: late(({ decision: _, ...given }) => ({ ...given, state: 'unknown' })),
    found: /is not what is read after it|is older/,
  },
  'an answer from before the position asked for': {
    lie: late((given) => ({ ...given, position: '1' })),
    found: /is older than what was acknowledged/,
  },
  'another past': {
    lie: (exchange) => {
      const given = exchange.reply as Answer;
      const isPast = answers(exchange) && (exchange.request as Question).known_at !== undefined;
      return isPast && given.decision && given.decision.value > 2
        ? { ...given, decision: { ...given.decision, value: given.decision.value - 1 } }
        : undefined;
    },
    found: /the past has changed/,
  },
  'a history without an acknowledged decision': {
    lie: ({ url, reply }) => {
      if (!url.includes('/history')) return undefined;
      const history = reply as { timeline: { kind: string }[] };
      const dropped = history.timeline.findIndex((entry) => entry.kind === 'approved');
      return { ...history, timeline: history.timeline.toSpliced(dropped, 1) };
    },
    found: /is not in the history/,
  },
  'an acknowledgement with an early position': {
    lie: ({ method, url, reply }) =>
      method === 'POST' && url === '/v1/ingestions'
        ? { ...(reply as object), position: '2' }
        : undefined,
    found: /a later write has an earlier position/,
  },
  'a shorter log than before': {
    lie: logs(leaves('a', 'b', 'c'), leaves('a', 'b')),
    found: /the signed log does not hold: there is no consistency proof from 3 to 2/,
  },
  'a log that forks': {
    lie: logs(leaves('a', 'b', 'c'), leaves('a', 'B', 'c', 'd')),
    found: /the signed log does not hold/,
  },
  'a log without a middle event': {
    lie: logs(leaves('a', 'b', 'c'), leaves('a', 'c', 'd', 'e')),
    found: /the signed log does not hold/,
  },
};

/** The lie that the hammer found, or what it checked where it found none. */
async function hammered(url: string, seconds: number): Promise<Failure | Hammered> {
  const connection = { url, key: server.key, keyFrom: 'the test' };
  try {
    return await hammer(connection, { seconds, writers: 3, readers: 3 });
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
}

describe('hammer', () => {
  it('P1, P2, P3: finds no lie in an honest server, says what it checked, and ends with 0', async () => {
    const { code, stdout, stderr } = await precedent(
      ['hammer', '--seconds', '5', '--writers', '4', '--readers', '4', '--json'],
      { PRECEDENT_DATA: server.dir },
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const { checked, ...done } = JSON.parse(stdout) as Hammered & { schema: string };
    expect(done.schema).toBe('precedent.hammer/1');
    expect(done.acknowledged).toBeGreaterThan(8);
    expect(checked.acknowledged_found).toBe(done.acknowledged);
    expect(checked.read_your_writes).toBe(done.acknowledged);
    for (const n of [checked.present, checked.past, checked.checkpoints])
      expect(n).toBeGreaterThan(1);
    proved('hammer on an honest server', {
      writes: done.acknowledged,
      answers: done.answers,
      checkpoints: checked.checkpoints,
      lies: 0,
    });
  }, 60_000);

  it.each(Object.entries(lies))(
    'P1, P3, P4: catches %s',
    async (what, { lie, found }) => {
      const lying = await LyingServer.before(server.url, lie);
      try {
        const failure = await hammered(lying.url, 6);
        expect(lying.told).toBeGreaterThan(0);
        expect(failure).toBeInstanceOf(Failure);
        const { exit, problem } = failure as Failure;
        expect({ what, exit, error: problem.error }).toEqual({
          what,
          exit: EXIT.refused,
          error: 'lie_found',
        });
        expect(problem.message).toMatch(found);
        expect(problem.issues.map((issue) => issue.path)).toEqual(['asked', 'expected', 'found']);
        proved('lies of a server found by hammer', { told: 1, caught: 1 });
      } finally {
        await lying.close();
      }
    },
    60_000,
  );

  it('ends with 1 at the first lie and shows what was asked, expected and found', async () => {
    const lying = await LyingServer.before(
      server.url,
      lies['an old answer']?.lie ?? (() => undefined),
    );
    const { code, stdout, stderr } = await precedent(['hammer', '--seconds', '30'], {
      PRECEDENT_URL: lying.url,
      PRECEDENT_KEY: server.key,
    });
    await lying.close();
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(
      /error {2}lie_found\n {2}issue {2}asked: .*\n {2}issue {2}expected: .*\n {2}issue {2}found: /,
    );
  }, 60_000);

  it('ends with 2 for a number that is none, with 3 where no server answers, with 5 for a key that is none', async () => {
    const nobody = { PRECEDENT_URL: 'http://127.0.0.1:59', PRECEDENT_KEY: 'k' };
    const usage = await precedent(['hammer', '--writers', '0'], nobody);
    expect(usage).toMatchObject({ code: 2, stdout: '' });
    expect(usage.stderr).toContain('from 1 to 256');
    const alone = await precedent(['hammer', '--seconds', '1'], nobody);
    expect(alone).toMatchObject({ code: 3, stdout: '' });
    const stranger = { PRECEDENT_URL: server.url, PRECEDENT_KEY: 'prec_TESTTEST_nobody' };
    expect(await precedent(['hammer'], stranger)).toMatchObject({ code: 5, stdout: '' });
  });
});
