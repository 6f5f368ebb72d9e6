import { serverMsOf } from "../fleet/buckets.ts";
import { addDwells, dwellsOf, noDwells, type DwellHistogram } from "../fleet/dwell.ts";
import { targetName, type Target } from "../fleet/model.ts";
import type { Status } from "../fleet/status.ts";
import { countByStatus, noneByStatus } from "../fleet/tallies.ts";
import type { SandboxRange } from "../store/changes.ts";
import type { RecordedTarget, TargetFilter } from "../store/occupancy-history.ts";
import type { ReportField } from "./report-fields.ts";
import {
  countIncident,
  noIncidents,
  type IncidentCounts,
  type IncidentTime,
} from "./incident-times.ts";
import { compareValues, placeRows } from "./report-rows.ts";
import type { PlacedRow, ReportRow, RowPosition } from "./report-rows.ts";
import type { PresentServers, ReportSources, ServerChange } from "./report-sources.ts";
import { readTargetTimes, type ReportedTarget, type TargetTime } from "./reported-targets.ts";
import type { TimeRange } from "./time-range.ts";

/** A target with the servers that there are. */
export interface PresentTarget extends ReportedTarget, PresentServers {}

export interface FollowQuery {
  /** Of all of which changes are kept. */
  readonly range: TimeRange;
  readonly fields: readonly ReportField[];
  readonly targets: readonly PresentTarget[];
  /** What is known of the time of each target, by its name. */
  readonly times: ReadonlyMap<string, TargetTime>;
  readonly filter: TargetFilter;
  readonly sources: Pick<ReportSources, "changes">;
  /** Default: the servers of all. */
  readonly sandboxes?: SandboxRange;
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
export interface Unit extends IncidentCounts {
  readonly first: ServerState;
  readonly time: TargetTime;
  readonly ms: Record<Status, number>;
  unobservedMs: number;
  dwells: DwellHistogram;
  /** How many there are and are occupied, since when, and the most that were while it was observed. */
  servers: number;
  occupied: number;
  sinceMs: number;
  most: { readonly servers: number; readonly occupied: number } | null;
  /** How often it entered error. */
  errors: number;
}

/** How far before a moment a change is searched that shows whether a server was missing then: few polls are enough. */
const lookBackMs = 30 * 24 * 60 * 60_000;
/** Few enough that their changes, which are sorted for each page of them, are few. */
const sandboxesAtOnce = 8;

/**
 * Rows of single servers or sandboxes, by target and sandbox. Only some sandboxes are read at a time, so that a page costs
 * about as much as its rows.
 */
export async function* reportServers(
  query: Omit<FollowQuery, "targets" | "times" | "sandboxes" | "only" | "sources"> & {
    readonly targets: readonly ReportedTarget[];
    readonly recorded: readonly RecordedTarget[];
    readonly sources: ReportSources;
    readonly incidents: readonly IncidentTime[];
  },
  after: RowPosition | null,
): AsyncIterable<PlacedRow> {
  const { range, fields, recorded, sources, incidents } = query;
  const incidentsOf = Map.groupBy(incidents, ({ target, sandboxId }) => `${target} ${sandboxId}`);
  const start = after?.sandbox;
  const cellMs = after?.cellMs ?? range.fromMs;
  const targets = [...query.targets.entries()].toSorted(([, one], [, other]) =>
    compareValues(one.target, other.target, ["region", "key"]),
  );
  for (const [number, each] of targets) {
    const { target } = each;
    const place = start ? compareValues(target, start, ["region", "key"]) : 1;
    if (place < 0) continue;
    const { lastPollAtMs, servers } = await sources.present(target);
    const times = await readTargetTimes(sources, range, [{ ...each, lastPollAtMs }], recorded);
    const present = Map.groupBy(servers, ({ sandbox }) => sandbox.id);
    let first: string | undefined = place === 0 ? start?.sandboxId : "";
    while (first !== undefined) {
      const most = sandboxesAtOnce + 1;
      const ids: readonly string[] = await sources.changes.sandboxes(target, first, most);
      const some = ids.slice(0, sandboxesAtOnce);
      const here = some.flatMap((id) => present.get(id) ?? []);
      const unitOfServer = await followServers({
        ...query,
        times,
        targets: [{ ...each, lastPollAtMs, servers: here }],
        sandboxes: { target, first, last: some.at(-1) ?? first },
      });
      for (const incident of some.flatMap((id) => incidentsOf.get(`${number} ${id}`) ?? [])) {
        const unit = unitOfServer.get(serverKey(target, incident));
        if (unit) countIncident(unit, incident);
      }
      const units = Map.groupBy(new Set(unitOfServer.values()), (unit) => unit.first.sandboxId);
      for (const sandboxId of some) {
        const rows = (units.get(sandboxId) ?? [])
          .map((unit) => toRow(unit, fields))
          .filter((row) => serverMsOf(row) > 0 || row.incidents > 0 || row.recoveries.count > 0)
          .toSorted((one, other) => compareValues(one.group, other.group, fields));
        const isFirst = place === 0 && sandboxId === start?.sandboxId;
        const sandbox = { ...target, sandboxId };
        for (const { row, position } of placeRows(rows, cellMs, isFirst ? after : null)) {
          yield { row, position: { ...position, sandbox } };
        }
      }
      first = ids[sandboxesAtOnce];
    }
  }
}

/** A range without the time from which changes of servers that were known are not kept any more. */
export async function keptRange(
  range: TimeRange,
  { changes }: Pick<ReportSources, "changes">,
): Promise<TimeRange> {
  const { fromMs, toMs } = range;
  return { fromMs: Math.min(await changes.keptFrom(fromMs), toMs), toMs };
}

/**
 * Adds up what servers were. The servers that there are show what there was when the range began, and from then on each is
 * followed through its changes.
 *
 * @returns the unit of every server that was followed at any time
 */
export async function followServers(query: FollowQuery): Promise<ReadonlyMap<string, Unit>> {
  const { range, fields, targets, times, filter, sources, only, sandboxes } = query;
  const read = (direction: "asc" | "desc") => (within: TimeRange) =>
    sources.changes.between({
      ...within,
      direction,
      ...filter,
      observations: true,
      ...(only && { status: [only] }),
      ...(sandboxes && { sandboxes }),
    });
  const states = await statesAt(range.fromMs, targets, read("desc"), only);

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
    countServer(unit, state, 1, atMs);
    followed.set(key, { state, sinceMs: atMs, unit });
  };
  const end = (key: string, atMs: number): Unit | undefined => {
    const known = followed.get(key);
    if (!known) return undefined;
    const { state, sinceMs, unit } = known;
    addTime(unit, state, sinceMs, atMs);
    countServer(unit, state, -1, atMs);
    followed.delete(key);
    return unit;
  };

  for (const state of states.values()) begin(state, range.fromMs);
  for await (const change of read("asc")(range)) {
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
  return unitOfServer;
}

/** Computes the state at a moment from the present state and the changes since. */
export async function statesAt(
  atMs: number,
  targets: readonly PresentTarget[],
  read: (range: TimeRange) => AsyncIterable<ServerChange>,
  only?: Status,
): Promise<ReadonlyMap<string, ServerState>> {
  const states = new Map<string, ServerState>();
  const knownUntilMs = new Map<string, number>();
  for (const { target, lastPollAtMs, servers } of targets) {
    knownUntilMs.set(targetName(target), lastPollAtMs ?? -Infinity);
    for (const { sandbox, server } of servers) {
      const { id: serverId, name: serverName, status } = server;
      const isMissing = server.missing > 0;
      const state = { target, sandboxId: sandbox.id, serverId, serverName, status, isMissing };
      states.set(serverKey(target, state), state);
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

export function serverKey(
  target: Target,
  server: { readonly sandboxId: string | null; readonly serverId: string | null },
): string {
  return JSON.stringify([targetName(target), server.sandboxId, server.serverId]);
}

function emptyUnit(first: ServerState, time: TargetTime, sinceMs: number): Unit {
  return {
    first,
    time,
    ms: { ...noneByStatus },
    unobservedMs: 0,
    dwells: noDwells,
    servers: 0,
    occupied: 0,
    sinceMs,
    most: null,
    errors: 0,
    ...noIncidents(),
  };
}

function addTime(unit: Unit, state: ServerState, fromMs: number, toMs: number): void {
  if (toMs <= fromMs) return;
  const unobservedMs = state.isMissing ? toMs - fromMs : unit.time.gapMs(fromMs, toMs);
  unit.unobservedMs += unobservedMs;
  unit.ms[state.status] += toMs - fromMs - unobservedMs;
}

/**
 * Counts one more or one less from a moment on. What there was in between, where several changed at once, lasted for no
 * time and does not count.
 */
function countServer(
  unit: Unit,
  { status, isMissing }: ServerState,
  by: 1 | -1,
  atMs: number,
): void {
  if (atMs > unit.sinceMs) {
    const isObserved = unit.time.gapMs(unit.sinceMs, atMs) < atMs - unit.sinceMs;
    if (isObserved) {
      unit.most = {
        servers: Math.max(unit.most?.servers ?? 0, unit.servers),
        occupied: Math.max(unit.most?.occupied ?? 0, unit.occupied),
      };
    }
    unit.sinceMs = atMs;
  }
  if (isMissing) return;
  unit.servers += by;
  if (status === "occupied") unit.occupied += by;
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
    occupiedPeak: most === null ? null : { count: most.occupied, isExact: true },
    serversAverage: isObserved ? countByStatus(ms) / observedMs : null,
    serversPeak: most === null ? null : most.servers,
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
