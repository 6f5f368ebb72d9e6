import type { Command } from "commander";
import { lookUp } from "../api/operations/lookups.ts";
import type { AnsweredView, LookupView } from "../api/operations/lookups.ts";
import { lookupWords, takesId } from "../fleet/lookup-words.ts";
import type { LookupWord } from "../fleet/lookup-words.ts";
import { isObject } from "../service/json.ts";
import { callOperation } from "./call.ts";
import type { ApiOptions } from "./call.ts";
import { CommandError, exitCodes } from "./exit-codes.ts";
import { explainFailure } from "./lookup-failure.ts";
import { answerText } from "./lookup-text.ts";
import { apiOptions } from "./options.ts";
import { jsonText } from "./output.ts";
import { printable } from "./table.ts";
import type { Terminal } from "./terminal.ts";

interface LookupOptions extends ApiOptions {
  readonly region?: string;
  readonly key?: string;
}

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
  for (const word of lookupWords) {
    const command = apiOptions(lookup.command(word)).description(descriptions[word]);
    if (takesId(word)) {
      command.argument(word === "white-label" ? "<client_id>" : "<id>", "its id in the service");
    }
    command
      .option("--region <name>", "the region; required if several are configured")
      .option("--key <name>", "the key; required if several are configured")
      .action(async (...args: readonly unknown[]) => {
        const id = takesId(word) && typeof args[0] === "string" ? args[0] : undefined;
        await runLookup(word, id, command.opts<LookupOptions>(), terminal);
      });
  }
}

async function runLookup(
  operation: LookupWord,
  id: string | undefined,
  options: LookupOptions,
  terminal: Terminal,
): Promise<void> {
  const { region, key, json = false } = options;
  const view = await callOperation(options, terminal, lookUp, { operation, id, region, key });
  const failure = failureOf(view);
  if (json) terminal.out(jsonText(view));
  else if (view.outcome === "answered" && failure === null) {
    terminal.out(answerText(view, terminal.columns));
  }
  if (failure !== null) throw new CommandError(failure, exitCodes.failed);
}

function failureOf(view: LookupView): string | null {
  if (view.outcome === "failed") return explainFailure(view);
  return view.operation === "white-label" ? unsuccessful(view) : null;
}

function unsuccessful({ id, answer }: AnsweredView): string | null {
  const { success, message } = isObject(answer) ? answer : {};
  if (success === true) return null;
  const client = `white-labeling for ${JSON.stringify(id)}`;
  if (success !== false)
    return printable(`The response does not say whether there is ${client}; --json shows it.`);
  const why = typeof message === "string" && message !== "" ? message : "it does not say why";
  return printable(`The service has no ${client}: ${why}`);
}
