import { Option, type Command } from "commander";
import { computeInsights } from "../api/operations/insights.ts";
import type { InsightsView } from "../api/operations/insights.ts";
import { computeOutlook, outlookColumns } from "../api/operations/outlook.ts";
import { targetName } from "../fleet/model.ts";
import { counted } from "../fleet/text.ts";
import { apiCommand } from "./api-command.ts";
import { readHistory } from "./call-api.ts";
import { isLabel, poolFields, reportedKinds } from "../reports/report-fields.ts";
import { labelHelp, WordsOption } from "./options.ts";
import { linesText, show, showNotes } from "./output.ts";
import { csvTable } from "./report/json-csv.ts";
import { countText, durationText, riseText, shareText } from "../reports/quantities.ts";
import { noIdleText, runsOutText, dwellText } from "../api/figures.ts";
import { printableLines } from "../lib/printable.ts";
import { lookOf } from "./look.ts";
import { renderTable } from "./table.ts";
import type { Columns } from "./table.ts";
import type { Terminal } from "./terminal.ts";

export function addInsights(program: Command, terminal: Terminal): void {
  apiCommand(
    program.command("insights"),
    "show when servers or sandboxes run out, busy hours, errors and long occupations",
  )
    .option("--from <time>", "the start, as for a report (default: 28d)")
    .option("--to <time>", "the end (default: now, or the end of the period that --from names)")
    .option("--tz <zone>", "the time zone of hours, such as Europe/Berlin (default: UTC)")
    .option("--region <names>", "only these regions, separated by commas")
    .option("--key <names>", "only these keys, separated by commas")
    .option("--label <labels>", labelHelp)
    .addOption(
      new Option("--of <what>", "what is counted (default: servers)").choices(reportedKinds),
    )
    .addOption(
      new WordsOption(
        "--by <fields>",
        "the pools, separated by commas, also labels of keys such as team (default: region,key,server_name; of sandboxes: region,key,benchmark)",
        poolFields,
        isLabel,
      ),
    )
    .option("--threshold <share>", "the occupied share that is forecast of averages (default: 0.9)")
    .addOption(
      new Option("--format <format>", "the output format; csv has a row for each pool")
        .choices(["table", "csv"])
        .conflicts("json"),
    )
    .action(async ({ config, url, json, tokenFile, format, ...request }) => {
      const options = { config, url, json, tokenFile };
      await readHistory(options, terminal, async ({ api }) => {
        if (format === "csv") {
          const { pools, further } = await api(computeOutlook, request);
          const labels = String(request.by ?? "")
            .split(",")
            .filter((field) => field !== "" && isLabel(field));
          terminal.out(printableLines(csvTable(pools, [...labels, ...outlookColumns])));
          return showNotes(further > 0 ? [`${further} more pools are not listed.`] : [], terminal);
        }
        const view = await api(computeInsights, request);
        show(view, options, terminal, (each) => insightsText(each, terminal));
      });
    });
}

function insightsText(view: InsightsView, terminal: Terminal): string {
  const look = lookOf(terminal);
  const table = <Item>(items: readonly Item[], columns: Columns<Item>): string =>
    items.length === 0 ? "none\n" : renderTable(items, columns, look);
  const ofServers = view.of === "servers";
  const units = ofServers ? "Servers" : "Sandboxes";
  const unitColumns = unitColumnsOf[view.of];
  const errorColumns: Columns<InsightsView["erred_longest"][number]> = {
    errors: (each) => countText(each.errors),
    "in error": (each) => durationText(each.error_seconds),
    ...unitColumns,
  };
  const sections = {
    "When do we run out?": runOutText(view, table),
    "Busiest hour of the week": `${busiestText(view)}\n`,
    [ofServers ? "Names without an idle server" : "Benchmarks without an idle sandbox"]: table(
      view.ran_out,
      {
        for: (name) => durationText(name.exhausted_seconds),
        "in hours": (name) => countText(name.hours),
        target: targetName,
        [ofServers ? "name" : "benchmark"]: (name) => valueText(name.server_name ?? name.benchmark),
      },
    ),
    [`${units} with the most errors`]: table(view.erred_most_often, errorColumns),
    [`${units} with the longest errors`]: table(view.erred_longest, errorColumns),
    [`Occupied for longer than usual for the ${ofServers ? "name" : "benchmark"}`]: table(
      view.occupied_long,
      {
        for: ({ exact, occupied_seconds: seconds }) =>
          `${exact ? "" : "at least "}${durationText(seconds)}`,
        "usually under": ({
          usual_seconds,
          usual_least_seconds: least,
          usual_most_seconds: most,
        }) => dwellText({ seconds: usual_seconds, least, most }, terminal.isUnicode === true),
        ...unitColumns,
      },
    ),
  };
  const parts = Object.entries(sections).map(
    ([title, text]) => `\n${look.paint("bold", `# ${title}`)}\n${text}`,
  );
  return `${look.paint("bold", view.answer)}\nFrom ${view.from} to ${view.to} (hours in ${view.tz})\n${parts.join("")}`;
}

type ListedUnit = InsightsView["erred_longest" | "occupied_long"][number];

const unitColumnsOf: Readonly<Record<InsightsView["of"], Columns<ListedUnit>>> = {
  servers: { target: targetName, name: "server_name", server: "server_id" },
  sandboxes: { target: targetName, sandbox: "sandbox_id" },
};

function busiestText({ busiest_hour: busiest }: InsightsView): string {
  if (!busiest) return "unknown: not every hour of a week was observed";
  const { weekday, hour, occupied_share: share, weeks } = busiest;
  const time = `${weekday} ${String(hour).padStart(2, "0")}:00`;
  return `${time}, ${shareText(share)} occupied (of ${counted(weeks, "week")})`;
}

/** An empty one is written as in reports. */
function valueText(value: string | undefined): string | undefined {
  return value === "" ? "-" : value;
}

/** Further ones have nothing to say that is urgent. */
const mostPools = 10;
const mostAnswers = 3;

type Pool = InsightsView["forecasts"][number];

function runOutText(
  { of, forecasts }: InsightsView,
  table: (items: readonly Pool[], columns: Columns<Pool>) => string,
): string {
  const rows = table(forecasts.slice(0, mostPools), {
    "runs out": runsOutText,
    [of]: ({ servers }) => countText(servers),
    free: (pool) => `${pool.exact ? "" : ">="}${countText(pool.headroom)}`,
    "none idle": noIdleText,
    "±/week": ({ peak_rise_per_week: rise }) => riseText(rise),
    target: ({ region, key }) => [region, key].filter((each) => each !== undefined).join("/"),
    pool: ({ server_name: name, benchmark, tag }) => valueText(name ?? benchmark ?? tag),
  });
  const answers = forecasts
    .slice(0, mostAnswers)
    .map(({ answer, notes }) => `\n${linesText([answer, ...notes.map((note) => `  ${note}`)])}`);
  return `${rows}${answers.join("")}`;
}
