import type { Argument, Command, Option } from "commander";
import { WordsOption } from "../src/cli/options.ts";
import { createProgram } from "../src/cli/program.ts";
import { markdownTable } from "./markdown-table.ts";

const head = `# Commands

<!-- Generated from src/cli by \`npm run generate\`. Do not edit. -->

In a checkout, run \`node src/cli.js\` instead of \`sandwatch\`. Exit codes: 0 success, 1 failure, 2 usage or configuration error.

On a terminal, tables fit its width: empty columns are omitted, UUIDs are shortened to eight characters, which are enough
for \`explain\`, \`--server\` and \`--sandbox\`, and long values are cut. Anywhere else nothing is cut, unless \`COLUMNS\` sets a
width. Times are shown as ages, such as \`12 min ago\`; with \`--timestamps\` they are exact and in UTC. A terminal shows
colours unless \`NO_COLOR\` is set; \`FORCE_COLOR\` sets them anywhere. Programs should read \`--json\`.

The variable \`SANDWATCH_CONFIG\` names the configuration file of commands that are given neither \`--config\` nor an address. The
image sets it, so \`docker exec NAME sandwatch status\` needs no options.
`;

/** Every command with all that can be given to it. */
export async function commandReference(): Promise<string> {
  const program = await createProgram({ out: () => {}, err: () => {}, isInteractive: false });
  return [head, ...runnable(program).map(commandSection)].join("\n");
}

function runnable(command: Command): readonly Command[] {
  return command.commands.flatMap((each) => (each.commands.length > 0 ? runnable(each) : [each]));
}

function commandSection(command: Command): string {
  const rows = [
    ...command.registeredArguments.map((argument) => [
      `\`${argumentText(argument)}\``,
      escaped(argument.description) + (argument.required ? "" : " (optional)"),
    ]),
    ...command.options.filter(({ hidden }) => !hidden).map(optionRow),
  ];
  const heading = `## ${nameOf(command)}\n\n${sentence(escaped(command.description()))}\n`;
  return rows.length === 0
    ? heading
    : `${heading}\n${markdownTable([["argument", "description"], ...rows])}`;
}

function nameOf(command: Command): string {
  return command.parent?.parent ? `${nameOf(command.parent)} ${command.name()}` : command.name();
}

function argumentText(argument: Argument): string {
  return argument.required ? `<${argument.name()}>` : `[${argument.name()}]`;
}

function optionRow(option: Option): readonly string[] {
  const notes = [
    ...requiredNote(option),
    ...(option.argChoices
      ? [`${option instanceof WordsOption ? "any" : "one"} of ${option.argChoices.join(", ")}`]
      : []),
    ...defaultNote(option),
  ];
  const after = notes.length === 0 ? "" : ` (${notes.join("; ")})`;
  return [`\`${option.flags}\``, escaped(option.description + after)];
}

function requiredNote({ mandatory, envVar }: Option): readonly string[] {
  if (envVar !== undefined) return [`default: $${envVar}`];
  return mandatory ? ["required"] : [];
}

function defaultNote({ defaultValue, negate }: Option): readonly string[] {
  const value: unknown = defaultValue;
  if (value === undefined || negate) return [];
  const text = Array.isArray(value) ? value.join(",") : value;
  return [`default: ${typeof text === "string" ? text : JSON.stringify(text)}`];
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

function escaped(text: string): string {
  return text.replaceAll(/[*<]/g, "\\$&");
}
