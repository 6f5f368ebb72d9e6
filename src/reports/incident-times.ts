import { targetName, type Target } from "../fleet/model.ts";
import type { OccupancyReader } from "../store/occupancy-history.ts";
import type { ReportSources } from "./report-sources.ts";
import type { ReportedKind } from "./report-fields.ts";
import type { TimeRange } from "./time-range.ts";

/** An incident began to fire, or a server recovered from one. */
export interface IncidentTime {
  readonly atMs: number;
  /** The number of its target. */
  readonly target: number;
  readonly serverName: string | null;
  readonly benchmark: string | null;
  readonly tags: readonly string[];
  readonly sandboxId: string | null;
  readonly serverId: string | null;
  /** Null: it began to fire. */
  readonly recovery: RecoveryTime | null;
}

/**
 * The time from when the condition was first observed to hold. A server that recovered while it was not observed may have
 * done so at any time since it was.
 */
interface RecoveryTime {
  readonly leastMs: number;
  readonly mostMs: number;
}

export interface IncidentCounts {
  incidents: number;
  readonly recoveries: { count: number; leastMs: number; mostMs: number };
}

export function noIncidents(): IncidentCounts {
  return { incidents: 0, recoveries: { count: 0, leastMs: 0, mostMs: 0 } };
}

export function countIncident(counts: IncidentCounts, { recovery }: IncidentTime): void {
  if (recovery === null) {
    counts.incidents += 1;
  } else {
    counts.recoveries.count += 1;
    counts.recoveries.leastMs += recovery.leastMs;
    counts.recoveries.mostMs += recovery.mostMs;
  }
}

/** In order of time. @param numbers of targets, by their names */
export async function readIncidentTimes(
  sources: Pick<ReportSources, "incidents">,
  occupancy: Pick<OccupancyReader, "gaps">,
  range: TimeRange,
  of: ReportedKind,
  numbers: ReadonlyMap<string, number>,
): Promise<readonly IncidentTime[]> {
  const times: IncidentTime[] = [];
  const recovered = new Map<number, { target: Target; all: IncidentTime[] }>();
  const isWithin = (atMs: number): boolean => atMs >= range.fromMs && atMs < range.toMs;
  for await (const incident of sources.incidents(range, of)) {
    const { serverName, benchmark, sandboxId, serverId } = incident;
    const { startedAtMs, firedAtMs, recoveredAtMs } = incident;
    const target = numbers.get(targetName(incident));
    // An incident that never fired has no recovery.
    if (target === undefined || firedAtMs === null) continue;
    const tags = tagsIn(incident.tags);
    const server = { target, serverName, benchmark, tags, sandboxId, serverId };
    if (isWithin(firedAtMs)) times.push({ ...server, atMs: firedAtMs, recovery: null });
    if (recoveredAtMs === null || !isWithin(recoveredAtMs)) continue;
    const mostMs = recoveredAtMs - startedAtMs;
    const ofTarget = recovered.get(target) ?? { target: incident, all: [] };
    recovered.set(target, ofTarget);
    ofTarget.all.push({ ...server, atMs: recoveredAtMs, recovery: { leastMs: mostMs, mostMs } });
  }
  for (const { target, all } of recovered.values()) {
    for (const time of await withGaps(occupancy, target, inOrder(all))) times.push(time);
  }
  return inOrder(times);
}

/** Those of a target in order of time, with how much of each recovery was not observed until its end. */
async function withGaps(
  occupancy: Pick<OccupancyReader, "gaps">,
  target: Target,
  recovered: readonly IncidentTime[],
): Promise<readonly IncidentTime[]> {
  const toMs = (recovered.at(-1)?.atMs ?? 0) + 1;
  const fromMs = recovered.reduce(
    (ms, { atMs, recovery }) => Math.min(ms, atMs - (recovery?.mostMs ?? 0)),
    toMs,
  );
  let at = 0;
  const times = [...recovered];
  for (const gap of await occupancy.gaps(target, { fromMs, toMs })) {
    for (; at < times.length; at += 1) {
      const time = times[at];
      if (!time?.recovery || time.atMs > gap.toMs) break;
      const { mostMs } = time.recovery;
      const unobservedMs = Math.max(0, time.atMs - gap.fromMs);
      times[at] = { ...time, recovery: { leastMs: Math.max(0, mostMs - unobservedMs), mostMs } };
    }
  }
  return times;
}

function inOrder(times: readonly IncidentTime[]): readonly IncidentTime[] {
  return times.toSorted((one, other) => one.atMs - other.atMs);
}

/** @param written JSON. Null: none */
function tagsIn(written: string | null): readonly string[] {
  const tags: unknown = JSON.parse(written ?? "[]");
  return Array.isArray(tags) ? tags.filter((tag) => typeof tag === "string") : [];
}
