import { Argument, type Command } from 'commander';
import { outputFor, type OutputOptions } from './output.js';

export function completionVerb(program: Command): void {
  program
    .command('completion')
    .summary('completion for your shell')
    .description('Prints a script that completes commands and options in a shell.')
    .addArgument(new Argument('<shell>', 'which one').choices(['bash', 'zsh', 'fish']))
    .addHelpText(
      'after',
      '\nExamples:\n  eval "$(precedent completion bash)"            in ~/.bashrc\n' +
        '  precedent completion zsh > ~/.zfunc/_precedent   in a folder of $fpath\n' +
        '  precedent completion fish > ~/.config/fish/completions/precedent.fish\n',
    )
    .action((shell: keyof typeof SCRIPTS, options: OutputOptions) => {
      const output = outputFor(options);
      const script = SCRIPTS[shell](placesIn(program, ''));
      if (output.readable) output.say([script.trimEnd()]);
      else output.json('precedent.completion/1', { shell, script });
    });
}

/** A place on the command line: the commands named so far, and what may come next. */
interface Place {
  /** Each with a space in front: ` keys issue`; empty before the first. */
  path: string;
  commands: readonly Word[];
  options: readonly (Word & { takesValue: boolean; isPath: boolean; choices: readonly string[] })[];
  /** Of its first argument. */
  choices: readonly string[];
}

interface Word {
  word: string;
  about: string;
}

/** From the declarations themselves, so that nothing can be missing. */
function placesIn(command: Command, path: string): Place[] {
  const help = command.createHelp();
  const below = help.visibleCommands(command);
  const place: Place = {
    path,
    commands: below.map((c) => ({ word: c.name(), about: help.subcommandDescription(c) })),
    options: help.visibleOptions(command).map((option) => ({
      word: option.long ?? option.short ?? '',
      about: option.description,
      takesValue: option.required || option.optional,
      isPath: /<(?:folder|file)>/.test(option.flags),
      choices: option.argChoices ?? [],
    })),
    choices: command.registeredArguments[0]?.argChoices ?? [],
  };
  return [place, ...below.flatMap((c) => placesIn(c, `${path} ${c.name()}`))];
}

const SCRIPTS = { bash, zsh, fish } as const;

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

function wordsAt({ commands, options, choices }: Place): string[] {
  return [...commands, ...options].map(({ word }) => word).concat(choices);
}

/** Patterns of a `case` that takes the next word into the path. */
function steps(places: readonly Place[]): string {
  return places
    .map(({ path }) => path)
    .filter((path) => path !== '')
    .map(quoted)
    .join('|');
}

/** Values of options: their choices, paths from the shell itself, and nothing where only the user knows them. */
function valueCases(places: readonly Place[], choose: (choices: string) => string): string[] {
  return places.flatMap(({ path, options }) =>
    options
      .filter((option) => option.takesValue)
      .map(({ word, isPath, choices }) => {
        const values = choices.length > 0 ? choose(choices.join(' ')) : isPath ? PATHS : NOTHING;
        return `    ${quoted(`${path} ${word}`)}) ${values}; return ;;`;
      }),
  );
}

const PATHS = '_precedent_paths';
const NOTHING = '_precedent_nothing';

function bash(places: readonly Place[]): string {
  const reply = (words: string): string => `COMPREPLY=($(compgen -W ${quoted(words)} -- "$cur"))`;
  return [
    '# Completion of precedent for bash.',
    `${PATHS}() { COMPREPLY=(); }`,
    `${NOTHING}() { COMPREPLY=(); compopt +o default 2>/dev/null; }`,
    '_precedent() {',
    '  local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}" path="" i',
    '  for ((i = 1; i < COMP_CWORD; i++)); do',
    `    case "$path \${COMP_WORDS[i]}" in ${steps(places)}) path="$path \${COMP_WORDS[i]}" ;; esac`,
    '  done',
    '  case "$path $prev" in',
    ...valueCases(places, reply),
    '  esac',
    '  case "$path" in',
    ...places.map((place) => `    ${quoted(place.path)}) ${reply(wordsAt(place).join(' '))} ;;`),
    '  esac',
    '}',
    // Where it offers nothing, the shell completes file names.
    'complete -o default -F _precedent precedent',
    '',
  ].join('\n');
}

function zsh(places: readonly Place[]): string {
  const described = ({ word, about }: Word): string =>
    quoted(`${word.replaceAll(':', '\\:')}:${about}`);
  return [
    '#compdef precedent',
    '# Completion of precedent for zsh.',
    `${PATHS}() { _files }`,
    `${NOTHING}() { _message 'a value' }`,
    '_precedent() {',
    '  local walked="" i',
    '  local -a offered',
    '  for ((i = 2; i < CURRENT; i++)); do',
    `    case "$walked \${words[i]}" in ${steps(places)}) walked="$walked \${words[i]}" ;; esac`,
    '  done',
    '  case "$walked ${words[CURRENT-1]}" in',
    ...valueCases(places, (choices) => `compadd -- ${choices}`),
    '  esac',
    '  case "$walked" in',
    ...places.map(
      ({ path, commands, options, choices }) =>
        `    ${quoted(path)}) offered=(${[...[...commands, ...options].map(described), ...choices.map(quoted)].join(' ')}) ;;`,
    ),
    '  esac',
    "  _describe 'precedent' offered",
    '  [[ ${words[CURRENT]} == -* ]] || _files',
    '}',
    'if [[ "${funcstack[1]}" == _precedent ]]; then _precedent "$@"; else compdef _precedent precedent; fi',
    '',
  ].join('\n');
}

function fish(places: readonly Place[]): string {
  const at = (path: string): string => `-n ${quoted(`__precedent_at ${quoted(path)}`)}`;
  return [
    '# Completion of precedent for fish.',
    'function __precedent_at',
    "    set -l walked ''",
    '    for word in (commandline -opc)[2..-1]',
    '        switch "$walked $word"',
    `            case ${places
      .filter(({ path }) => path !== '')
      .map(({ path }) => quoted(path))
      .join(' ')}`,
    '                set walked "$walked $word"',
    '        end',
    '    end',
    '    test "$walked" = "$argv[1]"',
    'end',
    ...places.flatMap(({ path, commands, options, choices }) => [
      ...commands.map(
        ({ word, about }) => `complete -c precedent -f ${at(path)} -a ${word} -d ${quoted(about)}`,
      ),
      ...choices.map((choice) => `complete -c precedent -f ${at(path)} -a ${quoted(choice)}`),
      ...options.map((option) => fishOption(option, at(path))),
    ]),
    '',
  ].join('\n');
}

function fishOption(
  { word, about, takesValue, isPath, choices }: Place['options'][number],
  at: string,
): string {
  const values = choices.length > 0 ? ` -a ${quoted(choices.join(' '))}` : '';
  const value = takesValue ? ` -r${isPath ? ' -F' : ' -f'}${values}` : '';
  return `complete -c precedent ${at} -l ${word.replace(/^--/, '')}${value} -d ${quoted(about)}`;
}
