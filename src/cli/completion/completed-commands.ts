import type { Argument, Command, Option } from "commander";
import { WordsOption } from "../options.ts";

/** What can stand in the place of a value. */
export type Values =
  | { readonly kind: "words" | "list"; readonly words: readonly string[] }
  | { readonly kind: "file" | "any" };

export interface CompletedOption {
  /** Such as `--config` and `-c`. */
  readonly names: readonly string[];
  readonly description: string;
  readonly isRepeatable: boolean;
  /** Null: it has no value. */
  readonly value: Values | null;
}

export interface CompletedCommand {
  /** Such as `silence add`; of the program itself "". */
  readonly path: string;
  readonly name: string;
  readonly description: string;
  readonly commands: readonly CompletedCommand[];
  readonly options: readonly CompletedOption[];
  readonly values: readonly Values[];
}

/** The program, with all of its commands. */
export function completedCommands(program: Command): CompletedCommand {
  return completed(program, []);
}

function completed(command: Command, path: readonly string[]): CompletedCommand {
  const help = command.createHelp();
  return {
    path: path.join(" "),
    name: command.name(),
    description: command.description(),
    commands: help.visibleCommands(command).map((each) => completed(each, [...path, each.name()])),
    options: help.visibleOptions(command).map(completedOption),
    values: command.registeredArguments.map(valuesOf),
  };
}

function completedOption(option: Option): CompletedOption {
  const { long, short, description, required, variadic, argChoices, parseArg } = option;
  return {
    names: [long, short].filter((name) => name !== undefined && name !== null),
    description,
    // What reads the value of such an option takes the earlier ones as well. That of choices always does.
    isRepeatable: variadic || (argChoices === undefined && (parseArg?.length ?? 0) > 1),
    value: required ? valuesOf(option) : null,
  };
}

function valuesOf(value: Argument | Option): Values {
  const { argChoices: words } = value;
  if (words !== undefined) {
    return { kind: value instanceof WordsOption ? "list" : "words", words };
  }
  const label = "flags" in value ? value.flags : value.name();
  return { kind: /\bfile\b/.test(label) ? "file" : "any" };
}

/** The command and those below it. */
export function withDescendants(command: CompletedCommand): readonly CompletedCommand[] {
  return [command, ...command.commands.flatMap(withDescendants)];
}
