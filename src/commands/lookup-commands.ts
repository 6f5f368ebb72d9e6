import { Option } from "commander";
import type { Command } from "commander";
import { lookupWords, takesId } from "../core/lookup-words.ts";
import type { LookupWord } from "../core/lookup-words.ts";
import type { LookupOptions } from "./lookup.ts";
import type { Terminal } from "./terminal.ts";

const says: Readonly<Record<LookupWord, string>> = {
  user: "a user",
  universes: "the universes there are",
  "universe-data": "what a universe begins with",
  "white-label": "the white-labeling of an OAuth client",
  sandboxes: "the sandboxes of a key, with all that is said of them",
};

/** Adds the commands that ask the service itself, one for each of its operations. */
export function addLookupCommands(program: Command, terminal: Terminal): void {
  const lookup = program
    .command("lookup")
    .description("ask the service for one thing, within the limits of a sandwatch that runs");
  for (const word of lookupWords) {
    const command = lookup.command(word).description(says[word]);
    if (takesId(word)) {
      command.argument(word === "white-label" ? "<client_id>" : "<id>", "as the service knows it");
    }
    command
      .addOption(new Option("-c, --config <file>", "the configuration, in YAML"))
      .option(
        "--url <address>",
        "the address of the sandwatch that runs, where it is not the configured one",
      )
      .option("--region <name>", "needed where several are configured")
      .option("--key <name>", "needed where several are configured")
      .option("--json", "for programs")
      .option("--show-secrets", "also what may be secret")
      .action(async (...args: readonly unknown[]) => {
        const id = takesId(word) && typeof args[0] === "string" ? args[0] : undefined;
        const { lookup: run } = await import("./lookup.ts");
        await run(word, id, command.opts<LookupOptions>(), terminal);
      });
  }
}
