import { serverMsOf } from "../fleet/buckets.ts";
import { addDwells, dwellsOf, noDwells, type DwellHistogram } from "../fleet/dwell.ts";
import { targetName, type Target } from "../fleet/model.ts";
import type { Status } from "../fleet/status.ts";
import { noneByStatus } from "../fleet/tallies.ts";
import { batches, paced } from "../lib/iterables.ts";
import type { BucketExtent, TargetFilter } from "../store/occupancy-history.ts";
import type { ReportField } from "./report-fields.ts";
import type { IncidentTime } from "./incident-times.ts";
import { compareValues, type ReportRow } from "./report-rows.ts";
import type { PresentServers, ReportSources, ServerChange } from "./report-sources.ts";
import { readTargetTimes, type ReportedTarget, type TargetTime } from "./reported-targets.ts";
import type { TimeRange } from "./time-range.ts";

/** A target with the servers that there are. */
export interface PresentTarget extends ReportedTarget, PresentServers {}

export interface FollowQuery {
  readonly range: TimeRange;
  readonly fields: readonly ReportField[];
  readonly targets: readonly PresentTarget[];
  readonly filter: TargetFilter;
  readonly extents: readonly BucketExtent[];
  readonly sources: Pick<ReportSources, "changes" | "occupancy">;
  /** Servers are followed only while they are in this status. Default: in any. */
  readonly only?: Status;
}

/** The state of a server at a moment. */
interface ServerState {
  readonly target: Target;
  readonly sandboxId: string;
  readonly serverId: string;
  readonly serverName: string | null;
  readonly status: Status;
  /** Whether the last complete listing lacked it: then its time is unobserved. */
  readonly isMissing: boolean;
}

/** The sums of a server, or of the servers of a sandbox. */
export interface Unit {
  readonly first: ServerState;
  readonly time: TargetTime;
  readonly ms: Record<Status, number>;
  unobservedMs: number;
  dwells: DwellHistogram;
  /** How many are occupied, since when, and the most that were while it was observed. */
  occupied: number;
  sinceMs: number;
  most: number | null;
  /** How often it entered error. */
  errors: number;
  incidents: number;
  readonly recoveries: { count: number; ms: number };
}

/** How far before a moment a change is searched that shows whether a server was missing then: few polls are enough. */
const lookBackMs = 30 * 24 * 60 * 60_000;
const serversAtOnce = 2_000;

/** Rows of single servers or sandboxes. */
export async function reportServers(
  query: FollowQuery,
  incidents: readonly IncidentTime[],
): Promise<{ readonly rows: readonly ReportRow[]; readonly fromMs: number }> {
  const { fields, targets } = query;
  const { unitOfServer, fromMs } = await followServers(query);
  for (const { target: number, recoveryMs, ...server } of incidents) {
    const target = targets[number]?.target;
    const unit = target && unitOfServer.get(serverKey(target, server));
    if (unit && recoveryMs === null) unit.incidents += 1;
    if (unit && recoveryMs !== null) {
      unit.recoveries.count += 1;
      unit.recoveries.ms += recoveryMs;
    }
  }
  const rows = Array.from(new Set(unitOfServer.values()), (unit) => toRow(unit, fields))
    .filter((row) => serverMsOf(row) > 0 || row.incidents > 0 || row.recoveries.count > 0)
    .toSorted((one, other) => compareValues(one.group, other.group, fields));
  return { rows, fromMs };
}

/**
 * Adds up what servers were. The servers that there are show what there was when the range began, and from then on each is
 * followed through its changes.
 *
 * @returns the unit of every server that was followed at any time, and from when on changes are kept
 */
export async function followServers(query: FollowQuery) {
  const { range, fields, targets, filter, extents, sources, only } = query;
  const read = (direction: "asc" | "desc") => (within: TimeRange) =>
    sources.changes.between({
      ...within,
      direction,
      ...filter,
      observations: true,
      ...(only && { status: [only] }),
    });
  const states = await statesAt(range.fromMs, targets, read("desc"), only);
  const keptFromMs = states.size === 0 ? -Infinity : await firstChangeMs(sources, filter);
  const fromMs = Math.max(range.fromMs, Math.min(keptFromMs, range.toMs));
  const times = await readTargetTimes(sources, { ...range, fromMs }, targets, extents);

  const units = new Map<string, Unit>();
  const unitOfServer = new Map<string, Unit>();
  const followed = new Map<string, { state: ServerState; sinceMs: number; unit: Unit }>();
  const begin = (state: ServerState, atMs: number): void => {
    const time = times.get(targetName(state.target));
    if (!time) return;
    const key = serverKey(state.target, state);
    const unitKey = fields.includes("server") ? key : JSON.stringify(valuesOf(state, fields));
    let unit = units.get(unitKey);
    if (!unit) units.set(unitKey, (unit = emptyUnit(state, time, atMs)));
    unitOfServer.set(key, unit);
    countOccupied(unit, isOccupied(state) ? 1 : 0, atMs);
    followed.set(key, { state, sinceMs: atMs, unit });
  };
  const end = (key: string, atMs: number): Unit | undefined => {
    const known = followed.get(key);
    if (!known) return undefined;
    const { state, sinceMs, unit } = known;
    addTime(unit, state, sinceMs, atMs);
    countOccupied(unit, isOccupied(state) ? -1 : 0, atMs);
    followed.delete(key);
    return unit;
  };

  for (const state of states.values()) begin(state, fromMs);
  for await (const change of read("asc")({ fromMs, toMs: range.toMs })) {
    const { atMs, target, from, to, dwellMs, observation, ...server } = change;
    const time = times.get(targetName(target));
    if (!time || atMs > time.toMs) continue;
    const key = serverKey(target, server);
    const unit = end(key, atMs);
    if (unit && observation === null && from === "occupied" && dwellMs !== null) {
      unit.dwells = addDwells(unit.dwells, dwellsOf([dwellMs]));
    }
    if (to === "absent" || (only && to !== only)) continue;
    begin({ target, ...server, status: to, isMissing: observation === "missing" }, atMs);
    const begun = unitOfServer.get(key);
    if (begun && to === "error" && observation === null) begun.errors += 1;
  }
  for (const [key, { unit }] of followed) end(key, unit.time.toMs);
  return { unitOfServer, fromMs };
}

/** Computes the state at a moment from the present state and the changes since. */
async function statesAt(
  atMs: number,
  targets: readonly PresentTarget[],
  read: (range: TimeRange) => AsyncIterable<ServerChange>,
  only?: Status,
): Promise<ReadonlyMap<string, ServerState>> {
  const states = new Map<string, ServerState>();
  const knownUntilMs = new Map<string, number>();
  for (const { target, lastPollAtMs, servers } of targets) {
    knownUntilMs.set(targetName(target), lastPollAtMs ?? -Infinity);
    for await (const some of paced(batches(servers, serversAtOnce))) {
      for (const { sandbox, server } of some) {
        const { id: serverId, name: serverName, status } = server;
        const isMissing = server.missing > 0;
        const state = { target, sandboxId: sandbox.id, serverId, serverName, status, isMissing };
        states.set(serverKey(target, state), state);
      }
    }
  }
  /** Servers whose next change shows their status, but not whether they were missing. */
  const unsure = new Set<string>();
  const latestMs = knownUntilMs.values().reduce((ms, each) => Math.max(ms, each), atMs);
  for await (const change of read({ fromMs: atMs, toMs: latestMs + 1 })) {
    const { target, from, observation, dwellMs, ...server } = change;
    // The change was committed after the present state was read.
    if (change.atMs > (knownUntilMs.get(targetName(target)) ?? -Infinity)) continue;
    const key = serverKey(target, server);
    unsure.delete(key);
    if (from === "absent" || (only && from !== only)) {
      states.delete(key);
      continue;
    }
    states.set(key, { target, ...server, status: from, isMissing: observation === "seen" });
    // The dwell time of a server that was missing is unknown.
    if (observation === null && dwellMs === null) unsure.add(key);
  }
  if (unsure.size === 0) return states;
  for await (const change of read({ fromMs: atMs - lookBackMs, toMs: atMs })) {
    const key = serverKey(change.target, change);
    if (!unsure.delete(key)) continue;
    const state = states.get(key);
    if (state) states.set(key, { ...state, isMissing: change.observation === "missing" });
    if (unsure.size === 0) break;
  }
  return states;
}

/** When the first change was kept. -Infinity: none is. */
async function firstChangeMs(
  { changes }: Pick<ReportSources, "changes">,
  filter: TargetFilter,
): Promise<number> {
  const all = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER, direction: "asc" } as const;
  for await (const { atMs } of changes.between({ ...all, ...filter, observations: true })) {
    return atMs;
  }
  return -Infinity;
}

function serverKey(
  target: Target,
  server: { readonly sandboxId: string | null; readonly serverId: string | null },
): string {
  return JSON.stringify([targetName(target), server.sandboxId, server.serverId]);
}

function isOccupied({ status, isMissing }: ServerState): boolean {
  return status === "occupied" && !isMissing;
}

function emptyUnit(first: ServerState, time: TargetTime, sinceMs: number): Unit {
  return {
    first,
    time,
    ms: { ...noneByStatus },
    unobservedMs: 0,
    dwells: noDwells,
    occupied: 0,
    sinceMs,
    most: null,
    errors: 0,
    incidents: 0,
    recoveries: { count: 0, ms: 0 },
  };
}

function addTime(unit: Unit, state: ServerState, fromMs: number, toMs: number): void {
  if (toMs <= fromMs) return;
  const unobservedMs = state.isMissing ? toMs - fromMs : unit.time.gapMs(fromMs, toMs);
  unit.unobservedMs += unobservedMs;
  unit.ms[state.status] += toMs - fromMs - unobservedMs;
}

/**
 * Counts one more or one less occupied from a moment on. What there was in between, where several
 * changed at once, lasted for no time and does not count.
 */
function countOccupied(unit: Unit, by: number, atMs: number): void {
  if (atMs > unit.sinceMs) {
    const isObserved = unit.time.gapMs(unit.sinceMs, atMs) < atMs - unit.sinceMs;
    if (isObserved) unit.most = Math.max(unit.most ?? 0, unit.occupied);
    unit.sinceMs = atMs;
  }
  unit.occupied += by;
}

function toRow(unit: Unit, fields: readonly ReportField[]): ReportRow {
  const { first, time, ms, unobservedMs, dwells, most, incidents, recoveries } = unit;
  const observedMs = time.toMs - time.fromMs - time.gapMs(time.fromMs, time.toMs);
  const isObserved = observedMs > 0;
  return {
    group: valuesOf(first, fields),
    ms,
    unobservedMs,
    isObserved,
    occupiedAverage: isObserved ? ms.occupied / observedMs : null,
    occupiedPeak: most === null ? null : { count: most, isExact: true },
    dwells,
    incidents,
    recoveries,
  };
}

/** @param fields none of them of time */
function valuesOf(
  { target, sandboxId, serverId, serverName }: ServerState,
  fields: readonly ReportField[],
): ReportRow["group"] {
  const all: ReportRow["group"] = {
    ...target,
    sandbox: sandboxId,
    server: serverId,
    server_name: serverName ?? "",
  };
  return Object.fromEntries(fields.map((field) => [field, all[field] ?? ""]));
}
