import { emptyAccount, serverMsOf, type NameAccount } from "../fleet/buckets.ts";
import type { Target } from "../fleet/model.ts";
import { countByStatus } from "../fleet/tallies.ts";
import type { OccupancyReader } from "../store/occupancy-history.ts";
import type { Unit, UnitFilter } from "../store/unit-history.ts";
import {
  countIncident,
  noIncidents,
  type IncidentCounts,
  type IncidentTime,
} from "./incident-times.ts";
import { labelValuesOf, type ReportedKind, type ReportField } from "./report-fields.ts";
import { compareValues, placeRows } from "./report-rows.ts";
import type { GroupValues, PlacedRow, ReportRow, RowPosition } from "./report-rows.ts";
import type { ReportedTarget } from "./reported-targets.ts";
import type { TimeRange } from "./time-range.ts";
import type { LabelsOf } from "./report-sources.ts";

export interface UnitReportQuery {
  readonly of: ReportedKind;
  /** Of all of which changes are kept. */
  readonly range: TimeRange;
  /** None of them of time. */
  readonly fields: readonly ReportField[];
  readonly targets: readonly ReportedTarget[];
  readonly labelsOf: LabelsOf;
  readonly only?: UnitFilter | undefined;
  readonly occupancy: Pick<OccupancyReader, "units">;
  readonly incidents: readonly IncidentTime[];
}

/** Rows of single servers or sandboxes, by target and sandbox. Only some sandboxes are read at a time. */
export async function* reportUnits(
  { of, range, fields, targets, labelsOf, only, occupancy, incidents }: UnitReportQuery,
  after: RowPosition | null,
): AsyncIterable<PlacedRow> {
  const { fromMs, toMs } = range;
  const incidentsOf = Map.groupBy(incidents, idOf);
  const start = after?.sandbox;
  const cellMs = after?.cellMs ?? fromMs;
  const inOrder = [...targets.entries()].toSorted(([, one], [, other]) =>
    compareValues({ ...one.target }, { ...other.target }, ["region", "key"]),
  );
  for (const [number, { target, untilMs }] of inOrder) {
    const place = start ? compareValues({ ...target }, { ...start }, ["region", "key"]) : 1;
    if (place < 0) continue;
    const groups = new Map<string, GroupValues>();
    const labels = labelValuesOf(fields, labelsOf(target.key));
    const keyOf = (unit: Unit, name: string): string => {
      const values = { ...valuesOf({ ...unit, ...target, name }, fields), ...labels };
      const key = JSON.stringify(values);
      groups.set(key, values);
      return key;
    };
    const cells = occupancy.units(target, {
      subject: of === "servers" ? "server" : "sandbox",
      fromMs,
      toMs,
      untilMs: Math.min(toMs, untilMs),
      first: place === 0 ? (start?.sandboxId ?? "") : "",
      only,
      keyOf,
    });
    for await (const { units, bucket, dwellsMs } of cells) {
      const counted = new Map<string, IncidentCounts>();
      for (const { sandboxId, serverId, serverName } of units) {
        for (const incident of incidentsOf.get(idOf({ target: number, sandboxId, serverId })) ??
          []) {
          const key = keyOf({ sandboxId, serverId, serverName }, incident.serverName ?? "");
          const counts = counted.get(key) ?? noIncidents();
          counted.set(key, counts);
          countIncident(counts, incident);
        }
      }
      const observedMs = bucket.recordedMs - bucket.unobservedMs;
      const bySandbox = Map.groupBy(groups, ([, { sandbox = "" }]) => sandbox);
      for (const sandboxId of new Set(units.map((unit) => unit.sandboxId))) {
        const rows = (bySandbox.get(sandboxId) ?? [])
          .map(([key, group]) => {
            const account = bucket.names.get(key) ?? emptyAccount;
            const row = toRow(group, account, observedMs, counted.get(key) ?? noIncidents());
            return { ...row, dwellsMs: dwellsMs.get(key) ?? [] };
          })
          .filter((row) => serverMsOf(row) > 0 || row.incidents > 0 || row.recoveries.count > 0)
          .toSorted((one, other) => compareValues(one.group, other.group, fields));
        const isFirst = place === 0 && sandboxId === start?.sandboxId;
        for (const { row, position } of placeRows(rows, cellMs, isFirst ? after : null)) {
          yield { row, position: { ...position, sandbox: { ...target, sandboxId } } };
        }
      }
      groups.clear();
    }
  }
}

/** A range without the time from which changes of servers that were known are not kept any more. */
export function keptRange(
  { fromMs, toMs }: TimeRange,
  { changesKeptFromMs }: Pick<OccupancyReader, "changesKeptFromMs">,
): TimeRange {
  return { fromMs: Math.min(Math.max(fromMs, changesKeptFromMs), toMs), toMs };
}

/** One that is listed by its id has the name that it has now; all others have the one that they had. */
function valuesOf(
  { sandboxId, serverId, serverName, name, ...target }: Unit & Target & { readonly name: string },
  fields: readonly ReportField[],
): GroupValues {
  const all: GroupValues = {
    ...target,
    sandbox: sandboxId,
    server: serverId ?? "",
    server_name: fields.includes("server") ? (serverName ?? "") : name,
  };
  return Object.fromEntries(fields.map((field) => [field, all[field] ?? ""]));
}

function idOf({
  target,
  sandboxId,
  serverId,
}: Pick<IncidentTime, "target" | "sandboxId" | "serverId">) {
  return JSON.stringify([target, sandboxId, serverId]);
}

function toRow(
  group: GroupValues,
  { ms, unobservedMs, peaks, dwells }: NameAccount,
  observedMs: number,
  { incidents, recoveries }: IncidentCounts,
): Omit<ReportRow, "dwellsMs"> {
  const isObserved = observedMs > 0;
  return {
    group,
    ms,
    unobservedMs,
    isObserved,
    occupiedAverage: isObserved ? ms.occupied / observedMs : null,
    occupiedPeak: peaks && { count: peaks.occupied, isExact: true },
    serversAverage: isObserved ? countByStatus(ms) / observedMs : null,
    serversPeak: peaks && peaks.servers,
    dwells,
    incidents,
    recoveries,
  };
}
