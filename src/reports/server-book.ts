import type { Target } from "../fleet/model.ts";
import { serverMsOfRow } from "./row.ts";
import type { ReportField } from "./fields.ts";
import { compareValues } from "./groups.ts";
import type { IncidentTime } from "./incident-times.ts";
import type { ReportRow } from "./row.ts";
import { addOccupied, addDwell, addTime, emptyUnit } from "./server-sums.ts";
import type { UnitSums } from "./server-sums.ts";
import { stateKey } from "./server-states.ts";
import type { ServerState } from "./server-states.ts";
import type { ServerChange } from "./sources.ts";
import type { TargetTime } from "./target-times.ts";

/** Follows servers through time, and adds up what each, or each sandbox, was. */
export interface ServerBook {
  /** What a server is from a moment on. */
  set(state: ServerState, atMs: number): void;
  follow(change: ServerChange): void;
  addIncident(incident: IncidentTime, target: Target): void;
  /** Once all was followed. */
  rows(): readonly ReportRow[];
}

interface Followed {
  readonly state: ServerState;
  readonly sinceMs: number;
  readonly unit: UnitSums;
}

export function openServerBook(
  fields: readonly ReportField[],
  timeOf: (target: Target) => TargetTime,
): ServerBook {
  const followed = new Map<string, Followed>();
  const units = new Map<string, UnitSums>();
  /** The unit of every server that was followed at any time. */
  const unitOfServer = new Map<string, UnitSums>();

  const unitOf = (state: ServerState, key: string, atMs: number): UnitSums => {
    const valuesKey = fields.includes("server")
      ? key
      : JSON.stringify(fields.map((field) => valueOf(state, field)));
    let unit = units.get(valuesKey);
    if (!unit) units.set(valuesKey, (unit = emptyUnit(state, atMs)));
    unitOfServer.set(key, unit);
    return unit;
  };
  const end = (key: string, { state, sinceMs, unit }: Followed, atMs: number): void => {
    const { gapMs } = timeOf(state.target);
    addTime(unit, state, { fromMs: sinceMs, toMs: atMs }, gapMs);
    addOccupied(unit, isOccupied(state) ? -1 : 0, atMs, gapMs);
    followed.delete(key);
  };
  const set = (state: ServerState, atMs: number): void => {
    const key = stateKey(state.target, state);
    const unit = unitOf(state, key, atMs);
    addOccupied(unit, isOccupied(state) ? 1 : 0, atMs, timeOf(state.target).gapMs);
    followed.set(key, { state, sinceMs: atMs, unit });
  };

  return {
    set,
    follow({ atMs, target, sandboxId, serverId, serverName, from, to, dwellMs, observation }) {
      const key = stateKey(target, { sandboxId, serverId });
      const known = followed.get(key);
      if (known) end(key, known, atMs);
      if (known && observation === null && from === "occupied" && dwellMs !== null) {
        addDwell(known.unit, dwellMs);
      }
      if (to === "absent") return;
      const isMissing = observation === "missing";
      set({ target, sandboxId, serverId, serverName, status: to, isMissing }, atMs);
    },
    addIncident({ sandboxId, serverId, recoveryMs }, target) {
      const unit = unitOfServer.get(stateKey(target, { sandboxId, serverId }));
      if (!unit) return;
      if (recoveryMs === null) {
        unit.incidents += 1;
      } else {
        unit.recoveries += 1;
        unit.recoveryMs += recoveryMs;
      }
    },
    rows() {
      for (const [key, each] of followed) end(key, each, timeOf(each.state.target).toMs);
      return [...units.values()]
        .map((unit) => toRow(unit, fields, timeOf(unit.first.target)))
        .filter((row) => serverMsOfRow(row) > 0 || row.incidents > 0 || row.recoveries.count > 0)
        .toSorted((one, other) => compareValues(one.group, other.group, fields));
    },
  };
}

function isOccupied({ status, isMissing }: ServerState): boolean {
  return status === "occupied" && !isMissing;
}

function valueOf(state: ServerState, field: ReportField): string {
  switch (field) {
    case "region":
      return state.target.region;
    case "key":
      return state.target.key;
    case "sandbox":
      return state.sandboxId;
    case "server":
      return state.serverId;
    case "server_name":
      return state.serverName ?? "";
    case "hour":
    case "day":
    case "weekday":
      throw new TypeError(`a server is not reported by ${field}`);
  }
}

function toRow(unit: UnitSums, fields: readonly ReportField[], time: TargetTime): ReportRow {
  const { first, ms, unobservedMs, dwells, most, incidents, recoveries, recoveryMs } = unit;
  const watchedMs = time.toMs - time.fromMs - time.gapMs(time.fromMs, time.toMs);
  const isObserved = watchedMs > 0;
  return {
    group: Object.fromEntries(fields.map((field) => [field, valueOf(first, field)])),
    ms,
    unobservedMs,
    isObserved,
    occupiedAverage: isObserved ? ms.occupied / watchedMs : null,
    occupiedPeak: most === null ? null : { count: most, isExact: true },
    dwells,
    incidents,
    recoveries: { count: recoveries, ms: recoveryMs },
  };
}
