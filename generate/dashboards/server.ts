import { statusMapping, unwell, wellnessMapping } from "./colours.ts";
import { dashboardText } from "./dashboard.ts";
import type { Row } from "./dashboard.ts";
import { uids } from "./links.ts";
import { bars, lines, stat, timeline } from "./panels.ts";
import { increase, ofServer, ofTarget, series, statusNumber } from "./promql.ts";
import { atEnd, overTime } from "./queries.ts";
import { serverVariables } from "./variables.ts";

/** The server is known for as long as the time range shows it, though it be gone or not seen now. */
const itself = `last_over_time(${series("sandbox_server_info", ofServer)}[$__range])`;
const ofItsTarget = `and on (region, key) ${itself}`;
const ofItsName = `and on (region, key, server_name) ${itself}`;

const since = `max(${series("sandbox_server_status_since_timestamp_seconds", ofServer)})`;
const lastSuccess = "sandwatch_target_last_success_timestamp_seconds";

export function server(): string {
  return dashboardText({
    uid: uids.server,
    title: "sandwatch: server",
    description:
      "One server's life. It asks for series of single servers: there are none with metrics.per_server off.",
    since: "24h",
    refresh: "1m",
    variables: serverVariables,
    rows: [now(), life(), around()],
  });
}

function now(): Row {
  return {
    title: "Now",
    panels: [
      stat(
        {
          title: "Status",
          description: "The status of the server. No status: it is gone, or its target is down.",
          unit: "short",
          width: 4,
          queries: [atEnd(statusNumber("sandbox_server_status", ofServer, "server"), "{{server}}")],
        },
        { mapping: statusMapping },
      ),
      stat({
        title: "In this status for",
        description: "Since it was first seen in the status that it is in.",
        unit: "s",
        width: 4,
        queries: [atEnd(`time() - ${since}`, "since")],
      }),
      stat(
        {
          title: "Name and benchmark",
          description: "What the service says of the server. Either may be missing.",
          unit: "none",
          width: 6,
          queries: [
            atEnd(series("sandbox_server_info", ofServer), "{{server_name}} {{benchmark}}"),
          ],
        },
        { asName: true },
      ),
      stat({
        title: "Status changes",
        description: "How often its status changed within the time range, as far as it was seen.",
        unit: "short",
        width: 4,
        queries: [
          atEnd(
            `max(changes(${series("sandbox_server_status_since_timestamp_seconds", ofServer)}[$__range]))`,
            "changes",
          ),
        ],
      }),
      stat(
        {
          title: "Last seen",
          description:
            "Since the last poll of its target that succeeded. What is longer ago than a few polls is not claimed any more.",
          unit: "s",
          width: 6,
          queries: [
            atEnd(
              `time() - max((${series(lastSuccess, ofTarget)} > 0) ${ofItsTarget})`,
              "last seen",
            ),
          ],
        },
        { limits: [[120, unwell]], none: "never" },
      ),
    ],
  };
}

function life(): Row {
  return {
    title: "Its life",
    panels: [
      timeline(
        {
          title: "Status",
          description:
            "The status of the server, and of the sandbox that it is in. Where there is nothing, it was gone or not seen.",
          unit: "short",
          width: 16,
          queries: [
            overTime(statusNumber("sandbox_server_status", ofServer, "server"), "server"),
            overTime(
              statusNumber("sandbox_status", `${ofTarget},sandbox="$sandbox"`, "sandbox"),
              "sandbox",
            ),
          ],
        },
        { mapping: statusMapping, none: "Nothing is known of it in this time" },
      ),
      bars(
        {
          title: "Share of time",
          description: "The share of each status, of the time in which it was seen.",
          unit: "percentunit",
          width: 8,
          queries: [
            atEnd(
              `max by (status) (avg_over_time(${series("sandbox_server_status", ofServer)}[$__range]))`,
              "{{status}}",
            ),
          ],
        },
        { byStatus: true, share: true },
      ),
      lines({
        title: "Time in its status",
        description: "How long it had been in the status that it was in. Each fall is a change.",
        unit: "s",
        width: 8,
        height: 6,
        queries: [overTime(`time() - ${since}`, "in its status")],
      }),
      timeline(
        {
          title: "Its target",
          description: "Whether the last poll of the server's key in its region succeeded.",
          unit: "short",
          width: 8,
          height: 6,
          queries: [
            overTime(
              `min by (region, key) (${series("sandwatch_target_up", ofTarget)} ${ofItsTarget})`,
              "{{region}} {{key}}",
            ),
          ],
        },
        { mapping: wellnessMapping({ well: "up", unwell: "down" }) },
      ),
      lines({
        title: "Age of what is known",
        description: "Since the last poll of its target that succeeded.",
        unit: "s",
        width: 8,
        height: 6,
        queries: [
          overTime(
            `time() - max((${series(lastSuccess, ofTarget)} > 0) ${ofItsTarget})`,
            "since it was seen",
          ),
        ],
      }),
    ],
  };
}

function around(): Row {
  return {
    title: "Around it",
    panels: [
      lines(
        {
          title: "Servers of its name",
          description: "How many servers with its region, key and name were in each status.",
          unit: "short",
          width: 8,
          queries: [
            overTime(
              `sum by (status) (${series("sandbox_servers", ofTarget)} ${ofItsName})`,
              "{{status}}",
            ),
          ],
        },
        { byStatus: true, stacked: true },
      ),
      lines(
        {
          title: "Transitions of its name",
          description:
            "Changes of all servers with its region, key and name, from one status to another. Absent is before they appear and after they are gone.",
          unit: "short",
          width: 8,
          interval: "2m",
          queries: [
            overTime(
              `sum by (from, to) (${increase(series("sandbox_server_transitions_total", ofTarget))} ${ofItsName})`,
              "{{from}} to {{to}}",
            ),
          ],
        },
        { bars: true, stacked: true },
      ),
      lines({
        title: "Firing incidents",
        description:
          "Incidents of each rule, of all servers: `sandwatch explain SERVER` tells which were this one's.",
        unit: "short",
        width: 8,
        queries: [
          overTime(
            'sum by (rule, severity) (sandwatch_incidents{state="firing"})',
            "{{rule}} ({{severity}})",
          ),
        ],
      }),
    ],
  };
}
