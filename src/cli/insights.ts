import type { Command } from "commander";
import { computeInsights } from "../api/operations/insights.ts";
import type { InsightsView } from "../api/operations/insights.ts";
import { targetName } from "../fleet/model.ts";
import { counted } from "../fleet/plural.ts";
import { apiCommand } from "./api-command.ts";
import { readHistory } from "./call-api.ts";
import { poolFields } from "../reports/report-fields.ts";
import { WordsOption } from "./options.ts";
import { show } from "./output.ts";
import { countText, durationText, forecastDateText, shareText } from "../reports/quantities.ts";
import { lookOf, type Look } from "./look.ts";
import { renderTable } from "./table.ts";
import type { Columns } from "./table.ts";
import type { Terminal } from "./terminal.ts";

export function addInsights(program: Command, terminal: Terminal): void {
  apiCommand(program.command("insights"), "show busy hours, errors, long occupations, a forecast")
    .option("--from <time>", "the start, as for a report (default: 28d)")
    .option("--to <time>", "the end (default: now, or the end of the period that --from names)")
    .option("--tz <zone>", "the time zone of hours, such as Europe/Berlin (default: UTC)")
    .option("--region <names>", "only these regions, separated by commas")
    .option("--key <names>", "only these keys, separated by commas")
    .addOption(
      new WordsOption(
        "--by <fields>",
        "the pools of forecasts, separated by commas (default: server_name)",
        poolFields,
      ),
    )
    .option("--threshold <share>", "the occupied share that the forecast is about (default: 0.9)")
    .action(async ({ config, url, json, tokenFile, ...request }) => {
      const options = { config, url, json, tokenFile };
      await readHistory(options, terminal, async ({ api }) => {
        const view = await api(computeInsights, request);
        show(view, options, terminal, (each) => insightsText(each, lookOf(terminal)));
      });
    });
}

function insightsText(view: InsightsView, look: Look): string {
  const table = <Item>(items: readonly Item[], columns: Columns<Item>): string =>
    items.length === 0 ? "none\n" : renderTable(items, columns, look);
  const sections = {
    "Busiest hour of the week": `${busiestText(view)}\n`,
    "Forecast of all servers": `${forecastText(view.forecast)}\n`,
    "Forecast by pool": table(view.forecasts.slice(0, mostPools), {
      "last week": ({ level }) => shareText(level),
      "per week": ({ rise_per_week: rise }) => riseText(rise),
      [`${shareText(view.forecast.threshold)} occupied`]: forecastDateText,
      pool: ({ region, key, server_name: name }) =>
        [region, key, name].filter((each) => each !== undefined).join("/"),
    }),
    "Names without an idle server": table(view.ran_out, {
      for: (name) => durationText(name.exhausted_seconds),
      "in hours": (name) => countText(name.hours),
      target: targetName,
      name: "server_name",
    }),
    "Servers with the most errors": table(view.erred_most_often, errorColumns),
    "Servers with the longest errors": table(view.erred_longest, errorColumns),
    "Occupied for longer than usual for the name": table(view.occupied_long, {
      for: ({ exact, occupied_seconds: seconds }) =>
        `${exact ? "" : "at least "}${durationText(seconds)}`,
      "usually under": (server) => durationText(server.usual_seconds),
      ...serverColumns,
    }),
  };
  const parts = Object.entries(sections).map(
    ([title, text]) => `\n${look.paint("bold", `# ${title}`)}\n${text}`,
  );
  return `From ${view.from} to ${view.to} (hours in ${view.tz})\n${parts.join("")}`;
}

const serverColumns: Columns<InsightsView["erred_longest" | "occupied_long"][number]> = {
  target: targetName,
  name: "server_name",
  server: "server_id",
};

const errorColumns: Columns<InsightsView["erred_longest"][number]> = {
  errors: (server) => countText(server.errors),
  "in error": (server) => durationText(server.error_seconds),
  ...serverColumns,
};

function busiestText({ busiest_hour: busiest }: InsightsView): string {
  if (!busiest) return "unknown: not every hour of a week was observed";
  const { weekday, hour, occupied_share: share, weeks } = busiest;
  const time = `${weekday} ${String(hour).padStart(2, "0")}:00`;
  return `${time}, ${shareText(share)} occupied (of ${counted(weeks, "week")})`;
}

/** Further ones have nothing to say that is urgent. */
const mostPools = 10;

type ForecastView = InsightsView["forecast"];

function riseText(rise: number | null): string {
  if (rise === null) return "-";
  return `${rise < 0 ? "-" : "+"}${shareText(Math.abs(rise))}`;
}

function forecastText(forecast: ForecastView): string {
  const { threshold, level, rise_per_week: rise } = forecast;
  const trend =
    rise === null ? "" : `; ${shareText(level)} in the last week, ${riseText(rise)} per week`;
  return `${shareText(threshold)} occupied: ${forecastDateText(forecast)}${trend}`;
}
