import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The program's file in this checkout. */
export const program = join(import.meta.dirname, "../../src/cli.ts");

/** What Node.js is given when the program is started as installed: its first line says it. */
export const programArguments: readonly string[] = readFileSync(program, "utf8")
  .slice(0, 200)
  .replace(/\n[^]*/, "")
  .split(" ")
  .filter((word) => word.startsWith("--"));
