import { Command } from 'commander';
import { VERSION } from '../../server/src/version.js';
import { answersVerb } from './answers.js';
import { asOfVerb } from './as-of.js';
import { askVerb } from './ask.js';
import { backupVerb } from './backup.js';
import { completionVerb } from './completion.js';
import { conflictsVerb, resolveConflictVerb } from './conflicts.js';
import { consistencyVerb } from './consistency.js';
import { contextVerb } from './context.js';
import { decisionsVerb } from './decisions.js';
import { diffVerb } from './diff.js';
import { doctorVerb } from './doctor.js';
import { eraseVerb } from './erase.js';
import { evalVerb } from './eval.js';
import { exportVerb } from './export.js';
import { hammerVerb } from './hammer.js';
import { historyVerb } from './history.js';
import { importVerb } from './import.js';
import { ingestVerb } from './ingest.js';
import { keysVerb } from './keys.js';
import { membersVerb } from './members.js';
import { migrateVerb } from './migrate.js';
import { ontologyVerb } from './ontology.js';
import { organisationVerb } from './organisation.js';
import { pendingVerb } from './pending.js';
import { peopleVerb } from './people.js';
import { proveVerb } from './prove.js';
import { rateVerb } from './rate.js';
import { receiptVerb } from './receipt.js';
import { replayVerb } from './replay.js';
import { restoreVerb } from './restore.js';
import { reviewVerb } from './review.js';
import { verifyVerb } from './verify.js';
import { witnessVerb } from './witness.js';
import { workspaceVerb } from './workspace.js';

const EXIT_CODES = `
Exit codes: 0 ok, 1 refused by the server or a failed check, 2 wrong usage or
input, 3 unreachable or unreadable, 4 incomplete, 5 not authorised,
130 interrupted.
`;

const HELP = `
Examples:
  precedent ingest docs/adr                       capture a folder of decision records
  precedent ask "Which database do we use?"       what is decided, by whom, since when
  precedent history "Use PostgreSQL"              everything that happened in a topic
  precedent pending                               what awaits a review
  precedent review <id> approve --reason "agreed on Monday"
  precedent conflicts                             decisions that cannot both hold
  precedent keys issue --label ci                 a further key, shown this once
  precedent erase --subject emp-4711 --reason requested   what an erasure would hit; --yes does it
  precedent backup /backups                       copy the ledger, also while the server runs

The server is the one that PRECEDENT_URL and PRECEDENT_KEY name, else the one that wrote client.json into
PRECEDENT_DATA (default ./data). A .env file may hold all three.
verify, export, import, backup, restore and migrate work on files and need no server.

Data goes to stdout, all else to stderr; with --json both are JSON on stdout. NO_COLOR is heeded.
${EXIT_CODES}`;

const HELP_WIDTH = 80;

const VERBS = [
  ingestVerb,
  askVerb,
  decisionsVerb,
  historyVerb,
  asOfVerb,
  diffVerb,
  answersVerb,
  pendingVerb,
  reviewVerb,
  conflictsVerb,
  resolveConflictVerb,
  rateVerb,
  contextVerb,
  ontologyVerb,
  evalVerb,
  membersVerb,
  keysVerb,
  peopleVerb,
  workspaceVerb,
  organisationVerb,
  eraseVerb,
  verifyVerb,
  exportVerb,
  importVerb,
  receiptVerb,
  proveVerb,
  consistencyVerb,
  witnessVerb,
  backupVerb,
  restoreVerb,
  replayVerb,
  migrateVerb,
  doctorVerb,
  hammerVerb,
  completionVerb,
];

/** The whole command line, as it is declared. */
export function build(): Command {
  const program = new Command('precedent')
    .description('What is decided, by whom, on what evidence, since when.')
    .version(VERSION, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand(false)
    .exitOverride()
    // What it says of wrong usage is said in the form of every other refusal, below.
    .configureOutput({
      outputError: () => undefined,
      // The same lines on every terminal.
      getOutHelpWidth: () => HELP_WIDTH,
      getErrHelpWidth: () => HELP_WIDTH,
    })
    .addHelpText('after', HELP);
  for (const verb of VERBS) verb(program);
  for (const group of program.commands.filter(({ commands }) => commands.length > 0))
    group.helpCommand(false).addHelpText('after', EXIT_CODES);
  for (const verb of program.commands.flatMap(leaves)) {
    verb
      .option('--json', 'print the result as one JSON document')
      .option('-q, --quiet', 'no progress and no notes')
      .addHelpText('after', EXIT_CODES);
    // Some say themselves what is refused then.
    if (!verb.options.some(({ long }) => long === '--no-input'))
      verb.option('--no-input', 'never ask; it asks nothing anyway');
  }
  return program;
}

/** A verb, or the verbs below it where it has any. */
function leaves(verb: Command): readonly Command[] {
  return verb.commands.length === 0 ? [verb] : verb.commands;
}
