import type { DatabaseSync } from "node:sqlite";
import { statuses } from "../../core/model.ts";
import type { Status } from "../../core/model.ts";
import { readNames } from "../target-rows.ts";
import { widePage } from "./wide-pages.ts";
import type { WideRows } from "./wide-pages.ts";

const fullPage = { sandboxes: 96, servers: 192 };

/** Brings the rows of servers that an older store has into pages. */
export function packServers(database: DatabaseSync): void {
  const insert = database.prepare(
    "insert into pages (target_id, page_id, last_edit, sandbox_count, records, texts) values (?, ?, 0, ?, ?, ?)",
  );
  for (const { id } of database.prepare("select id from targets").all()) {
    let pageId = 0;
    for (const rows of pagesOf(sandboxesOf(database, Number(id)))) {
      const { sandboxCount, words, texts } = widePage(rows);
      const records = new Uint8Array(words.buffer);
      insert.run(Number(id), ++pageId, sandboxCount, records, JSON.stringify(texts));
    }
  }
}

/** Rows of servers without their sandbox are left out. */
function sandboxesOf(database: DatabaseSync, targetId: number): readonly WideRows[] {
  const sandboxes = database.prepare("select * from sandboxes where target_id = ?").all(targetId);
  const servers = database.prepare("select * from servers where target_id = ?").all(targetId);
  const bySandbox = Map.groupBy(servers, (row) => String(row["sandbox_id"]));
  return sandboxes.map((row) => {
    const sandboxId = String(row["sandbox_id"]);
    return {
      sandboxId,
      status: readStatus(row["status"]),
      benchmark: readText(row["benchmark"]),
      missing: Number(row["missing"]),
      servers: (bySandbox.get(sandboxId) ?? []).map((held) => ({
        sandboxId,
        serverId: String(held["server_id"]),
        serverName: readText(held["server_name"]),
        benchmark: readText(held["benchmark"]),
        tags: readNames(String(held["tags"])),
        status: readStatus(held["status"]),
        sinceMs: Number(held["since_at_ms"]),
        sinceObservedMs: Number(held["since_observed_ms"]),
        sinceWitnessed: held["since_witnessed"] === 1,
        missing: Number(held["missing"]),
      })),
    };
  });
}

function* pagesOf(sandboxes: readonly WideRows[]): Iterable<readonly WideRows[]> {
  let page: WideRows[] = [];
  let servers = 0;
  for (const sandbox of sandboxes) {
    page.push(sandbox);
    servers += sandbox.servers.length;
    if (page.length < fullPage.sandboxes && servers < fullPage.servers) continue;
    yield page;
    page = [];
    servers = 0;
  }
  if (page.length > 0) yield page;
}

function readText(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

function readStatus(value: unknown): Status {
  return statuses.find((status) => status === value) ?? "unknown";
}
