import { sql, type Kysely } from "kysely";
import type { BucketTotal } from "../core/occupancy/server-sums.ts";
import { PackedTotal, totalTables } from "./bucket-totals.ts";
import type { TotalledResolution } from "./bucket-totals.ts";
import { idsIn } from "./read-buckets.ts";
import type { BucketWindow, Found } from "./read-buckets.ts";
import type { Tables } from "./tables.ts";

/**
 * Those of closed buckets, by start, then by target. Each start is one row of SQLite's, with the bodies
 * in hexadecimal: a row and a blob for each would cost several times what reading them does.
 */
export async function readTotals(
  reader: Kysely<Tables>,
  resolution: TotalledResolution,
  { ids, startMs, endMs }: BucketWindow,
): Promise<readonly Found<BucketTotal>[]> {
  const { rows } = await sql<{ start_at_ms: number; target_ids: string; bodies: string }>`
    select start_at_ms, group_concat(target_id) as target_ids, group_concat(hex(body)) as bodies
    from (
      select * from ${sql.table(totalTables[resolution])}
      where start_at_ms >= ${startMs} and start_at_ms < ${endMs} and target_id in ${idsIn(ids)}
      order by start_at_ms, target_id
    )
    group by start_at_ms
    order by start_at_ms
  `.execute(reader);
  return rows.flatMap((row) => {
    const targetIds = row.target_ids.split(",");
    return row.bodies
      .split(",")
      .map((body, index) => new FoundTotal(Number(targetIds[index]), row.start_at_ms, body));
  });
}

class FoundTotal implements Found<BucketTotal> {
  readonly targetId: number;
  readonly startMs: number;
  private readonly hexBody: string;

  constructor(targetId: number, startMs: number, hexBody: string) {
    this.targetId = targetId;
    this.startMs = startMs;
    this.hexBody = hexBody;
  }

  get(): BucketTotal {
    return new PackedTotal(this.startMs, Buffer.from(this.hexBody, "hex"));
  }
}
