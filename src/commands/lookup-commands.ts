import { Option } from "commander";
import type { Command } from "commander";
import { lookupWords, takesId } from "../core/lookup-words.ts";
import type { LookupWord } from "../core/lookup-words.ts";
import type { LookupOptions } from "./lookup.ts";
import type { Terminal } from "./terminal.ts";

const says: Readonly<Record<LookupWord, string>> = {
  user: "look up a user",
  universes: "list the universes",
  "universe-data": "show the initial data of a universe",
  "white-label": "show the white-labeling of an OAuth client",
  sandboxes: "list the sandboxes of a key with all fields",
};

/** Adds the commands that ask the service itself, one for each of its operations. */
export function addLookupCommands(program: Command, terminal: Terminal): void {
  const lookup = program
    .command("lookup")
    .description("call one operation of the service, within the rate limit of the key");
  for (const word of lookupWords) {
    const command = lookup.command(word).description(says[word]);
    if (takesId(word)) {
      command.argument(word === "white-label" ? "<client_id>" : "<id>", "its id in the service");
    }
    command
      .addOption(new Option("-c, --config <file>", "the configuration file"))
      .option(
        "--url <address>",
        "the address of the running sandwatch, if it is not the configured one",
      )
      .option("--region <name>", "the region; required if several are configured")
      .option("--key <name>", "the key; required if several are configured")
      .option("--json", "print JSON")
      .option("--show-secrets", "also what may be secret")
      .action(async (...args: readonly unknown[]) => {
        const id = takesId(word) && typeof args[0] === "string" ? args[0] : undefined;
        const { lookup: run } = await import("./lookup.ts");
        await run(word, id, command.opts<LookupOptions>(), terminal);
      });
  }
}
