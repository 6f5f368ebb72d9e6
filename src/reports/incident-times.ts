import { targetName } from "../fleet/model.ts";
import type { ReportSources } from "./sources.ts";
import type { TimeRange } from "./time-range.ts";

/** An incident began to fire, or a server recovered from one. */
export interface IncidentTime {
  readonly atMs: number;
  /** The number of its target. */
  readonly target: number;
  readonly serverName: string | null;
  readonly sandboxId: string;
  readonly serverId: string;
  /** From when the condition was first seen to hold. Null: it began to fire. */
  readonly recoveryMs: number | null;
}

/** In order of time. */
export async function readIncidentTimes(
  sources: Pick<ReportSources, "incidents">,
  range: TimeRange,
  numbers: ReadonlyMap<string, number>,
): Promise<readonly IncidentTime[]> {
  const times: IncidentTime[] = [];
  const isIn = (atMs: number): boolean => atMs >= range.fromMs && atMs < range.toMs;
  for await (const incident of sources.incidents(range)) {
    const target = numbers.get(targetName(incident.target));
    if (target === undefined) continue;
    const { serverName, sandboxId, serverId, startedAtMs, firedAtMs, recoveredAtMs } = incident;
    const of = { target, serverName, sandboxId, serverId };
    if (firedAtMs !== null && isIn(firedAtMs)) {
      times.push({ ...of, atMs: firedAtMs, recoveryMs: null });
    }
    // One that never fired is none that anybody had to recover from.
    if (firedAtMs !== null && recoveredAtMs !== null && isIn(recoveredAtMs)) {
      times.push({ ...of, atMs: recoveredAtMs, recoveryMs: recoveredAtMs - startedAtMs });
    }
  }
  return times.toSorted((one, other) => one.atMs - other.atMs);
}
