import { statusMapping, unwell, wellness } from "./colours.ts";
import { dashboardText } from "./dashboard.ts";
import type { Row } from "./dashboard.ts";
import { uids } from "./links.ts";
import { bars, lines, stat, timeline } from "./panels.ts";
import { increase, ofSandbox, ofServer, ofTarget, series, statusNumber } from "./promql.ts";
import { servers, targetsUp } from "./promql.ts";
import { serverVariables } from "./variables.ts";

/** The server is known for as long as the time range shows it, though it be gone or not seen now. */
const itself = `last_over_time(${series("sandbox_server_info", ofServer)}[$__range])`;
const ofItsTarget = `and on (region, key) ${itself}`;
const ofItsName = `and on (region, key, server_name) ${itself}`;

const sinceSeries = series("sandbox_server_status_since_timestamp_seconds", ofServer);
const inStatusFor = `time() - max(${sinceSeries})`;
const lastSuccess = series("sandwatch_target_last_success_timestamp_seconds", ofTarget);
const observedAgo = `time() - max((${lastSuccess} > 0) ${ofItsTarget})`;
const serverStatus = statusNumber("sandbox_server_status", ofServer, "server");
const sandboxStatus = statusNumber("sandbox_status", ofSandbox, "sandbox");
const created = `max(${series("sandbox_created_timestamp_seconds", ofSandbox)})`;

const now: Row = {
  title: "Now",
  panels: [
    stat("Status", "short", 4)
      .about("The status of the server. No status: it is gone, or its target is down.")
      .atEnd(serverStatus, "{{server}}")
      .as({ mapping: statusMapping }),
    stat("In this status for", "s", 3)
      .about("Time since it was first observed in its status.")
      .atEnd(inStatusFor, "since"),
    stat("Name and benchmark", "none", 4)
      .about("As the service states them. Either can be missing.")
      .atEnd(series("sandbox_server_info", ofServer), "{{server_name}} {{benchmark}}")
      .as({ asName: true }),
    stat("Its sandbox", "short", 4)
      .about("The status of its sandbox, which is that of its servers if the sandbox states none.")
      .atEnd(sandboxStatus, "{{sandbox}}")
      .as({ mapping: statusMapping }),
    stat("Age of its sandbox", "s", 3)
      .about("Time since the sandbox was created, as the service states it.")
      .atEnd(`time() - ${created}`, "created"),
    stat("Status changes", "short", 3)
      .about("Observed changes of its status in the time range.")
      .atEnd(`sum(changes(${sinceSeries}[$__range]))`, "changes"),
    stat("Last observed", "s", 3)
      .about(
        "Time since the last successful poll of its target. After a few failed polls its series end.",
      )
      .atEnd(observedAgo, "last seen")
      .as({ limits: [[120, unwell]], none: "never" }),
  ],
};

// One of the statuses is 1 in each sample, at whichever process.
const ofRange = `sum_over_time(${series("sandbox_server_status", ofServer)}[$__range])`;

const life: Row = {
  title: "History",
  panels: [
    timeline("Status", "short", 16)
      .about("The status of the server and of its sandbox. No band: it was gone or unobserved.")
      .over(serverStatus, "server")
      .over(sandboxStatus, "sandbox")
      .as({ mapping: statusMapping, none: "No data in this time range" }),
    bars("Share of time", "percentunit", 8)
      .about("The share of each status of the observed time.")
      .atEnd(`sum by (status) (${ofRange})\n/ scalar(sum(${ofRange}))`, "{{status}}")
      .as({ byStatus: true, share: true }),
    lines("Time in its status", "s", 8)
      .about("How long it had been in its status. Each drop is a change.")
      .high(6)
      .over(inStatusFor, "in its status"),
    timeline("Its target", "short", 8)
      .about("Whether the last poll of its target succeeded.")
      .high(6)
      .over(`${targetsUp(ofTarget)} ${ofItsTarget}`, "{{region}} {{key}}")
      .as({ mapping: wellness("up", "down") }),
    lines("Age of the data", "s", 8)
      .about("Time since the last successful poll of its target.")
      .high(6)
      .over(observedAgo, "since it was observed"),
  ],
};

const around: Row = {
  title: "Servers of the same name",
  panels: [
    lines("Servers by status", "short", 8)
      .about("Number of servers with its region, key and name in each status.")
      .over(`sum by (status) (${servers(ofTarget)} ${ofItsName})`, "{{status}}")
      .as({ byStatus: true, stacked: true }),
    lines("Changes", "short", 8)
      .about(
        "Changes of all servers with its region, key and name. Absent is the status before a server appears and after it is gone.",
      )
      .every("2m")
      .over(
        `sum by (from, to) (${increase(series("sandbox_server_transitions_total", ofTarget))} ${ofItsName})`,
        "{{from}} to {{to}}",
      )
      .as({ bars: true, stacked: true }),
    lines("Firing incidents", "short", 8)
      .about(
        "Incidents of each rule, of all servers. `sandwatch explain SERVER` shows those of this server.",
      )
      .over(
        'sum by (rule, severity) (sandwatch_incidents{state!="pending"})',
        "{{rule}} ({{severity}})",
      ),
  ],
};

export function server(): string {
  return dashboardText({
    uid: uids.server,
    title: "sandwatch: server",
    description: "One server. Needs series per server: empty with metrics.per_server off.",
    since: "24h",
    refresh: "1m",
    variables: serverVariables,
    rows: [now, life, around],
  });
}
