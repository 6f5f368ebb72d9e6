import type { Kysely } from "kysely";
import type { Incident } from "../core/incident.ts";
import type { Target } from "../core/model.ts";
import type { SnapshotDelta } from "../core/snapshot.ts";
import { initialProgress } from "../core/target-state.ts";
import type { TargetProgress } from "../core/target-state.ts";
import { incidentFromRow } from "./incident-rows.ts";
import { progressFromRow, progressToRow, sandboxFromRow, serverFromRow } from "./target-rows.ts";
import type { Tables } from "./tables.ts";

/** A target as the store knows it. */
export interface StoredTarget {
  readonly id: number;
  readonly target: Target;
  readonly progress: TargetProgress;
  readonly openIncidents: readonly Incident[];
}

export interface StoredTargets {
  /** All that were ever watched, also those that the configuration does not name any more. */
  all(): Promise<readonly StoredTarget[]>;
  add(target: Target): Promise<StoredTarget>;
  /** The whole snapshot, as what takes an empty one to it. */
  snapshotOf(targetId: number): Promise<SnapshotDelta>;
}

export function createStoredTargets(kysely: Kysely<Tables>): StoredTargets {
  return {
    async all() {
      const targets = await kysely.selectFrom("targets").selectAll().orderBy("id").execute();
      const incidents = await kysely
        .selectFrom("incidents")
        .selectAll()
        .where("phase", "<>", "resolved")
        .execute();
      const byTarget = Map.groupBy(incidents, (row) => row.target_id);
      return targets.map((row) => ({
        id: row.id,
        target: { region: row.region, key: row.key },
        progress: progressFromRow(row),
        openIncidents: (byTarget.get(row.id) ?? []).map(incidentFromRow),
      }));
    },
    async add(target) {
      const { id } = await kysely
        .insertInto("targets")
        .values({ region: target.region, key: target.key, ...progressToRow(initialProgress) })
        .returning("id")
        .executeTakeFirstOrThrow();
      return { id, target, progress: initialProgress, openIncidents: [] };
    },
    async snapshotOf(targetId) {
      const sandboxes = await kysely
        .selectFrom("sandboxes")
        .selectAll()
        .where("target_id", "=", targetId)
        .execute();
      const servers = await kysely
        .selectFrom("servers")
        .selectAll()
        .where("target_id", "=", targetId)
        .execute();
      return {
        sandboxes: sandboxes.map(sandboxFromRow),
        servers: servers.map(serverFromRow),
        removedSandboxes: [],
        removedServers: [],
      };
    },
  };
}
