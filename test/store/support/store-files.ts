import { readFileSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { openStore } from "../../../src/store/store.ts";
import { writeConfig } from "../../support/config-file.ts";
import { freshStoreFile } from "../../support/fresh-store.ts";
import { runCommand, type CommandEnded } from "../../support/run-command.ts";

/** Runs a command with a configuration of this store. */
export function runOn(path: string, ...args: readonly string[]): Promise<CommandEnded> {
  const { config } = writeConfig({ store: { path } });
  return runCommand([...args, "--config", config]);
}

/** A closed store with targets in these regions. */
export async function storeWith(...regions: readonly string[]): Promise<string> {
  const path = freshStoreFile();
  const store = openStore(path);
  await store.targets.addAll(regions.map((region) => ({ region, key: "research" })));
  await store.close();
  return path;
}

/** Overwrites two pages. */
export function damage(file: string): void {
  const bytes = readFileSync(file);
  writeFileSync(file, bytes.fill(0xa5, 8_192, 16_384));
}

export function execute(file: string, statements: string): void {
  using database = new DatabaseSync(file);
  database.exec(statements);
}
