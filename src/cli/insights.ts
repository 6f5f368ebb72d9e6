import type { Command } from "commander";
import { computeInsights } from "../api/operations/insights.ts";
import type { InsightsView } from "../api/operations/insights.ts";
import { atHistory } from "./call.ts";
import type { ApiOptions } from "./call.ts";
import { apiOptions } from "./options.ts";
import { show } from "./output.ts";
import { countText, durationText, shareText } from "./report/quantities.ts";
import { renderTable, shortId } from "./table.ts";
import type { Terminal } from "./terminal.ts";

interface InsightsOptions extends ApiOptions {
  readonly from?: string;
  readonly to?: string;
  readonly tz?: string;
  readonly region?: string;
  readonly key?: string;
  readonly threshold?: string;
}

export function addInsights(program: Command, terminal: Terminal): void {
  apiOptions(program.command("insights"))
    .description("show the busiest hour, most frequent errors, long occupations and a forecast")
    .option("--from <time>", "the start, as for a report (default: 28d)")
    .option("--to <time>", "the end (default: now, or the end of the period that --from names)")
    .option("--tz <zone>", "the time zone of hours, such as Europe/Berlin (default: UTC)")
    .option("--region <names>", "only these regions, separated by commas")
    .option("--key <names>", "only these keys, separated by commas")
    .option("--threshold <share>", "the occupied share that the forecast is about (default: 0.9)")
    .action((options: InsightsOptions) => insights(options, terminal));
}

export async function insights(options: InsightsOptions, terminal: Terminal): Promise<void> {
  const { from, to, tz, region, key, threshold } = options;
  const request = { from, to, tz, region, key, threshold };
  await atHistory(options, terminal, async ({ api }) => {
    const view = await api(computeInsights, request);
    show(view, options, terminal, (found) => inWords(found, terminal.columns));
  });
}

const margin = "  ";

function inWords(view: InsightsView, columns?: number): string {
  const room = columns === undefined ? undefined : columns - margin.length;
  // Figures come first: lines are cut at their ends, and a name can be of any length.
  const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
    rows.length === 0 ? "none\n" : renderTable(head, rows, room);
  const place = ({ region, key }: { readonly region: string; readonly key: string }): string =>
    `${region}/${key}`;
  const errantHead = ["errors", "in error", "target", "name", "server"];
  const errantRows = (servers: InsightsView["erred_longest"]): readonly (readonly string[])[] =>
    servers.map((server) => [
      countText(server.errors),
      durationText(server.error_seconds),
      place(server),
      server.server_name ?? "",
      shortId(server.server_id),
    ]);
  const sections: readonly (readonly [string, string])[] = [
    ["Busiest hour of the week", `${busiestText(view)}\n`],
    ["Forecast", `${forecastText(view.forecast)}\n`],
    [
      "Names without an idle server",
      table(
        ["for", "in hours", "target", "name"],
        view.ran_out.map((name) => [
          durationText(name.exhausted_seconds),
          countText(name.hours),
          place(name),
          name.server_name,
        ]),
      ),
    ],
    ["Servers with the most errors", table(errantHead, errantRows(view.erred_most_often))],
    ["Servers with the longest errors", table(errantHead, errantRows(view.erred_longest))],
    [
      "Occupied for longer than usual for the name",
      table(
        ["for", "usually under", "target", "name", "server"],
        view.occupied_long.map((server) => [
          `${server.exact ? "" : "at least "}${durationText(server.occupied_seconds)}`,
          durationText(server.usual_seconds),
          place(server),
          server.server_name ?? "",
          shortId(server.server_id),
        ]),
      ),
    ],
  ];
  const head = `From ${view.from} to ${view.to} (hours in ${view.tz})\n`;
  return head + sections.map(([title, text]) => `\n${title}\n${indent(text)}`).join("");
}

function indent(text: string): string {
  return text.replaceAll(/^(?=.)/gm, margin);
}

function busiestText({ busiest_hour: busiest }: InsightsView): string {
  if (!busiest) return "unknown: not every hour of a week was observed";
  const { weekday, hour, occupied_share: share, weeks } = busiest;
  const of = `${weeks} ${weeks === 1 ? "week" : "weeks"}`;
  return `${weekday} ${String(hour).padStart(2, "0")}:00, ${shareText(share)} occupied (of ${of})`;
}

const reasons = {
  too_little: "none: fewer than four consecutive weeks were observed sufficiently",
  passed_already: "none: the last week was already above it",
  no_rise: "none: there is no significant rise",
  too_far: "none: at this rate it is further ahead than the weeks that the forecast is based on",
} as const;

function forecastText({
  threshold,
  passes_at: passesAt,
  rise_per_week: rise,
  reason,
}: InsightsView["forecast"]): string {
  const about = `${shareText(threshold)} occupied: `;
  if (reason !== null) return about + reasons[reason];
  return `${about}around ${passesAt?.slice(0, 10) ?? ""}, at ${shareText(rise)} more per week`;
}
