import type { Command } from "commander";
import { lookUp } from "../api/operations/lookups.ts";
import type { FailedView, LookupView } from "../api/operations/lookups.ts";
import { operationNames, takesId } from "../fleet/operation-names.ts";
import type { OperationName } from "../fleet/operation-names.ts";
import { isArray, isObject } from "../service/json.ts";
import type { JsonValue } from "../service/json-value.ts";
import { printableLine } from "../lib/printable.ts";
import { apiCommand } from "./api-command.ts";
import { callOperation } from "./call-api.ts";
import { CommandError } from "./exit-codes.ts";
import { adviceFor } from "./failure-advice.ts";
import { jsonText } from "./output.ts";
import { cutToWidth } from "./table.ts";
import type { Terminal } from "./terminal.ts";

const descriptions: Readonly<Record<OperationName, string>> = {
  user: "look up a user",
  universes: "list the universes",
  "universe-data": "show the initial data of a universe",
  "white-label": "show the white-labeling of an OAuth client",
  sandboxes: "list the sandboxes of a key with all fields",
};

export function addLookup(program: Command, terminal: Terminal): void {
  const lookup = program
    .command("lookup")
    .description("call one operation of the service, within the rate limit of the key");
  for (const operation of operationNames) {
    const command = apiCommand(lookup.command(operation), descriptions[operation]);
    if (takesId(operation)) command.argument("<id>", "its id in the service");
    command
      .option("--region <name>", "the region; required if several are configured")
      .option("--key <name>", "the key; required if several are configured")
      .option("--show-secrets", "show all of the response, with its secrets; this is logged")
      .action(async () => {
        const { region, key, showSecrets, ...options } = command.opts();
        const [id] = command.args;
        const request = { operation, id, region, key, show_secrets: showSecrets === true };
        const view = await callOperation(options, terminal, lookUp, request);
        const failure = failureOf(view);
        if (options["json"]) terminal.out(jsonText(view));
        else if (view.outcome === "answered" && failure === null) {
          const lines = linesOf(view.answer).map((line) => cutToWidth(line, terminal.columns));
          terminal.out(`${lines.join("\n")}\n`);
        }
        if (failure !== null) throw new CommandError(failure);
      });
  }
}

function failureOf(view: LookupView): string | null {
  if (view.outcome === "failed") return failureText(view);
  if (view.operation !== "white-label" || !isObject(view.answer)) return null;
  const { success, message } = view.answer;
  if (success === true) return null;
  return printableLine(`The service has no such white-labeling: ${leafText(message ?? null)}`);
}

/** What a failed look-up means and what to do. */
export function failureText(failed: FailedView): string {
  const { region, key, detail, retry_after_seconds: seconds, validation } = failed;
  const lines = [
    `${region}/${key}: ${detail}. ${adviceFor(failed)}`,
    ...(seconds === null ? [] : [`Try again in ${Math.max(1, seconds)} s.`]),
    ...validation.map(({ loc, msg, type }) => `  ${loc.join(".")}: ${msg} (${type})`),
  ];
  return lines.map(printableLine).join("\n");
}

/** Any JSON as lines for a person, as in YAML. */
export function linesOf(value: JsonValue): readonly string[] {
  if (!hasParts(value)) return [leafText(value)];
  if (isArray(value)) {
    return value.flatMap((item) =>
      linesOf(item).map((line, index) => (index === 0 ? `- ${line}` : `  ${line}`)),
    );
  }
  return Object.entries(value).flatMap(([name, field]) => {
    const label = leafText(name);
    if (!hasParts(field)) return `${label}: ${leafText(field)}`;
    return [`${label}:`, ...linesOf(field).map((line) => `  ${line}`)];
  });
}

function hasParts(value: JsonValue): value is object & JsonValue {
  return typeof value === "object" && value !== null && Object.keys(value).length > 0;
}

function leafText(value: JsonValue): string {
  return typeof value === "string" && value !== "" ? printableLine(value) : JSON.stringify(value);
}
