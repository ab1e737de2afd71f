import type { Command } from 'commander';
import { build } from '../../apps/cli/src/program.js';

/** One of the command line. */
export interface Verb {
  /** `keys issue` as words. */
  words: string[];
  help: string;
  options: string[];
  /** What it needs, so that its arguments are not what is refused. */
  given: (value: string) => string[];
}

/** Taken from the program itself, so that none is left out. */
export const verbs: readonly Verb[] = leavesUnder(build(), []);

function leavesUnder(command: Command, words: string[]): Verb[] {
  if (command.commands.length > 0)
    return command.commands.flatMap((below) => leavesUnder(below, [...words, below.name()]));
  return [
    {
      words,
      help: helpOf(command),
      options: command.options.flatMap(({ long }) => long ?? []),
      given: (value) => [
        ...command.registeredArguments
          .filter((argument) => argument.required)
          .map((argument) => argument.argChoices?.[0] ?? value),
        ...command.options
          .filter((option) => option.mandatory)
          .flatMap(({ long, argChoices }) => [long ?? '', argChoices?.[0] ?? value]),
      ],
    },
  ];
}

function helpOf(command: Command): string {
  let text = '';
  command.configureOutput({ writeOut: (part) => (text += part) });
  command.outputHelp();
  return text;
}
