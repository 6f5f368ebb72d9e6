import type { Row } from "./dashboard.ts";
import { statusColours, statusMapping } from "./colours.ts";
import { toServerOfRow, toServerOfSeries } from "./links.ts";
import { lines, timeline } from "./panels.ts";
import { identity, increase, named, ofName, ofTarget, series, statusNumber } from "./promql.ts";
import { sandboxes, servers } from "./promql.ts";
import { table } from "./tables.ts";

/** Servers in error at the end of the time range. */
const ofErring = 'server=~"$erring"';

/** Adds a server's name; only those that were chosen have one. */
const withName = `* on (${identity}) group_left (server_name)
    max by (${identity}, server_name) (${series("sandbox_server_info", ofName, ofErring)})`;

const perServerOnly = "Needs series per server: empty with metrics.per_server off.";
const inError = 'status="error"';

/** @param window how far back, and from when */
function newErrors(window: string): string {
  const selector = series("sandbox_server_transitions_total", ofName, 'to="error"');
  return `sum by (server_name) (increase(${selector}${window}))`;
}

const since = `max by (${identity}) (${series("sandbox_server_status_since_timestamp_seconds", ofTarget, ofErring)})`;
const isInError = `max by (${identity}) (${series("sandbox_server_status", ofTarget, ofErring, inError)}) == 1`;
const status = statusNumber("sandbox_server_status", `${ofTarget},${ofErring}`, identity);

export const fleetErrors: Row = {
  title: "Errors",
  panels: [
    timeline("Where servers are in error", "short", 12)
      .about(
        "Servers in error by name, for the thirty worst names. No line: none is in error, or the target is down.",
      )
      .high(9)
      .over(
        `topk(30, sum by (region, key, server_name) (${servers(ofName, inError)}) > 0)`,
        "{{region}} {{key}} {{server_name}}",
      )
      .as({ limits: [[1, statusColours.error]], none: "No server is in error" }),
    table("Servers in error now", "s", 12)
      .about(
        `The hundred servers that have been in error for longest, of at most two hundred. The id of a server links to its dashboard. ${perServerOnly}`,
      )
      .high(9)
      .rows(`topk(100,\n  (time() - ${since}\n    and ${isInError})\n  ${withName}\n)`)
      .as({
        values: ["in error for"],
        columns: { region: 60, key: 90, server_name: null, "in error for": 100 },
        links: { server: toServerOfRow },
        none: "No server is in error",
      }),
    timeline("History of servers in error", "short", 12)
      .about(
        `Past status of the servers that are in error now, at most two hundred. A band links to the dashboard of the server. No band: it was gone or unobserved. ${perServerOnly}`,
      )
      .high(9)
      .over(`${status}\n${withName}`, "{{server_name}} {{server}}")
      .as({ mapping: statusMapping, links: [toServerOfSeries], none: "No server is in error" }),
    lines("New errors", "short", 12)
      .about("Changes into error, of the ten names with the most in the time range.")
      .high(9)
      .every("2m")
      .over(
        named(
          `${newErrors("[$__rate_interval]")}\nand on (server_name) topk(10, ${newErrors("[$__range] @ end()")})`,
        ),
        "{{server_name}}",
      )
      .as({ bars: true, stacked: true }),
    timeline("Where sandboxes are in error", "short", 12)
      .about(
        "Sandboxes in error by target, for the thirty worst targets. No line: none is in error, or the target is down.",
      )
      .over(
        `topk(30, sum by (region, key) (${sandboxes(ofTarget, inError)}) > 0)`,
        "{{region}} {{key}}",
      )
      .as({ limits: [[1, statusColours.error]], none: "No sandbox is in error" }),
    lines("New errors of sandboxes", "short", 12)
      .about("Changes of sandboxes into error, of the twenty targets with the most.")
      .every("2m")
      .over(
        `topk(20, sum by (region, key) (${increase(series("sandbox_transitions_total", ofTarget, 'to="error"'))}))`,
        "{{region}} {{key}}",
      )
      .as({ bars: true, stacked: true }),
  ],
};
