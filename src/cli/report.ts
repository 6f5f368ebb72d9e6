import { closeSync, openSync, writeFileSync } from "node:fs";
import { Option } from "commander";
import type { Command } from "commander";
import type { HistoryContext } from "../api/context.ts";
import type { CallApi } from "../api/operation.ts";
import {
  readReportQuery,
  reportHead,
  reportOccupancy,
  viewRow,
} from "../api/operations/occupancy.ts";
import type { ReportRequest, RowView } from "../api/operations/occupancy.ts";
import { computeOutlook } from "../api/operations/outlook.ts";
import { resolutions } from "../fleet/buckets.ts";
import type { Resolution } from "../fleet/buckets.ts";
import { asError } from "../lib/as-error.ts";
import type { Clock } from "../lib/clock.ts";
import { printableLine, printableLines } from "../lib/printable.ts";
import { openMetricsOf } from "../reports/openmetrics.ts";
import { openReport } from "../reports/open-report.ts";
import { apiCommand } from "./api-command.ts";
import { readHistory } from "./call-api.ts";
import type { ApiOptions } from "./call-api.ts";
import { CommandError, wrongUse } from "./exit-codes.ts";
import { isLabel, reportedKinds, reportFields } from "../reports/report-fields.ts";
import { labelHelp, WordsOption } from "./options.ts";
import { showNotes } from "./output.ts";
import { htmlReport } from "../web/pages/html-report.ts";
import { csvOf, jsonOf } from "./report/json-csv.ts";
import { tableOf } from "./report/table.ts";
import type { StreamedReport, Texts } from "./report/json-csv.ts";
import type { LabelledKey } from "../api/labelled-keys.ts";
import type { Terminal } from "./terminal.ts";

const reportFormats = ["table", "csv", "json", "html", "openmetrics"] as const;
type ReportFormat = (typeof reportFormats)[number];

export interface ReportOptions extends ApiOptions, ReportRequest {
  readonly format?: ReportFormat;
  readonly resolution?: Resolution;
  readonly threshold?: string;
  readonly output?: string;
}

export function addReport(program: Command, terminal: Terminal): void {
  apiCommand(program.command("report"), "report occupancy and errors of servers or sandboxes")
    .requiredOption(
      "--from <time>",
      "the start: a time, a duration ago or a period, as in last week",
    )
    .option("--to <time>", "the end (default: now, or the end of the period that --from names)")
    .addOption(
      new WordsOption(
        "--by <fields>",
        "what rows are by, separated by commas, also labels of keys such as team; sandbox and server only without times, benchmark and tag (default: region,key)",
        reportFields,
        isLabel,
      ),
    )
    .addOption(
      new Option("--of <what>", "what is counted (default: servers)").choices(reportedKinds),
    )
    .option("--tz <zone>", "the time zone of hours and days, such as Europe/Berlin (default: UTC)")
    .option("--region <names>", "only these regions, separated by commas")
    .option("--key <names>", "only these keys, separated by commas")
    .option("--label <labels>", labelHelp)
    .option("--server <id>", "only this server: its id, how it begins, or a name")
    .option("--sandbox <id>", "only this sandbox, or its servers: its id, or how it begins")
    .addOption(
      new Option(
        "--format <format>",
        "the output format; html is a page with charts, openmetrics is to backfill Prometheus",
      )
        .choices(reportFormats)
        .conflicts("json"),
    )
    .addOption(
      new Option("--resolution <size>", "the interval of the samples of openmetrics (default: 1h)")
        .choices(resolutions)
        .implies({ format: "openmetrics" }),
    )
    .addOption(
      new Option(
        "--threshold <share>",
        "the occupied share that the forecast of html is about (default: 0.9)",
      ).implies({ format: "html" }),
    )
    .option("--output <file>", "write to this file instead of standard output")
    .action((options: ReportOptions) => report(options, terminal));
}

/** @param clock replaced in tests */
export async function report(
  options: ReportOptions,
  terminal: Terminal,
  clock?: Clock,
): Promise<void> {
  const format = options.json ? "json" : (options.format ?? "table");
  const { of, from, to, by, tz, region, key, label, server, sandbox } = options;
  const { resolution, threshold } = options;
  const isOne = (server ?? sandbox) !== undefined;
  if (threshold !== undefined && format !== "html") {
    throw wrongUse("--threshold is for --format html only.");
  }
  if (resolution && format !== "openmetrics") {
    throw wrongUse("--resolution is for --format openmetrics only.");
  }
  const request = { of, from, to, by, tz, region, key, label, server, sandbox };
  // These escape control characters themselves, or must not.
  const isRaw = format === "openmetrics" || format === "html";
  using file = options.output === undefined ? null : openOutput(options.output, isRaw);
  // Only tables are in colour.
  const print = (text: string): void =>
    terminal.out(format === "csv" ? printableLines(text) : text);
  const output = file?.write ?? (isRaw ? terminal.data : print);
  await readHistory({ ...options, clock }, terminal, async ({ api, context, keys = [] }) => {
    if (format === "openmetrics") {
      if ((by ?? tz ?? server ?? sandbox ?? options.url) !== undefined)
        throw wrongUse(openmetricsUse);
      if (!context) throw new CommandError("There is no store on this machine to read.");
      const nowMs = context.clock.now().utcMs;
      const { range, filter, of: kind } = readReportQuery(request, nowMs, keys);
      const texts = openMetricsOf(
        { of: kind, range, filter, nowMs, resolution: resolution ?? "1h" },
        context.reports.occupancy,
      );
      return write(texts, terminal, output);
    }
    if (format === "html") {
      const { text, notes } = await htmlReport(api, { ...request, threshold });
      await write([text], terminal, output);
      return showNotes(notes, terminal);
    }
    const streamed = context
      ? await fromStore(request, context, keys)
      : await byPages(request, api);
    // A file is no screen.
    const screen = file ? { ...terminal, columns: undefined, isColored: false } : terminal;
    await write(formats[format](streamed, screen), terminal, output);
    if (format !== "json")
      showNotes([...streamed.notes, ...(await streamed.coverageNotes())], terminal);
    // It takes longer than the rows, and people read it below them.
    if (format === "table" && screen.columns !== undefined && !isOne) {
      const { answer } = await api(computeOutlook, {
        of,
        from,
        to,
        tz,
        region,
        key,
        label,
      });
      terminal.out(`${printableLine(answer)}\n`);
    }
  });
}

async function fromStore(
  request: ReportRequest,
  { reports, clock }: HistoryContext,
  keys: readonly LabelledKey[],
): Promise<StreamedReport> {
  const query = readReportQuery(request, clock.now().utcMs, keys);
  const opened = await openReport(query, reports);
  async function* rows(): AsyncIterable<RowView> {
    for await (const { row } of opened.rows) yield viewRow(row);
  }
  const { coverageNotes } = opened;
  return { ...reportHead(opened, query.zone), rows: rows(), coverageNotes };
}

const rowsAtOnce = 5_000;

/** A response is held in memory as a whole, so the daemon is asked for a page at a time. */
async function byPages(
  request: ReportRequest,
  api: CallApi<HistoryContext>,
): Promise<StreamedReport> {
  const page = { ...request, limit: rowsAtOnce };
  const { rows: firstRows, next: second, ...head } = await api(reportOccupancy, page);
  async function* rows(): AsyncIterable<RowView> {
    yield* firstRows;
    for (let cursor = second; cursor !== null;) {
      const { rows: more, next } = await api(reportOccupancy, { ...page, cursor });
      yield* more;
      cursor = next;
    }
  }
  // The first page has them.
  return { ...head, rows: rows(), coverageNotes: async () => [] };
}

const openmetricsUse =
  "--format openmetrics reads the store itself, and has the labels of the metrics and times in UTC: omit --url, --by, --tz, --server and --sandbox.";

const formats: Record<
  Exclude<ReportFormat, "openmetrics" | "html">,
  (streamed: StreamedReport, terminal: Terminal) => Texts
> = { csv: csvOf, json: jsonOf, table: tableOf };

const charactersAtOnce = 64 * 1_024;

/** A file that is opened when there is something to be written: what it held stays if there is no report. */
function openOutput(path: string, isRaw: boolean) {
  let file: number | null = null;
  return {
    write(this: void, text: string): void {
      try {
        file ??= openSync(path, "w");
        writeFileSync(file, isRaw ? text : printableLines(text));
      } catch (error) {
        throw new CommandError(`${path} cannot be written: ${asError(error).message}`);
      }
    },
    [Symbol.dispose](): void {
      if (file !== null) closeSync(file);
    },
  };
}

/** Writes many lines at a time: each write is a system call. */
async function write(
  texts: Texts | Iterable<string>,
  terminal: Terminal,
  out: Terminal["out"] = terminal.out,
): Promise<void> {
  let gathered = "";
  for await (const text of texts) {
    gathered += text;
    if (gathered.length < charactersAtOnce) continue;
    out(gathered);
    gathered = "";
    await terminal.drained?.();
  }
  out(gathered);
}
