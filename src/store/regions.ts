import type { Selectable } from "kysely";
import type { IncidentOutcome } from "../alerts/incident-engine.ts";
import type { RegionTarget, StoredRegion } from "../alerts/judge-region.ts";
import { failureReasons } from "../fleet/model.ts";
import { createRowReading, oneOf } from "./row-reading.ts";
import { flapFromColumns, writeRegionFlaps } from "./flap-records.ts";
import { incidentRows, readIncidents, selectIncidents, writeIncidents } from "./incidents.ts";
import type { SharedCommits } from "./shared-commits.ts";
import { readConsistently } from "./sql-helpers.ts";
import type { Db, Tables } from "./tables.ts";

/** Whether regions fail as a whole. */
export function createStoredRegions(
  reader: Db,
  commits: SharedCommits,
  reading = createRowReading(),
) {
  return {
    /** The regions with an open incident of their own. */
    async withIncidents(): Promise<readonly string[]> {
      const rows = await reader
        .selectFrom("incidents")
        .select("region")
        .where("subject", "=", "region")
        .where("target_id", "is", null)
        .where("phase", "<>", "resolved")
        .distinct()
        .execute();
      return rows.flatMap(({ region }) => region ?? []);
    },

    read: (region: string): Promise<StoredRegion> =>
      readConsistently(reader, async (trx) => {
        const targets = await trx
          .selectFrom("targets")
          .selectAll()
          .where("region", "=", region)
          .orderBy("id")
          .execute();
        const incidents = await selectIncidents(trx)
          .where("subject", "=", "region")
          .where("region", "=", region)
          .where("target_id", "is", null)
          .where("phase", "<>", "resolved")
          .execute();
        const flaps = await trx
          .selectFrom("region_flap_records")
          .selectAll()
          .where("region", "=", region)
          .execute();
        return {
          targets: reading.all("targets", targets, targetFromRow),
          openIncidents: readIncidents(reading, incidents),
          flaps: reading.all("region_flap_records", flaps, (row) =>
            flapFromColumns(row, { kind: "region", region }),
          ),
        };
      }),

    commit: (region: string, incidents: IncidentOutcome): Promise<void> =>
      commits.add({
        owner: `region ${region}`,
        rows: incidentRows(incidents),
        async writeNumbered(trx) {
          await writeIncidents(trx, null, incidents);
          await writeRegionFlaps(trx, region, incidents.flaps);
        },
      }),
  };
}

function targetFromRow(row: Selectable<Tables["targets"]>): RegionTarget {
  const { region, key, failures_in_a_row: failuresInARow, last_failure: reason, servers } = row;
  const { failing_since_at_ms: sinceMs, last_poll_at_ms: lastMs } = row;
  const isFailing = failuresInARow > 0 && reason !== null && sinceMs !== null && lastMs !== null;
  const failure = isFailing
    ? { sinceMs, lastMs, reason: oneOf(failureReasons, reason), status: row.last_status }
    : null;
  return { target: { region, key }, failuresInARow, failure, servers };
}
