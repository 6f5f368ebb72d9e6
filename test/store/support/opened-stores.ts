import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { onTestFinished } from "vitest";
import { openDatabase } from "../../../src/store/sqlite/database.ts";
import { StoreError } from "../../../src/store/store-error.ts";
import { type Store, openStore } from "../../../src/store/store.ts";
import { freshStoreFile } from "../../support/fresh-store.ts";
import { tempFolder } from "../../support/temp-folder.ts";

/** Closed when the test ends, at the latest. */
export function open(path: string): Store {
  const store = openStore(path);
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= store.close());
  onTestFinished(close);
  return { ...store, close };
}

export function newPath(): string {
  return join(tempFolder(), "store.db");
}

export const target = (region: string) => ({ region, key: "research" });

export async function regionsIn(store: Store): Promise<readonly string[]> {
  return (await store.targets.all()).map((each) => each.target.region);
}

/** A closed store with one target. */
export async function soundStore(): Promise<string> {
  const path = freshStoreFile();
  const store = open(path);
  await store.targets.addAll([target("us")]);
  await store.close();
  return path;
}

export function execute(path: string, statements: string): void {
  using database = new DatabaseSync(path);
  database.exec(statements);
}

/** The message with which a store is refused. */
export function refusal(path: string, openIt: (path: string) => unknown = openDatabase): string {
  try {
    openIt(path);
  } catch (error) {
    if (error instanceof StoreError) return error.message;
    throw error;
  }
  throw new Error("it was opened");
}
