import type { Command } from "commander";
import { daemonCommand } from "./api-command.ts";
import { reloadDaemon } from "./call-api.ts";
import type { Terminal } from "./terminal.ts";

export function addReload(program: Command, terminal: Terminal): void {
  daemonCommand(
    program.command("reload"),
    "let the running daemon read its configuration again; fails with the reason if it refuses it",
  ).action(async (options) => terminal.out(`${await reloadDaemon(options, terminal)}\n`));
}
