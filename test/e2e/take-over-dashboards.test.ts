import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { anything, readDashboards, substitute } from "../support/dashboards.ts";
import { tempFolder } from "../support/temp-folder.ts";

const run = promisify(execFile);
const dashboards = readDashboards();

/** The first query of a panel, of the last 20 minutes. */
function queryOf(file: string, title: string): string {
  const panels = dashboards.find((each) => each.file === `${file}.json`)?.panels ?? [];
  const expr = panels.find((each) => each.title === title)?.targets[0]?.expr;
  if (expr === undefined) throw new TypeError(`no panel ${title}`);
  const range = { __range: "20m", __rate_interval: "5m" };
  return substitute(expr, { ...anything, ...range, sandbox: "box", server: "s1" });
}

const research = 'region="us",key="research"';
const batch = 'region="us",key="batch"';

/** A series of one sandwatch: values of each minute from the beginning on. */
type Series = readonly [metric: string, labels: string, values: string];

const target = (labels: string, up: string): readonly Series[] => [
  ["sandwatch_target_up", labels, up],
  ["sandbox_servers", `${labels},server_name="git",status="idle"`, up.replace(/^\d/, "2")],
  ["sandbox_servers", `${labels},server_name="git",status="error"`, up.replace(/^\d/, "1")],
];
/** What waits for receivers. */
const waiting = (pending: string, dead: string): readonly Series[] => [
  ["sandwatch_notifications_pending", 'receiver="oncall"', pending],
  ["sandwatch_notifications_dead", 'receiver="oncall"', dead],
];
const firing: Series = [
  "sandwatch_incidents",
  'rule="r",severity="critical",state="firing"',
  "2x40",
];
const ofServer = `${research},sandbox="box",server="s1",status=`;
const since = "sandbox_server_status_since_timestamp_seconds";
const unobserved = "sandbox_unobserved_seconds_total";

/** Of processes with a cluster. */
const active = (lease: string, takeOvers: string): readonly Series[] => [
  ["sandwatch_active", "", lease.replaceAll("12", "1")],
  ["sandwatch_lease_remaining_seconds", "", lease],
  ["sandwatch_take_overs_total", "", takeOvers],
];

/** It was idle for ten minutes, and then in error. */
const alone: readonly (readonly [instance: string, series: readonly Series[]])[] = [
  [
    "a",
    [
      ...target(research, "1x40"),
      ...target(batch, "0x40"),
      ...waiting("4x40", "3x40"),
      firing,
      ["sandbox_server_status", `${ofServer}"idle"`, "1x9 0x9"],
      ["sandbox_server_status", `${ofServer}"error"`, "0x9 1x9"],
      [since, `${research},sandbox="box",server="s1"`, "5x4 120x15"],
      [unobserved, research, "0+6x40"],
      [unobserved, batch, "0+6x40"],
    ],
  ],
];

/** The same when a second process has taken over. At the 20th minute both show it. */
const two: typeof alone = [
  [
    "a",
    [
      ...target(research, "1x20 stale"),
      ...target(batch, "0x20 stale"),
      ...waiting("4x20 stale", "3x20 stale"),
      ["sandbox_server_status", `${ofServer}"idle"`, "1x9 stale"],
      ["sandbox_server_status", `${ofServer}"error"`, "0x9 stale"],
      [since, `${research},sandbox="box",server="s1"`, "5x4 120x4 stale"],
      [unobserved, research, "0+6x10 stale"],
      [unobserved, batch, "0+6x10 stale"],
      ...active("12x19 0x20", "0x40"),
    ],
  ],
  [
    "b",
    [
      ...target(research, "_x20 1x20"),
      ...target(batch, "_x20 0x20"),
      ...waiting("_x20 4x20", "_x20 3x20"),
      firing,
      ["sandbox_server_status", `${ofServer}"idle"`, "_x10 0x9"],
      ["sandbox_server_status", `${ofServer}"error"`, "_x10 1x9"],
      [since, `${research},sandbox="box",server="s1"`, "_x10 120x9"],
      [unobserved, research, "_x10 0+6x30"],
      [unobserved, batch, "_x10 0+6x30"],
      ...active("0x19 12x20", "0x17 1x23"),
    ],
  ],
];

/** What promtool says of each of these queries at the 20th minute. */
async function check(
  tests: readonly {
    readonly name: string;
    readonly instances: typeof alone;
    readonly expr: string;
    readonly samples: readonly { readonly labels: string; readonly value: number }[];
  }[],
): Promise<string> {
  const path = join(tempFolder(), "test.yaml");
  const written = tests.map(({ name, instances, expr, samples }) => ({
    name,
    interval: "1m",
    input_series: instances.flatMap(([instance, all]) =>
      all.map(([metric, more, values]) => {
        return { series: `${metric}{job="sandwatch",instance="${instance}:9740",${more}}`, values };
      }),
    ),
    promql_expr_test: [{ expr, eval_time: "20m", exp_samples: samples }],
  }));
  // JSON is YAML.
  writeFileSync(path, JSON.stringify({ evaluation_interval: "1m", tests: written }));
  return (await run("promtool", ["test", "rules", path])).stdout;
}

it.each([
  ["fleet", "Servers", "{}", 6],
  ["fleet", "Servers in error", "{}", 2],
  ["fleet", "Targets down", "{}", 1],
  ["fleet", "Firing incidents", "{}", 2],
  ["fleet", "Unobserved", "{}", 0.1],
  ["sandwatch", "Targets up", "{}", 0.5],
  ["sandwatch", "Pending", "{}", 4],
  ["sandwatch", "Dead letters", "{}", 3],
  ["server", "Status changes", "{}", 1],
  ["server", "Share of time", '{status="error"}', 0.5],
])(
  "%s: %s is the same with one process and with two of which one took over",
  async (file, title, labels, value) => {
    const query = queryOf(file, title);
    const expr =
      labels === "{}" ? query : `(${query}) and on (status) sandbox_server_status${labels} == 1`;
    const asked = { expr: `round(${expr}, 0.05)`, samples: [{ labels, value }] };
    const tests = [
      { name: "one", instances: alone, ...asked },
      { name: "two", instances: two, ...asked },
    ];
    expect(await check(tests)).toContain("SUCCESS");
  },
);

it.each([
  ["Active", 1],
  ["Remaining lease", 12],
  ["Take-overs", 1],
])("sandwatch: %s shows the process that took over", async (title, value) => {
  const expr = `round((${queryOf("sandwatch", title)}) and on (instance) sandwatch_active == 1)`;
  const samples = [{ labels: '{instance="b:9740"}', value }];
  expect(await check([{ name: "two", instances: two, expr, samples }])).toContain("SUCCESS");
});
