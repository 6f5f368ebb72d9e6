import { statusMapping, unwell, wellnessMapping } from "./colours.ts";
import { dashboardText } from "./dashboard.ts";
import type { Row } from "./dashboard.ts";
import { uids } from "./links.ts";
import { bars, lines, stat, timeline } from "./panels.ts";
import {
  increase,
  ofSandbox,
  ofServer,
  ofTarget,
  series,
  statusNumber,
  servers,
  targetsUp,
} from "./promql.ts";
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
    description: "One server. Needs series per server: empty with metrics.per_server off.",
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
        description: "Time since it was first observed in its status.",
        unit: "s",
        width: 3,
        queries: [atEnd(`time() - ${since}`, "since")],
      }),
      stat(
        {
          title: "Name and benchmark",
          description: "As the service states them. Either can be missing.",
          unit: "none",
          width: 4,
          queries: [
            atEnd(series("sandbox_server_info", ofServer), "{{server_name}} {{benchmark}}"),
          ],
        },
        { asName: true },
      ),
      stat(
        {
          title: "Its sandbox",
          description:
            "The status of its sandbox, which is that of its servers if the sandbox states none.",
          unit: "short",
          width: 4,
          queries: [atEnd(statusNumber("sandbox_status", ofSandbox, "sandbox"), "{{sandbox}}")],
        },
        { mapping: statusMapping },
      ),
      stat({
        title: "Age of its sandbox",
        description: "Time since the sandbox was created, as the service states it.",
        unit: "s",
        width: 3,
        queries: [
          atEnd(
            `time() - max(${series("sandbox_created_timestamp_seconds", ofSandbox)})`,
            "created",
          ),
        ],
      }),
      stat({
        title: "Status changes",
        description: "Observed changes of its status in the time range.",
        unit: "short",
        width: 3,
        queries: [
          atEnd(
            `sum(changes(${series("sandbox_server_status_since_timestamp_seconds", ofServer)}[$__range]))`,
            "changes",
          ),
        ],
      }),
      stat(
        {
          title: "Last observed",
          description:
            "Time since the last successful poll of its target. After a few failed polls its series end.",
          unit: "s",
          width: 3,
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
  // One of the statuses is 1 in each sample, at whichever process.
  const ofRange = `sum_over_time(${series("sandbox_server_status", ofServer)}[$__range])`;
  return {
    title: "History",
    panels: [
      timeline(
        {
          title: "Status",
          description:
            "The status of the server and of its sandbox. No band: it was gone or unobserved.",
          unit: "short",
          width: 16,
          queries: [
            overTime(statusNumber("sandbox_server_status", ofServer, "server"), "server"),
            overTime(statusNumber("sandbox_status", ofSandbox, "sandbox"), "sandbox"),
          ],
        },
        { mapping: statusMapping, none: "No data in this time range" },
      ),
      bars(
        {
          title: "Share of time",
          description: "The share of each status of the observed time.",
          unit: "percentunit",
          width: 8,
          queries: [atEnd(`sum by (status) (${ofRange})\n/ scalar(sum(${ofRange}))`, "{{status}}")],
        },
        { byStatus: true, share: true },
      ),
      lines({
        title: "Time in its status",
        description: "How long it had been in its status. Each drop is a change.",
        unit: "s",
        width: 8,
        height: 6,
        queries: [overTime(`time() - ${since}`, "in its status")],
      }),
      timeline(
        {
          title: "Its target",
          description: "Whether the last poll of its target succeeded.",
          unit: "short",
          width: 8,
          height: 6,
          queries: [overTime(`${targetsUp(ofTarget)} ${ofItsTarget}`, "{{region}} {{key}}")],
        },
        { mapping: wellnessMapping({ well: "up", unwell: "down" }) },
      ),
      lines({
        title: "Age of the data",
        description: "Time since the last successful poll of its target.",
        unit: "s",
        width: 8,
        height: 6,
        queries: [
          overTime(
            `time() - max((${series(lastSuccess, ofTarget)} > 0) ${ofItsTarget})`,
            "since it was observed",
          ),
        ],
      }),
    ],
  };
}

function around(): Row {
  return {
    title: "Servers of the same name",
    panels: [
      lines(
        {
          title: "Servers by status",
          description: "Number of servers with its region, key and name in each status.",
          unit: "short",
          width: 8,
          queries: [overTime(`sum by (status) (${servers(ofTarget)} ${ofItsName})`, "{{status}}")],
        },
        { byStatus: true, stacked: true },
      ),
      lines(
        {
          title: "Changes",
          description:
            "Changes of all servers with its region, key and name. Absent is the status before a server appears and after it is gone.",
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
          "Incidents of each rule, of all servers. `sandwatch explain SERVER` shows those of this server.",
        unit: "short",
        width: 8,
        queries: [
          overTime(
            'sum by (rule, severity) (sandwatch_incidents{state!="pending"})',
            "{{rule}} ({{severity}})",
          ),
        ],
      }),
    ],
  };
}
