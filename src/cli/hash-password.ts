import { createInterface } from "node:readline/promises";
import type { Command } from "commander";
import { hashPassword } from "../lib/password.ts";
import { wrongUse } from "./exit-codes.ts";
import type { Terminal } from "./terminal.ts";

const leastCharacters = 12;

export function addHashPassword(program: Command, terminal: Terminal): void {
  program
    .command("hash-password")
    .description(
      "print the hash of a password for http.auth.users, reading the password from standard input",
    )
    .action(async () => {
      const password = await readPassword(terminal);
      if (password.length < leastCharacters) {
        throw wrongUse(`The password must have at least ${leastCharacters} characters.`);
      }
      terminal.out(`${await hashPassword(password)}\n`);
    });
}

/** The first line of standard input. A terminal does not show what is typed. */
async function readPassword({ ask }: Terminal): Promise<string> {
  if (ask) return (await ask("Password: ", true)) ?? "";
  const lines = createInterface({ input: process.stdin });
  try {
    for await (const line of lines) return line;
    return "";
  } finally {
    lines.close();
  }
}
