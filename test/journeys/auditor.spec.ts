import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TestApplication } from '../support/application.js';
import { ADR_FOLDERS, adrDocuments, hasCorpora } from '../support/corpora.js';
import { plainEnvironment } from '../support/server.js';

const GUIDE = readFileSync('docs/guide/audit.md', 'utf8');
/** The commands of each section, as an auditor copies them. */
const SECTIONS = [...GUIDE.matchAll(/\n## (.+)\n([^]*?)(?=\n## |$)/g)].flatMap(
  ([, title = '', text = '']) => {
    const commands = [...text.matchAll(/```sh\n([^]*?)```/g)].map(([, block = '']) => block.trim());
    return commands.length === 0 ? [] : [[title, commands.join('\n')] as const];
  },
);

/** All that an auditor gets: a copy of the folder of a stopped server, and the public keys. */
let scratch: string;
let env: Record<string, string | undefined>;

/** `npx precedent` is this project's own command; the auditor works in a folder of his own. */
function sh(script: string): Promise<{ code: number | null; out: string; err: string }> {
  const npx = `npx() { shift; "${process.execPath}" "${resolve('apps/cli/precedent.mjs')}" "$@"; }\nset -e\n`;
  const child = spawn('bash', ['-c', npx + script], { env, cwd: scratch });
  const heard = { out: '', err: '' };
  child.stdout.on('data', (chunk: Buffer) => (heard.out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (heard.err += chunk.toString()));
  return new Promise((done) => child.once('close', (code) => done({ code, ...heard })));
}

(hasCorpora ? describe : describe.skip)(
  'an auditor with a copied folder and the public keys',
  () => {
    beforeAll(async () => {
      scratch = mkdtempSync(join(tmpdir(), 'precedent-auditor-'));
      const live = join(scratch, 'live');
      const server = await TestApplication.start({
        PRECEDENT_EVENTSTORE: 'sqlite:',
        PRECEDENT_DATA: live,
        PRECEDENT_CHECKPOINT_SECONDS: '1',
      });
      const documents = adrDocuments(ADR_FOLDERS[0]);
      await server.ingest({ documents, collection: ADR_FOLDERS[0] });
      const agent = await server.member('agent-1', 'member', 'agent');
      const asked = { question: 'Use GOV.UK Notify', request_id: 'a1' };
      expect((await server.call('POST', '/v1/answers', asked, agent)).status).toBe(200);
      await server.close();
      const ledger = join(scratch, 'copy');
      cpSync(live, ledger, { recursive: true });
      cpSync(join(live, 'log-keys.txt'), join(scratch, 'log-keys.txt'));
      // Nothing of what only the operator has.
      for (const secret of ['log-key.pem', 'pepper']) rmSync(join(ledger, secret), { force: true });
      rmSync(live, { recursive: true });
      env = {
        ...plainEnvironment(),
        NO_COLOR: '1',
        LEDGER: ledger,
        KEYS: join(scratch, 'log-keys.txt'),
      };
    }, 120_000);
    afterAll(() => {
      rmSync(scratch, { recursive: true, force: true });
    });

    it('finds all of the guide’s commands', () => {
      expect(SECTIONS.map(([title]) => title)).toEqual([
        'Is it whole?',
        'What was decided, and what was known?',
        'Prove one decision',
        'What changed between two moments?',
        'What were agents told?',
        'Are the read models what the log says?',
        'Leave with everything',
      ]);
    });

    const told: Record<string, RegExp[]> = {
      'What was decided, and what was known?': [
        /^Current {2}Use GOV\.UK Notify\n/,
        /approved +by owner/,
        /│ We have decided to use GOV\.UK Notify/,
        /sha256 [0-9a-f]{64}/,
      ],
      'What changed between two moments?': [/superseded/, /\d+ changes/, /\n\+ /, /\n- /],
      'What were agents told?': [
        /to agent-1, agent\n {2}asked +Use GOV\.UK Notify\n/,
        /now +the same/,
      ],
      'Are the read models what the log says?': [/[0-9a-f]{64} {2}claim {2}/],
      'Leave with everything': [/Current {2}\[sealed\]\n/, /superseded by \[sealed\]/],
    };

    it.each(SECTIONS)(
      '%s: its commands run as they are printed',
      async (title, script) => {
        const { code, out, err } = await sh(script);
        expect({ code, err }).toEqual({ code: 0, err: '' });
        for (const part of told[title] ?? []) expect(out).toMatch(part);
      },
      180_000,
    );

    it('P4: catches a planted lie, and names where it is', async () => {
      const db = new DatabaseSync(join(env['LEDGER'] ?? '', 'ledger.sqlite'));
      for (const { name } of db
        .prepare("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        .all())
        db.exec(`DROP TRIGGER "${String(name)}"`);
      const row = db
        .prepare(
          `SELECT position, payload FROM event WHERE header LIKE '%"DecisionApproved"%' LIMIT 1`,
        )
        .get();
      const payload = String(row?.['payload']).replace('"supersedes":[', '"supersedes":["none",');
      db.prepare('UPDATE event SET payload = ? WHERE position = ?').run(
        payload,
        Number(row?.['position']),
      );
      db.close();
      const { code, err } = await sh('npx precedent verify --data "$LEDGER" --keys "$KEYS"');
      expect(code).toBe(1);
      expect(err).toContain(`position ${String(row?.['position'])}`);
    }, 120_000);
  },
);
