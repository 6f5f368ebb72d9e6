import { Option } from "commander";
import type { Command } from "commander";
import { daemonCommand } from "./api-command.ts";
import { openApi } from "./call-api.ts";
import { wrongUse } from "./exit-codes.ts";
import type { Terminal } from "./terminal.ts";

export function addMcp(program: Command, terminal: Terminal): void {
  daemonCommand(
    program.command("mcp"),
    "serve an assistant over the Model Context Protocol, on standard input and output",
  )
    .addOption(
      new Option(
        "--allow <what>",
        "act: it may also acknowledge and silence, and undo both (default: it may only read)",
      ).choices(["act"]),
    )
    .option("--author <name>", "your name, for what it does with --allow act")
    .action(async ({ allow, author, ...options }) => {
      if ((allow === undefined) !== (author === undefined)) {
        throw wrongUse("--allow act and --author NAME are given together.");
      }
      const stop = new AbortController();
      const call = openApi(options, terminal, stop.signal);
      // Loaded only here, because other commands do without it.
      const { serveMcp } = await import("./mcp-server.ts");
      await serveMcp({ call, author: author ?? null, err: terminal.err });
      // Nobody reads the answers of calls that are in progress.
      stop.abort();
    });
}
