import { systemClock } from "../platform/clock.ts";
import { tellInsights } from "../reports/insights/tell-insights.ts";
import type { InsightsRequest } from "../reports/insights/tell-insights.ts";
import type { InsightsView } from "../reports/insights/view.ts";
import { createDeskClient } from "./desk-client.ts";
import type { DeskOptions } from "./reach-desk.ts";
import { show } from "./reach-desk.ts";
import { atHistory } from "./reach-history.ts";
import { countText, durationText, shareText } from "./report/quantities.ts";
import { renderTable, shortId } from "./table.ts";
import type { Terminal } from "./terminal.ts";

export interface InsightsOptions extends DeskOptions {
  readonly from?: string;
  readonly to?: string;
  readonly tz?: string;
  readonly region?: string;
  readonly key?: string;
  readonly threshold?: string;
}

/**
 * What stands out in the history.
 *
 * @throws {CommandError} when it cannot be told
 */
export async function insights(options: InsightsOptions, terminal: Terminal): Promise<void> {
  const tell = (view: InsightsView): void =>
    show(view, options, terminal, (told) => inWords(told, terminal.columns));
  const request = requestOf(options);
  await atHistory(options, terminal, {
    byStore: async (sources) => tell(await tellInsights(request, sources, systemClock.now().utcMs)),
    byDaemon: async (address) => tell(await createDeskClient(address).insights(request)),
  });
}

function requestOf({ from, to, tz, region, key, threshold }: InsightsOptions): InsightsRequest {
  return {
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
    ...(tz !== undefined && { tz }),
    ...(region !== undefined && { region }),
    ...(key !== undefined && { key }),
    ...(threshold !== undefined && { threshold }),
  };
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
    ["Servers that erred most often", table(errantHead, errantRows(view.erred_most_often))],
    ["Servers in error for the longest", table(errantHead, errantRows(view.erred_longest))],
    [
      "Occupied for longer than is usual for the name",
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
  if (!busiest) return "not known: not every hour of a week was watched";
  const { weekday, hour, occupied_share: share, weeks } = busiest;
  const of = `${weeks} ${weeks === 1 ? "week" : "weeks"}`;
  return `${weekday} ${String(hour).padStart(2, "0")}:00, ${shareText(share)} occupied (of ${of})`;
}

const reasons = {
  too_little: "none: fewer than four whole weeks in a row were watched well enough",
  passed_already: "none: the last week was above it already",
  no_rise: "none: there is no rise that could not be chance",
  too_far: "none: at this pace it is further ahead than these weeks can tell",
} as const;

function forecastText({
  threshold,
  passes_at: passesAt,
  rise_per_week: rise,
  reason,
}: InsightsView["forecast"]): string {
  const about = `${shareText(threshold)} occupied: `;
  if (reason !== null) return about + reasons[reason];
  return `${about}around ${passesAt?.slice(0, 10) ?? ""}, going on with ${shareText(rise)} more a week`;
}
