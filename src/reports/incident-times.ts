import { targetName } from "../fleet/model.ts";
import type { ReportSources } from "./report-sources.ts";
import type { TimeRange } from "./time-range.ts";

/** An incident began to fire, or a server recovered from one. */
export interface IncidentTime {
  readonly atMs: number;
  /** The number of its target. */
  readonly target: number;
  readonly serverName: string | null;
  readonly sandboxId: string | null;
  readonly serverId: string | null;
  /** From when the condition was first observed to hold. Null: it began to fire. */
  readonly recoveryMs: number | null;
}

export interface IncidentCounts {
  incidents: number;
  readonly recoveries: { count: number; ms: number };
}

export function countIncident(counts: IncidentCounts, { recoveryMs }: IncidentTime): void {
  if (recoveryMs === null) {
    counts.incidents += 1;
  } else {
    counts.recoveries.count += 1;
    counts.recoveries.ms += recoveryMs;
  }
}

/** In order of time. @param numbers of targets, by their names */
export async function readIncidentTimes(
  sources: Pick<ReportSources, "incidents">,
  range: TimeRange,
  numbers: ReadonlyMap<string, number>,
): Promise<readonly IncidentTime[]> {
  const times: IncidentTime[] = [];
  const add = (time: IncidentTime): void => {
    if (time.atMs >= range.fromMs && time.atMs < range.toMs) times.push(time);
  };
  for await (const incident of sources.incidents(range)) {
    const { serverName, sandboxId, serverId, startedAtMs, firedAtMs, recoveredAtMs } = incident;
    const target = numbers.get(targetName(incident));
    // An incident that never fired has no recovery.
    if (target === undefined || firedAtMs === null) continue;
    const server = { target, serverName, sandboxId, serverId };
    add({ ...server, atMs: firedAtMs, recoveryMs: null });
    if (recoveredAtMs !== null) {
      add({ ...server, atMs: recoveredAtMs, recoveryMs: recoveredAtMs - startedAtMs });
    }
  }
  return times.toSorted((one, other) => one.atMs - other.atMs);
}
