import type { DatabaseSync } from "node:sqlite";
import { packRows } from "../core/snapshot/restore-snapshot.ts";
import { statuses } from "../core/model.ts";
import type { Status } from "../core/model.ts";
import { pageToRow } from "./page-rows.ts";
import { readNames } from "./target-rows.ts";

/** Brings the rows of servers that an older store has into pages. */
export function packServers(database: DatabaseSync): void {
  const insert = database.prepare(
    "insert into pages (target_id, page_id, last_edit, sandbox_count, records, texts) values (?, ?, 0, ?, ?, ?)",
  );
  for (const { id } of database.prepare("select id from targets").all()) {
    const targetId = Number(id);
    const sandboxes = database.prepare("select * from sandboxes where target_id = ?").all(targetId);
    const servers = database.prepare("select * from servers where target_id = ?").all(targetId);
    const pages = packRows(
      sandboxes.map((row) => ({
        sandboxId: String(row["sandbox_id"]),
        status: readStatus(row["status"]),
        benchmark: readText(row["benchmark"]),
        missing: Number(row["missing"]),
      })),
      servers.map((row) => ({
        sandboxId: String(row["sandbox_id"]),
        serverId: String(row["server_id"]),
        serverName: readText(row["server_name"]),
        benchmark: readText(row["benchmark"]),
        tags: readNames(String(row["tags"])),
        status: readStatus(row["status"]),
        sinceMs: Number(row["since_at_ms"]),
        sinceObservedMs: Number(row["since_observed_ms"]),
        sinceWitnessed: row["since_witnessed"] === 1,
        missing: Number(row["missing"]),
      })),
    );
    for (const page of pages) {
      const row = pageToRow(targetId, page, 0);
      insert.run(row.target_id, row.page_id, row.sandbox_count, row.records, row.texts);
    }
  }
}

function readText(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

function readStatus(value: unknown): Status {
  return statuses.find((status) => status === value) ?? "unknown";
}
