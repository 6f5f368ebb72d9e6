import { sql } from "kysely";
import type { Db } from "../tables.ts";
import { writeTargets, type TargetWrite } from "../target-rows.ts";

/** The same in one statement for all polls, in the order of the targets. */
export async function writeTargetsTogether(
  trx: Db,
  writes: readonly TargetWrite[],
): Promise<ReadonlySet<number>> {
  const { polled = [], others = [] } = Object.groupBy(writes, ({ columns }) =>
    columns ? "polled" : "others",
  );
  const written = new Set<number>();
  if (polled.length > 0) {
    const rows = polled
      .toSorted((one, other) => one.id - other.id)
      .map(({ id, version, columns }) => ({ id, version, ...columns }));
    const { rows: matched } = await updatePolled(JSON.stringify(rows)).execute(trx);
    for (const { id } of matched) written.add(id);
  }
  return written.union(await writeTargets(trx, others));
}

const updatePolled = (rows: string) => sql<{ readonly id: number }>`
  update targets set
    version = polled.version + 1,
    snapshot_version = coalesce(polled.snapshot_version, targets.snapshot_version),
    attempted_polls = polled.attempted_polls,
    attempted_ms = polled.attempted_ms,
    observed_polls = polled.observed_polls,
    observed_ms = polled.observed_ms,
    failures_in_a_row = polled.failures_in_a_row,
    last_failure = polled.last_failure,
    last_status = polled.last_status,
    failing_since_at_ms = polled.failing_since_at_ms,
    last_poll_at_ms = polled.last_poll_at_ms,
    last_success_at_ms = polled.last_success_at_ms,
    last_complete = polled.last_complete,
    servers = polled.servers,
    open_bucket = polled.open_bucket
  from json_populate_recordset(null::targets, ${rows}) as polled
  where targets.id = polled.id and targets.version = polled.version
  returning targets.id
`;
