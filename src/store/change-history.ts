import { setImmediate } from "node:timers/promises";
import { sql, type Kysely } from "kysely";
import type { Presence, Target } from "../core/model.ts";
import type { Tables } from "./tables.ts";

/** A change as it was kept. */
export interface StoredChange {
  /** UTC milliseconds. */
  readonly atMs: number;
  readonly target: Target;
  readonly sandboxId: string;
  readonly serverId: string;
  readonly serverName: string | null;
  readonly from: Presence;
  readonly to: Presence;
}

export interface ChangeQuery {
  /** Only of servers with this id, or one that begins like it, or with this name; null: all. */
  readonly server: string | null;
  readonly limit: number;
}

/** So many rows are looked through before something else has its turn. */
const rowsAtOnce = 50;

type StoredFields = readonly [string, string, string | null, Presence, Presence];

/** What changed, read beside whatever is being written. */
export function createChangeHistory(reader: Kysely<Tables>) {
  return {
    /** Latest first. Looking for a server reads all that is kept, a little at a time. */
    async latest({ server, limit }: ChangeQuery): Promise<readonly StoredChange[]> {
      const found: StoredChange[] = [];
      let beforeId = Number.MAX_SAFE_INTEGER;
      while (found.length < limit) {
        const rows = await reader
          .selectFrom("changes")
          .innerJoin("targets", "targets.id", "changes.target_id")
          .select([
            "changes.id",
            "changes.at_ms",
            "targets.region",
            "targets.key",
            sql<
              string | null
            >`iif(${textOf(server)} is null or instr(changes.body, ${textOf(server)}),
              changes.body, null)`.as("body"),
          ])
          .where("changes.id", "<", beforeId)
          .orderBy("changes.id", "desc")
          .limit(rowsAtOnce)
          .execute();
        for (const row of rows) {
          if (row.body === null) continue;
          const fields: readonly StoredFields[] = JSON.parse(row.body);
          const target = { region: row.region, key: row.key };
          const changes = fields.map((each) => readChange(each, row.at_ms, target));
          for (const change of changes.toReversed()) {
            if (found.length < limit && isAbout(change, server)) found.push(change);
          }
        }
        const last = rows.at(-1);
        if (!last || rows.length < rowsAtOnce) break;
        beforeId = last.id;
        await setImmediate();
      }
      return found;
    },
  };
}

/** As it stands in the JSON of a row, where it begins a text. */
function textOf(server: string | null): string | null {
  return server === null ? null : JSON.stringify(server).slice(0, -1);
}

function isAbout({ serverId, serverName }: StoredChange, server: string | null): boolean {
  return server === null || serverId.startsWith(server) || serverName === server;
}

function readChange(
  [sandboxId, serverId, serverName, from, to]: StoredFields,
  atMs: number,
  target: Target,
): StoredChange {
  return { atMs, target, sandboxId, serverId, serverName, from, to };
}
