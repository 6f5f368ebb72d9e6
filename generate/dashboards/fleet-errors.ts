import type { Row } from "./dashboard.ts";
import { statusColours, statusMapping } from "./colours.ts";
import { toServerOfRow, toServerOfSeries } from "./links.ts";
import { lines, timeline } from "./panels.ts";
import { identity, increase, named, ofName, ofTarget, series, statusNumber } from "./promql.ts";
import { sandboxes, servers } from "./promql.ts";
import { overTime, rows } from "./queries.ts";
import { table } from "./tables.ts";

/** Servers in error at the end of the time range. */
const ofErring = 'server=~"$erring"';

/** Adds a server's name; only those that were chosen have one. */
const withName = `* on (${identity}) group_left (server_name)
    max by (${identity}, server_name) (${series("sandbox_server_info", ofName, ofErring)})`;

const perServerOnly = "Needs series per server: empty with metrics.per_server off.";

/** @param window how far back, and from when */
function newErrors(window: string): string {
  const selector = series("sandbox_server_transitions_total", ofName, 'to="error"');
  return `sum by (server_name) (increase(${selector}${window}))`;
}

export function fleetErrors(): Row {
  const since = `max by (${identity}) (${series("sandbox_server_status_since_timestamp_seconds", ofTarget, ofErring)})`;
  const inError = `max by (${identity}) (${series("sandbox_server_status", ofTarget, ofErring, 'status="error"')}) == 1`;
  const status = statusNumber("sandbox_server_status", `${ofTarget},${ofErring}`, identity);
  return {
    title: "Errors",
    panels: [
      timeline(
        {
          title: "Where servers are in error",
          description:
            "Servers in error by name, for the thirty worst names. No line: none is in error, or the target is down.",
          unit: "short",
          width: 12,
          height: 9,
          queries: [
            overTime(
              `topk(30, sum by (region, key, server_name) (${servers(ofName, 'status="error"')}) > 0)`,
              "{{region}} {{key}} {{server_name}}",
            ),
          ],
        },
        { limits: [[1, statusColours.error]], none: "No server is in error" },
      ),
      table(
        {
          title: "Servers in error now",
          description: `The hundred servers that have been in error for longest, of at most two hundred. The id of a server links to its dashboard. ${perServerOnly}`,
          unit: "s",
          width: 12,
          height: 9,
          queries: [rows(`topk(100,\n  (time() - ${since}\n    and ${inError})\n  ${withName}\n)`)],
        },
        {
          values: ["in error for"],
          columns: { region: 60, key: 90, server_name: null, "in error for": 100 },
          links: { server: toServerOfRow },
          none: "No server is in error",
        },
      ),
      timeline(
        {
          title: "History of servers in error",
          description: `Past status of the servers that are in error now, at most two hundred. A band links to the dashboard of the server. No band: it was gone or unobserved. ${perServerOnly}`,
          unit: "short",
          width: 12,
          height: 9,
          queries: [overTime(`${status}\n${withName}`, "{{server_name}} {{server}}")],
        },
        { mapping: statusMapping, links: [toServerOfSeries], none: "No server is in error" },
      ),
      lines(
        {
          title: "New errors",
          description: "Changes into error, of the ten names with the most in the time range.",
          unit: "short",
          width: 12,
          height: 9,
          interval: "2m",
          queries: [
            overTime(
              named(
                `${newErrors("[$__rate_interval]")}\nand on (server_name) topk(10, ${newErrors("[$__range] @ end()")})`,
              ),
              "{{server_name}}",
            ),
          ],
        },
        { bars: true, stacked: true },
      ),
      timeline(
        {
          title: "Where sandboxes are in error",
          description:
            "Sandboxes in error by target, for the thirty worst targets. No line: none is in error, or the target is down.",
          unit: "short",
          width: 12,
          queries: [
            overTime(
              `topk(30, sum by (region, key) (${sandboxes(ofTarget, 'status="error"')}) > 0)`,
              "{{region}} {{key}}",
            ),
          ],
        },
        { limits: [[1, statusColours.error]], none: "No sandbox is in error" },
      ),
      lines(
        {
          title: "New errors of sandboxes",
          description: "Changes of sandboxes into error, of the twenty targets with the most.",
          unit: "short",
          width: 12,
          interval: "2m",
          queries: [
            overTime(
              `topk(20, sum by (region, key) (${increase(series("sandbox_transitions_total", ofTarget, 'to="error"'))}))`,
              "{{region}} {{key}}",
            ),
          ],
        },
        { bars: true, stacked: true },
      ),
    ],
  };
}
