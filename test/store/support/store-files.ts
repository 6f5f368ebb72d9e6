import { join } from "node:path";
import { onTestFinished } from "vitest";
import { openDatabase } from "../../../src/store/sqlite/database.ts";
import { StoreError } from "../../../src/store/store-error.ts";
import type { OpenDatabase } from "../../../src/store/sqlite/database.ts";
import { tempFolder } from "../../support/temp-folder.ts";

/** Closed when the test ends, at the latest. */
export function openStore(path: string): OpenDatabase {
  const database = openDatabase(path);
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= database.close());
  onTestFinished(close);
  return { ...database, close };
}

export function newStorePath(): string {
  return join(tempFolder(), "store.db");
}

/** Opens what cannot be opened and gives the message. */
export function refusal(path: string): string {
  try {
    openDatabase(path);
  } catch (error) {
    if (error instanceof StoreError) return error.message;
    throw error;
  }
  throw new Error("it was opened");
}

/** A sound store with a target in it, closed. */
export async function soundStore(): Promise<string> {
  const path = newStorePath();
  const database = openDatabase(path);
  await addTarget(database, "us");
  await database.close();
  return path;
}

export async function addTarget({ kysely }: OpenDatabase, region: string): Promise<void> {
  await kysely
    .insertInto("targets")
    .values({
      region,
      key: "research",
      version: 0,
      attempted_polls: 0,
      attempted_ms: 0,
      observed_polls: 0,
      observed_ms: 0,
      failures_in_a_row: 0,
      last_failure: null,
      last_poll_at_ms: null,
      last_success_at_ms: null,
      last_complete: 0,
    })
    .execute();
}

export async function regions({ kysely }: OpenDatabase): Promise<readonly string[]> {
  const rows = await kysely.selectFrom("targets").select("region").orderBy("id").execute();
  return rows.map(({ region }) => region);
}
