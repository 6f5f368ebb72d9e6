import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { onTestFinished } from "vitest";
import type { SandboxRow, ServerRow } from "../../../src/core/snapshot/snapshot.ts";
import { openDatabase } from "../../../src/store/database.ts";
import { migrations } from "../../../src/store/migrations.ts";
import { createStore } from "../../../src/store/store.ts";
import { startMs } from "../../support/fleet.ts";
import { tempFolder } from "../../support/temp-folder.ts";

export interface OldSandbox extends SandboxRow {
  readonly servers: readonly Omit<ServerRow, "sandboxId">[];
}

/** Makes a store as the first version did, with two targets in it. */
export function makeOldStore(fill: (database: DatabaseSync) => void): string {
  const path = join(tempFolder(), "store.db");
  using database = new DatabaseSync(path);
  migrations[0]?.(database);
  database.exec("pragma application_id = 0x73776368; pragma user_version = 1");
  const insert = database.prepare(`insert into targets values
    (?, 'us', ?, 3, 61000.5, 2, 30000.25, 0, null, ${startMs}, ${startMs}, 1)`);
  insert.run(1, "research");
  insert.run(2, "evals");
  fill(database);
  return path;
}

export function insertOldRows(
  database: DatabaseSync,
  targetId: number,
  sandboxes: readonly OldSandbox[],
): void {
  const insertSandbox = database.prepare("insert into sandboxes values (?, ?, ?, ?, ?)");
  const insertServer = database.prepare(
    "insert into servers values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
  );
  for (const sandbox of sandboxes) {
    const { sandboxId } = sandbox;
    insertSandbox.run(targetId, sandboxId, sandbox.status, sandbox.benchmark, sandbox.missing);
    for (const server of sandbox.servers) {
      insertServer.run(
        targetId,
        sandboxId,
        server.serverId,
        server.serverName,
        server.benchmark,
        JSON.stringify(server.tags),
        server.status,
        server.sinceMs,
        server.sinceObservedMs,
        server.sinceWitnessed ? 1 : 0,
        server.missing,
      );
    }
  }
}

export function insertOldChange(
  database: DatabaseSync,
  [targetId, atMs, serverId, from, to]: readonly [number, number, string, string, string],
): void {
  database
    .prepare("insert into changes values (null, ?, ?, 'box', ?, null, ?, ?)")
    .run(targetId, atMs, serverId, from, to);
}

export function openOld(path: string) {
  const { kysely, close } = openDatabase(path);
  let closing: Promise<void> | undefined;
  const closeOnce = (): Promise<void> => (closing ??= close());
  onTestFinished(closeOnce);
  return { kysely, store: createStore(kysely, closeOnce) };
}
