import { z } from "zod";
import { serverMsOf } from "../../fleet/buckets.ts";
import { countDwells, dwellQuantile, meanDwellMs } from "../../fleet/dwell.ts";
import {
  faultOfSandboxFields,
  readFields,
  reportedKinds,
  withIdentity,
  type KnownField,
  type ReportField,
} from "../../reports/report-fields.ts";
import { openReport, type ReportQuery } from "../../reports/open-report.ts";
import { headroomOf, sharesOf, unobservedShareOf } from "../../reports/report-rows.ts";
import type { Report, ReportRow } from "../../reports/report-rows.ts";
import type { Zone } from "../../reports/zone.ts";
import type { HistoryContext } from "../context.ts";
import { limitOf, listed, nextField, cursorOf, cursorText, rangeFields } from "../fields.ts";
import { readRange, refuseField, sandboxText, serverText } from "../fields.ts";
import { targetFields, targetFilter, texts } from "../fields.ts";
import { defineQuery, readRequest } from "../operation.ts";
import { withLabelledKeys, type LabelledKey } from "../labelled-keys.ts";
import { timeText, toRatio, toSeconds } from "../view-fields.ts";

export const ofField = z
  .enum(reportedKinds)
  .default("servers")
  .describe("What is counted: servers or sandboxes");

export const reportRequest = z.strictObject({
  ...rangeFields,
  of: ofField,
  by: z
    .string()
    .optional()
    .transform((text, context) => {
      if (text === undefined) return undefined;
      const read = readFields(text);
      if ("fields" in read) return read.fields;
      context.addIssue({ code: "custom", message: read.allowed });
      return z.NEVER;
    }),
  ...targetFields,
  server: serverText.optional(),
  sandbox: sandboxText.optional(),
});
export type ReportRequest = z.input<typeof reportRequest>;

const number = z.number();
const nullable = number.nullable();

const measures = z.object({
  /** Shares of the servers' observed time, from 0 to 1. Null: none was observed. */
  occupied_share: nullable,
  idle_share: nullable,
  error_share: nullable,
  unknown_share: nullable,
  /** The unobserved share of all their time, and the observed one. Null: there were no servers. */
  unobserved_share: nullable,
  coverage: nullable,
  /** Server time: two servers for a second make two. */
  server_seconds: number,
  occupied_seconds: number,
  idle_seconds: number,
  error_seconds: number,
  unknown_seconds: number,
  unobserved_seconds: number,
  /** Of occupied servers during observed time. Null: no time was observed. */
  occupied_average: nullable,
  occupied_peak: nullable,
  /** False: the peak is an upper bound. */
  occupied_peak_exact: z.boolean().nullable(),
  /** Of all servers during observed time. The peak of several targets is the sum of what each had within an hour or day. */
  servers_average: nullable,
  servers_peak: nullable,
  /** The peak of servers less the peak of occupied servers. At least that many, where that peak is an upper bound. */
  headroom: nullable,
  /** Dwell times in `occupied`. */
  stays: number,
  stay_mean_seconds: nullable,
  /** Exact where both bounds are the same. A most that is null where the least is not: there is no bound. */
  stay_median_seconds: nullable,
  stay_median_least_seconds: nullable,
  stay_median_most_seconds: nullable,
  stay_p95_seconds: nullable,
  stay_p95_least_seconds: nullable,
  stay_p95_most_seconds: nullable,
  incidents: number,
  recoveries: number,
  /** The least is smaller where servers recovered while they were not observed. */
  recovery_mean_seconds: nullable,
  recovery_mean_least_seconds: nullable,
});

/** In the order of columns. */
export const measureNames = measures.keyof().options;

const label = z.string().optional();

/** Besides, the labels of keys that it is by. */
const labels = z.looseObject({
  region: label,
  key: label,
  server_name: label,
  benchmark: label,
  tag: label,
  sandbox: label,
  server: label,
  hour: label,
  day: label,
  week: label,
  month: label,
  weekday: label,
  hour_of_day: label,
} satisfies Record<KnownField, z.ZodType>);

const rowView = labels.extend(measures.shape);
export type RowView = z.output<typeof rowView>;

/** The value of a field that a report is by; "-": it is empty. */
export function groupText(row: RowView, field: string): string {
  const value = row[field];
  return typeof value === "string" && value !== "" ? value : "-";
}

const occupancyView = z.object({
  from: z.string(),
  to: z.string(),
  tz: z.string(),
  by: texts,
  rows: listed(rowView),
  notes: texts,
  next: nextField,
});
export type OccupancyView = z.output<typeof occupancyView>;

/** The last row of a page, in a report whose range stays that of the first page. */
const cursorSchema = z.object({
  fromMs: z.int(),
  toMs: z.int(),
  nowMs: z.int(),
  cellMs: z.int(),
  sandbox: z.object({ region: z.string(), key: z.string(), sandboxId: z.string() }).optional(),
  index: z.int(),
});

export const reportOccupancy = defineQuery({
  name: "reportOccupancy",
  isHeavy: true,
  path: "/occupancy",
  summary: "How occupied servers or sandboxes were, by time and then by the fields of `by`",
  request: reportRequest.extend({
    limit: limitOf(1_000, 10_000),
    cursor: cursorOf(cursorSchema),
  }),
  response: occupancyView,
  async handle({ reports, clock }: HistoryContext, { limit, cursor, ...rest }) {
    const query = toReportQuery(rest, cursor?.nowMs ?? clock.now().utcMs);
    const asked = cursor
      ? { ...query, range: { fromMs: cursor.fromMs, toMs: cursor.toMs }, after: cursor }
      : query;
    const report = await openReport(asked, reports);
    const rows: RowView[] = [];
    let next: string | null = null;
    let last: z.output<typeof cursorSchema> | null = null;
    for await (const { row, position } of report.rows) {
      if (rows.length === limit) {
        next = last && cursorText(last);
        break;
      }
      rows.push(viewRow(row));
      last = { ...asked.range, nowMs: asked.nowMs, ...position };
    }
    const head = reportHead(report, asked.zone);
    return { ...head, rows, notes: [...head.notes, ...(await report.coverageNotes())], next };
  },
});

/** @throws {RefusedError} when the request is not valid */
export function readReportQuery(
  request: ReportRequest,
  nowMs: number,
  keys: readonly LabelledKey[] = [],
): ReportQuery {
  return toReportQuery(withLabelledKeys(readRequest(reportRequest, request), keys), nowMs);
}

/** @throws {RefusedError} when one of them is of servers only */
export function refuseFieldsOfServers(by: readonly ReportField[]): void {
  const allowed = faultOfSandboxFields(by);
  if (allowed !== null) refuseField("by", allowed);
}

function toReportQuery(
  { of, from, to, by, tz: zone, region, key, server, sandbox }: z.output<typeof reportRequest>,
  nowMs: number,
): ReportQuery {
  const isOne = server !== undefined || sandbox !== undefined;
  const one = of === "servers" ? "server" : "sandbox";
  const fields = by ?? withIdentity(isOne ? [one] : ["region", "key"]);
  if (of === "sandboxes") {
    refuseFieldsOfServers(fields);
    if (server !== undefined) refuseField("server", "only of servers");
  }
  if (isOne && !fields.includes("sandbox"))
    refuseField("by", "server or sandbox, where server or sandbox is set");
  const range = readRange({ from, to }, { nowMs, zone });
  const filter = targetFilter({ region, key });
  const only = isOne ? { server, sandbox } : undefined;
  return { of, range, fields, zone, filter, only, nowMs, after: null };
}

export function reportHead(
  { range, fields, notes }: Report,
  zone: Zone,
): Omit<OccupancyView, "rows" | "next"> {
  const { fromMs, toMs } = range;
  return { from: timeText(fromMs), to: timeText(toMs), tz: zone.name, by: fields, notes };
}

export function viewRow(row: ReportRow): RowView {
  const { group, ms, unobservedMs, occupiedAverage, occupiedPeak, dwells, recoveries } = row;
  const shares = sharesOf(row);
  const unobservedShare = unobservedShareOf(row);
  const dwellsMs = row.dwellsMs.toSorted((one, other) => one - other);
  const [median, p95] = [0.5, 0.95].map((share) => dwellQuantile(dwells, share, dwellsMs));
  const mean = (sumMs: number) => (recoveries.count === 0 ? null : sumMs / recoveries.count);
  return {
    ...group,
    occupied_share: toRatio(shares?.occupied ?? null),
    idle_share: toRatio(shares?.idle ?? null),
    error_share: toRatio(shares?.error ?? null),
    unknown_share: toRatio(shares?.unknown ?? null),
    unobserved_share: toRatio(unobservedShare),
    coverage: toRatio(unobservedShare === null ? null : 1 - unobservedShare),
    server_seconds: toSeconds(serverMsOf(row)),
    occupied_seconds: toSeconds(ms.occupied),
    idle_seconds: toSeconds(ms.idle),
    error_seconds: toSeconds(ms.error),
    unknown_seconds: toSeconds(ms.unknown),
    unobserved_seconds: toSeconds(unobservedMs),
    occupied_average: toRatio(occupiedAverage),
    occupied_peak: occupiedPeak?.count ?? null,
    occupied_peak_exact: occupiedPeak?.isExact ?? null,
    servers_average: toRatio(row.serversAverage),
    servers_peak: row.serversPeak,
    headroom: headroomOf(row),
    stays: countDwells(dwells),
    stay_mean_seconds: toSeconds(meanDwellMs(dwells)),
    stay_median_seconds: toSeconds(median?.ms ?? null),
    stay_median_least_seconds: toSeconds(median?.leastMs ?? null),
    stay_median_most_seconds: toSeconds(median?.mostMs ?? null),
    stay_p95_seconds: toSeconds(p95?.ms ?? null),
    stay_p95_least_seconds: toSeconds(p95?.leastMs ?? null),
    stay_p95_most_seconds: toSeconds(p95?.mostMs ?? null),
    incidents: row.incidents,
    recoveries: recoveries.count,
    recovery_mean_seconds: toSeconds(mean(recoveries.mostMs)),
    recovery_mean_least_seconds: toSeconds(mean(recoveries.leastMs)),
  };
}
