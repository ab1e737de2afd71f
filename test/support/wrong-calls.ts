import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { RECORDS, type DecisionFolders } from './decision-folders.js';

/** Reserved, and not among the ports that `fetch` refuses itself. */
const NOBODY = 'http://127.0.0.1:59';

/** A call of the command line, beside the folder `adr` of good records; what it ends with and what is said. */
export interface WrongCall {
  what: string;
  args: (at: DecisionFolders) => Promise<string[]> | string[];
  env?: Record<string, string>;
  code: number;
  says: (string | RegExp)[];
}

const huge = async (at: DecisionFolders): Promise<string> => {
  const dir = await at.folder('huge', RECORDS);
  const file = await open(join(dir, 'later', 'huge.md'), 'w');
  await file.truncate(50_000_000);
  await file.close();
  return dir;
};

const broken = (at: DecisionFolders): Promise<string> =>
  at.folder('broken', {
    ...RECORDS,
    'fine.md': 'An honest \ufffd.',
    'later/latin1.md': Buffer.from('Entscheidung f\u00fcr', 'latin1'),
  });

/** Each is refused before anything is stored. */
export const WRONG_CALLS: readonly WrongCall[] = [
  {
    what: 'broken UTF-8',
    args: async (at) => ['ingest', await broken(at)],
    code: 2,
    says: ['later/latin1.md is not UTF-8 at byte 14', 'error  invalid_encoding', 'fix'],
  },
  {
    what: 'a file of 50 MB',
    args: async (at) => ['ingest', await huge(at)],
    code: 2,
    says: ['later/huge.md has 50000000 bytes; at most 2000000', 'error  text_too_large', 'fix'],
  },
  {
    what: 'an empty folder',
    args: async (at) => ['ingest', await at.folder('empty', {})],
    code: 2,
    says: ['holds no Markdown', 'error  no_documents', 'fix'],
  },
  {
    what: 'a missing folder',
    args: (at) => ['ingest', at.at('nowhere')],
    code: 2,
    says: ['does not exist', 'error  no_such_folder', 'fix'],
  },
  {
    what: 'a file for a folder',
    args: (at) => ['ingest', join(at.at('adr'), 'README.md')],
    code: 2,
    says: ['is not a folder', 'error  not_a_folder', 'fix'],
  },
  {
    what: 'a wrong key',
    args: (at) => ['ingest', at.at('adr')],
    env: { PRECEDENT_KEY: 'prec_AAAAAAAA_wrongwrongwrongwrongwrongwrong00' },
    code: 5,
    says: ['no valid credential', 'error  unauthenticated', 'the key came from PRECEDENT_KEY'],
  },
  {
    what: 'a wrong key over MCP',
    args: () => ['ask', 'Use PostgreSQL'],
    env: { PRECEDENT_KEY: 'wrong' },
    code: 5,
    says: ['no valid credential', 'error  unauthenticated', 'the key came from PRECEDENT_KEY'],
  },
  {
    what: 'no server there',
    args: (at) => ['ingest', at.at('adr')],
    env: { PRECEDENT_URL: NOBODY, PRECEDENT_KEY: 'any' },
    code: 3,
    says: [`no server answers at ${NOBODY}`, 'error  unreachable', 'npm start'],
  },
  {
    what: 'no server there over MCP',
    args: () => ['ask', 'Use PostgreSQL'],
    env: { PRECEDENT_URL: NOBODY, PRECEDENT_KEY: 'any' },
    code: 3,
    says: [`no server answers at ${NOBODY}`, 'error  unreachable', 'npm start'],
  },
  {
    what: 'no server known',
    args: () => ['context'],
    env: { PRECEDENT_DATA: '/nowhere' },
    code: 3,
    says: ['no server is known', '/nowhere/client.json', 'npm start'],
  },
  {
    what: 'the key of this server for another',
    args: () => ['context'],
    env: { PRECEDENT_URL: 'http://localhost:59' },
    code: 5,
    says: ['there is no key for http://localhost:59', 'PRECEDENT_KEY'],
  },
  {
    what: 'a key that cannot be one',
    args: () => ['context'],
    env: { PRECEDENT_KEY: 'prec_ä' },
    code: 2,
    says: ['characters that no key has', 'path   PRECEDENT_KEY'],
  },
  {
    what: 'an address that is none',
    args: () => ['context'],
    env: { PRECEDENT_URL: 'localhost:4600' },
    code: 2,
    says: ['"localhost:4600" is no address', 'path   PRECEDENT_URL', 'http://127.0.0.1:4600'],
  },
  {
    what: 'an unknown setting',
    args: () => ['context'],
    env: { PRECEDENT_COLOR: 'yes' },
    code: 2,
    says: ['PRECEDENT_COLOR is no setting', 'error  invalid_settings'],
  },
  {
    what: 'an unknown option',
    args: (at) => ['ingest', at.at('adr'), '--colection', 'x'],
    code: 2,
    says: ["unknown option '--colection'", '--collection', 'see precedent ingest --help'],
  },
  {
    what: 'an unknown action',
    args: () => ['review', 'x', 'frobnicate', '--reason', 'x'],
    code: 2,
    says: ['approve, reject, revoke, retract', 'see precedent review --help'],
  },
  {
    what: 'a scope without a value',
    args: () => ['ask', 'Use PostgreSQL', '--scope', 'region'],
    code: 2,
    says: ['Give it as key=value'],
  },
  {
    what: 'a question that says nothing',
    args: () => ['ask', ' '],
    code: 2,
    says: ['It is empty'],
  },
  {
    what: 'no verb',
    args: () => [],
    code: 2,
    says: ['Usage: precedent', 'a command is missing'],
  },
  {
    what: 'a date that the server refuses',
    args: () => ['ask', 'Use PostgreSQL', '--as-of', 'yesterday'],
    code: 1,
    says: ['error  invalid_arguments', 'path   as_of', 'fix'],
  },
  {
    what: 'a document that the server refuses',
    args: (at) => ['ingest', at.at('adr'), '--collection', 'x'.repeat(101)],
    code: 1,
    says: ['error  invalid_arguments', 'path   collection'],
  },
];
