import type { Resolution } from "../fleet/buckets.ts";
import { systemClock } from "../platform/clock.ts";
import type { Clock } from "../platform/clock.ts";
import { openMetricsOf } from "../reports/openmetrics.ts";
import { openReport } from "../reports/open-report.ts";
import { headOf, readReportQuery } from "../reports/report-desk.ts";
import type { OccupancyQuery, ReportRequest } from "../reports/report-desk.ts";
import type { ReportSources } from "../reports/sources.ts";
import { viewRow } from "../reports/view.ts";
import type { RowView } from "../reports/view.ts";
import { createDeskClient } from "./desk-client.ts";
import { CommandError, exitCodes } from "./exit-codes.ts";
import type { DeskOptions } from "./reach-desk.ts";
import { atHistory } from "./reach-history.ts";
import { csvOf } from "./report/csv.ts";
import { jsonOf } from "./report/json.ts";
import { tableOf } from "./report/table.ts";
import type { Texts, ToldReport } from "./report/told-report.ts";
import { printable } from "./table.ts";
import type { Terminal } from "./terminal.ts";

const reportFormats = ["table", "csv", "json", "openmetrics"] as const;
export type ReportFormat = (typeof reportFormats)[number];

export interface ReportOptions extends DeskOptions {
  readonly from: string;
  readonly to?: string;
  readonly by?: string;
  readonly tz?: string;
  readonly region?: string;
  readonly key?: string;
  readonly format?: ReportFormat;
  readonly resolution?: Resolution;
}

const rowsAtOnce = 5_000;

/**
 * How busy servers were.
 *
 * @throws {CommandError} when it cannot be told
 */
export async function report(
  options: ReportOptions,
  terminal: Terminal,
  clock: Clock = systemClock,
): Promise<void> {
  const format = options.json ? "json" : (options.format ?? "table");
  checkOptions(options, format);
  const telling = { options, format, terminal, clock };
  await atHistory(options, terminal, {
    byStore: (sources) => tellByStore(sources, telling),
    byDaemon: format === "openmetrics" ? null : (address) => tellByDaemon(address, telling),
  });
}

function checkOptions({ by, tz, resolution, url }: ReportOptions, format: ReportFormat): void {
  if (format !== "openmetrics") {
    if (resolution !== undefined) throw wrongUse("--resolution is for --format openmetrics alone.");
    return;
  }
  if (by !== undefined || tz !== undefined) {
    throw wrongUse(
      "--format openmetrics has the labels of the metrics, and times in UTC: leave out --by and --tz. How far apart samples are is said by --resolution.",
    );
  }
  if (url !== undefined) {
    throw wrongUse(
      "--format openmetrics is made of the store itself: give --config instead of --url.",
    );
  }
}

function wrongUse(message: string): CommandError {
  return new CommandError(message, exitCodes.wrongUse);
}

interface Telling {
  readonly options: ReportOptions;
  readonly format: ReportFormat;
  readonly terminal: Terminal;
  readonly clock: Clock;
}

async function tellByStore(
  sources: ReportSources,
  { options, format, terminal, clock }: Telling,
): Promise<void> {
  const nowMs = clock.now().utcMs;
  const query = readReportQuery(requestOf(options), nowMs);
  if (format === "openmetrics") {
    const { range, filter } = query;
    const asked = { range, filter, nowMs, resolution: options.resolution ?? "1h" };
    await write(openMetricsOf(asked, sources.occupancy), terminal);
    return;
  }
  const opened = await openReport(query, sources);
  async function* rows(): AsyncIterable<RowView> {
    for await (const { row } of opened.rows) yield viewRow(row);
  }
  await tell({ ...headOf(opened, query.zone), rows: rows() }, format, terminal);
}

/** A page after the other: an answer is held as a whole, here and there. */
async function tellByDaemon(
  address: string,
  { options, format, terminal }: Telling,
): Promise<void> {
  const desk = createDeskClient(address);
  const query: OccupancyQuery = { ...requestOf(options), limit: rowsAtOnce };
  const { rows: firstRows, next: second, ...head } = await desk.occupancy(query);
  async function* rows(): AsyncIterable<RowView> {
    yield* firstRows;
    for (let cursor = second; cursor !== null;) {
      const page = await desk.occupancy({ ...query, cursor });
      yield* page.rows;
      cursor = page.next;
    }
  }
  await tell({ ...head, rows: rows() }, format, terminal);
}

function requestOf({ from, to, by, tz, region, key }: ReportOptions): ReportRequest {
  return {
    from,
    ...(to !== undefined && { to }),
    ...(by !== undefined && { by }),
    ...(tz !== undefined && { tz }),
    ...(region !== undefined && { region }),
    ...(key !== undefined && { key }),
  };
}

async function tell(told: ToldReport, format: ReportFormat, terminal: Terminal): Promise<void> {
  await write(textsOf(told, format, terminal), terminal);
  if (format === "json") return;
  for (const note of told.notes) terminal.err(`note: ${printable(note)}\n`);
}

function textsOf(told: ToldReport, format: ReportFormat, terminal: Terminal): Texts {
  switch (format) {
    case "json":
      return jsonOf(told);
    case "csv":
      return csvOf(told);
    case "table":
      return tableOf(told, { columns: terminal.columns, isUnicode: terminal.isUnicode ?? false });
    case "openmetrics":
      throw new TypeError("OpenMetrics is not made of rows");
  }
}

const charactersAtOnce = 64 * 1_024;

/** Many lines at a time: each write is a call of the system. */
async function write(texts: Texts, terminal: Terminal): Promise<void> {
  let gathered = "";
  for await (const text of texts) {
    gathered += text;
    if (gathered.length < charactersAtOnce) continue;
    terminal.out(gathered);
    gathered = "";
    await terminal.drained?.();
  }
  terminal.out(gathered);
}
