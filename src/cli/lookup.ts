import type { Command } from "commander";
import { lookUp } from "../api/operations/lookups.ts";
import type { FailedView, LookupView } from "../api/operations/lookups.ts";
import { lookupWords, takesId } from "../fleet/lookup-words.ts";
import type { LookupWord } from "../fleet/lookup-words.ts";
import { isObject } from "../service/json.ts";
import { apiCommand } from "./api-command.ts";
import { callOperation } from "./call.ts";
import { CommandError } from "./exit-codes.ts";
import { adviceFor } from "./failure-advice.ts";
import { answerText } from "./lookup-text.ts";
import { jsonText } from "./output.ts";
import { cutToWidth, printable } from "./table.ts";
import type { Terminal } from "./terminal.ts";

const descriptions: Readonly<Record<LookupWord, string>> = {
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
  for (const operation of lookupWords) {
    const command = apiCommand(lookup, operation, descriptions[operation]);
    if (takesId(operation)) {
      const name = operation === "white-label" ? "<client_id>" : "<id>";
      command.argument(name, "its id in the service");
    }
    command
      .option("--region <name>", "the region; required if several are configured")
      .option("--key <name>", "the key; required if several are configured")
      .action(async () => {
        const { region, key, ...options } = command.opts();
        const [id] = command.args;
        const request = { operation, id, region, key };
        const view = await callOperation(options, terminal, lookUp, request);
        const failure = failureOf(view);
        if (options["json"]) terminal.out(jsonText(view));
        else if (view.outcome === "answered" && failure === null) {
          terminal.out(answerText(view, terminal.columns));
        }
        if (failure !== null) throw new CommandError(failure);
      });
  }
}

function failureOf(view: LookupView): string | null {
  if (view.outcome === "failed") return failureText(view);
  if (view.operation !== "white-label") return null;
  const { success, message } = isObject(view.answer) ? view.answer : {};
  if (success === true) return null;
  return printable(
    `The service has no white-labeling for ${quoted(view.id)}: ${
      typeof message === "string" && message !== "" ? message : "the response says no success"
    }`,
  );
}

/** What a failed look-up means and what to do. */
export function failureText(failed: FailedView): string {
  const { region, key, status, detail, problem, retry_after_seconds: seconds } = failed;
  const lines = [`${region}/${key}: ${detail}. ${adviceFor(failed)}`];
  if (status === 404 && problem === null) {
    lines[0] = `${region}/${key}: there is no ${things[failed.operation]} ${quoted(failed.id)}, or none that the key may see (HTTP 404).`;
  }
  if (seconds !== null) lines.push(`Try again in ${Math.max(1, seconds)} s.`);
  for (const { loc, msg, type } of failed.validation) {
    lines.push(`  ${loc.join(".")}: ${msg} (${type})`);
  }
  return lines.map(printable).join("\n");
}

const things: Readonly<Record<LookupWord, string>> = {
  user: "user",
  universes: "list of universes",
  "universe-data": "universe",
  "white-label": "client",
  sandboxes: "list of sandboxes",
};

function quoted(id: string | null): string {
  return JSON.stringify(cutToWidth(id ?? "", 80));
}
