import { readFileSync } from "node:fs";
import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { failureReasons, statuses } from "../../src/fleet/model.ts";
import type { Status } from "../../src/fleet/model.ts";
import { createServiceMetrics, maxDistinctFields } from "../../src/metrics/service-metrics.ts";
import { server } from "../support/fleet.ts";
import { deviationOf, eventfulFamilies, meterFleet, parseExposition } from "./exposition.ts";
import type { Family } from "./exposition.ts";

/** Every family with its type and its labels in alphabetical order, those of a process apart. */
const promised: Readonly<Record<string, readonly [type: string, ...labels: string[]]>> = {
  sandbox_server_status: ["gauge", "key", "region", "sandbox", "server", "status"],
  sandbox_server_info: ["gauge", "benchmark", "key", "region", "sandbox", "server", "server_name"],
  sandbox_server_status_since_timestamp_seconds: ["gauge", "key", "region", "sandbox", "server"],
  sandbox_status: ["gauge", "key", "region", "sandbox", "status"],
  sandbox_servers: ["gauge", "key", "region", "server_name", "status"],
  sandbox_sandboxes: ["gauge", "key", "region", "status"],
  sandbox_server_status_seconds_total: ["counter", "key", "region", "server_name", "status"],
  sandbox_unobserved_seconds_total: ["counter", "key", "region"],
  sandbox_server_transitions_total: ["counter", "from", "key", "region", "server_name", "to"],
  sandbox_server_status_duration_seconds: ["histogram", "key", "region", "status"],
  sandwatch_target_up: ["gauge", "key", "region"],
  sandwatch_target_last_success_timestamp_seconds: ["gauge", "key", "region"],
  sandwatch_polls_total: ["counter", "key", "region"],
  sandwatch_poll_failures_total: ["counter", "key", "reason", "region"],
  sandwatch_poll_duration_seconds: ["histogram", "region"],
  sandwatch_api_requests_total: ["counter", "code", "operation", "region"],
  sandwatch_api_request_duration_seconds: ["histogram", "operation", "region"],
  sandwatch_schema_deviations_total: ["counter", "field", "operation", "region"],
  sandwatch_probe_success: ["gauge", "key", "operation", "probe", "region"],
  sandwatch_probe_duration_seconds: ["gauge", "key", "operation", "probe", "region"],
  sandwatch_universes: ["gauge", "key", "region"],
  sandwatch_user_last_used_timestamp_seconds: ["gauge", "key", "probe", "region"],
  sandwatch_incidents: ["gauge", "rule", "severity", "state"],
  sandwatch_notifications_total: ["counter", "receiver"],
  sandwatch_notification_failures_total: ["counter", "reason", "receiver"],
  sandwatch_notifications_pending: ["gauge", "receiver"],
  sandwatch_notifications_dead: ["gauge", "receiver"],
  sandwatch_notification_oldest_pending_timestamp_seconds: ["gauge", "receiver"],
  sandwatch_notification_delay_seconds: ["histogram", "receiver"],
  sandwatch_config_last_reload_successful: ["gauge"],
  sandwatch_config_last_reload_success_timestamp_seconds: ["gauge"],
  sandwatch_loop_last_turn_timestamp_seconds: ["gauge", "loop"],
  sandwatch_loop_next_turn_timestamp_seconds: ["gauge", "loop"],
  sandwatch_loop_interval_seconds: ["gauge", "loop"],
  sandwatch_store_commit_failures_total: ["counter"],
  sandwatch_store_unreadable_rows: ["gauge", "table"],
  sandwatch_store_commit_duration_seconds: ["histogram"],
  sandwatch_build_info: ["gauge", "node_version", "revision", "version"],
};

const perServer = [
  "sandbox_server_info",
  "sandbox_server_status",
  "sandbox_server_status_since_timestamp_seconds",
  "sandbox_status",
];

function ours(families: ReadonlyMap<string, Family>): readonly string[] {
  return [...families.keys()].filter((name) => /^(sandbox|sandwatch)_/.test(name)).toSorted();
}

describe("the families", () => {
  it("are the promised ones, all of them and no others", async () => {
    const families = await eventfulFamilies();
    expect(ours(families)).toEqual(Object.keys(promised).toSorted());
  });

  it.each(Object.entries(promised))(
    "%s has its type, its labels and a help",
    async (name, [type, ...labels]) => {
      const families = await eventfulFamilies();
      const family = families.get(name);
      expect(family?.type).toBe(type);
      expect(family?.help).toMatch(/^[A-Z].+\.$|; absent when there is none\.$/);
      expect(family?.samples.length).toBeGreaterThan(0);
      for (const sample of family?.samples ?? []) {
        const found = Object.keys(sample.labels).filter((label) => label !== "le");
        expect(found.toSorted()).toEqual(labels);
        expect(sample.value).not.toBeNaN();
      }
    },
  );

  it("without a series for each server lack exactly the four that have one", async () => {
    const families = await eventfulFamilies({ perServer: false });
    const withAll = Object.keys(promised);
    expect(withAll.filter((name) => !families.has(name)).toSorted()).toEqual(perServer);
  });
});

describe("before anything happened", () => {
  it("counters are zero for every closed set of labels", async () => {
    const families = parseExposition(await meterFleet().render());
    const seriesOf = (name: string) =>
      (families.get(name)?.samples ?? []).map(({ labels, value }) => ({ ...labels, value }));
    const target = { region: "us", key: "research" };
    expect(seriesOf("sandwatch_polls_total")).toEqual([{ ...target, value: 0 }]);
    expect(seriesOf("sandbox_unobserved_seconds_total")).toEqual([{ ...target, value: 0 }]);
    expect(seriesOf("sandwatch_poll_failures_total")).toEqual(
      failureReasons.map((reason) => ({ ...target, reason, value: 0 })),
    );
    expect(seriesOf("sandwatch_notifications_total")).toEqual([{ receiver: "oncall", value: 0 }]);
    expect(seriesOf("sandwatch_notification_failures_total")).toEqual(
      ["timeout", "expired"].map((reason) => ({ receiver: "oncall", reason, value: 0 })),
    );
    expect(seriesOf("sandwatch_api_requests_total").length).toBe(4);
    expect(
      seriesOf("sandwatch_incidents").map(({ value, ...labels }) => [
        ...Object.values(labels),
        value,
      ]),
    ).toEqual([
      ["server-error", "critical", "pending", 0],
      ["server-error", "critical", "firing", 0],
      ["target-down", "warning", "pending", 0],
      ["target-down", "warning", "firing", 0],
      ["receiver-failing", "warning", "pending", 0],
      ["receiver-failing", "warning", "firing", 0],
    ]);
    for (const name of ["sandwatch_notifications_pending", "sandwatch_notifications_dead"]) {
      expect(seriesOf(name)).toEqual([{ receiver: "oncall", value: 0 }]);
    }
  });

  it("histograms are zero for every closed set of labels", async () => {
    const families = parseExposition(await meterFleet().render());
    const countsOf = (name: string) =>
      (families.get(name)?.samples ?? []).filter((sample) => sample.name === `${name}_count`);
    const expected: readonly (readonly [string, number])[] = [
      ["sandbox_server_status_duration_seconds", statuses.length],
      ["sandwatch_poll_duration_seconds", 1],
      ["sandwatch_api_request_duration_seconds", 4],
      ["sandwatch_notification_delay_seconds", 1],
      ["sandwatch_store_commit_duration_seconds", 1],
    ];
    for (const [name, series] of expected) {
      expect([name, countsOf(name).map(({ value }) => value)]).toEqual([
        name,
        Array.from({ length: series }, () => 0),
      ]);
    }
  });

  it("nothing is claimed of a target that was not polled", async () => {
    const families = parseExposition(await meterFleet().render());
    const claims = ["sandwatch_target_up", "sandbox_sandboxes", "sandbox_servers", ...perServer];
    for (const name of claims) expect([name, families.get(name)?.samples]).toEqual([name, []]);
    expect(families.get("sandwatch_target_last_success_timestamp_seconds")?.samples).toMatchObject([
      { value: 0 },
    ]);
  });
});

describe("names from the service", () => {
  const named = (names: readonly string[], status: Status = "idle") => ({
    complete: true,
    sandboxes: [
      {
        id: "box",
        status: "idle" as const,
        benchmark: null,
        servers: names.map((name, index) => server(`s${index}`, { name, status })),
      },
    ],
  });

  it("past the two hundredth are counted together as other, in every aggregate", async () => {
    const { poll, render } = meterFleet();
    const names = Array.from({ length: 250 }, (_, index) => `name-${index}`);
    poll(named(names));
    poll(named(names, "error"));
    poll(named(names, "error"));
    const families = parseExposition(await render());
    for (const name of [
      "sandbox_servers",
      "sandbox_server_status_seconds_total",
      "sandbox_server_transitions_total",
    ]) {
      const samples = families.get(name)?.samples ?? [];
      const distinct = new Set(samples.map(({ labels }) => labels["server_name"]));
      expect([name, distinct.size, distinct.has("other")]).toEqual([name, 201, true]);
    }
    const others = families
      .get("sandbox_servers")
      ?.samples.find(
        ({ labels }) => labels["server_name"] === "other" && labels["status"] === "error",
      );
    expect(others?.value).toBe(50);
    expect(families.get("sandbox_server_info")?.samples.length).toBe(250);
  });

  it("may be anything: what is exposed can be read back", async () => {
    const { poll, render } = meterFleet();
    const names = [
      'quote "',
      "back\\slash",
      "new\nline",
      "\\n",
      "沙箱 🏖",
      "",
      "a,b={}",
      "\r\t\u0000",
    ];
    poll(named(names));
    const families = parseExposition(await render());
    const infos = families.get("sandbox_server_info")?.samples ?? [];
    expect(infos.map(({ labels }) => labels["server_name"])).toEqual(names);
    const counted = families.get("sandbox_servers")?.samples ?? [];
    expect(new Set(counted.map(({ labels }) => labels["server_name"]))).toEqual(new Set(names));
  });
});

it("counts deviations past a hundred distinct fields as other, for the life of the process", () => {
  const registry = new Registry();
  const service = createServiceMetrics(registry, ["us"], ["list_sandboxes"]);
  for (let field = 0; field < maxDistinctFields + 50; field += 1) {
    service.deviated(deviationOf(`field_${field}`, 2));
  }
  service.deviated(deviationOf("field_0", 1));
  const fields = registry.getSingleMetric("sandwatch_schema_deviations_total");
  return expect(fields?.get()).resolves.toMatchObject({
    values: expect.toSatisfy((values: readonly { labels: { field: string }; value: number }[]) => {
      const byField = new Map(values.map(({ labels, value }) => [labels.field, value]));
      return (
        byField.size === maxDistinctFields + 1 &&
        byField.get("field_0") === 3 &&
        byField.get("other") === 100
      );
    }),
  });
});

it("has a row in docs/metrics.md for each family, with its type and labels", () => {
  const document = readFileSync(new URL("../../docs/metrics.md", import.meta.url), "utf8");
  const documented: Record<string, readonly string[]> = {};
  const rows = document.matchAll(/^\| (`sand[^|]+) \| ([a-z]+) +\| ([^|]*)\| [^|]+\|$/gm);
  for (const [, names = "", type = "", labels = ""] of rows) {
    const labelNames = [...labels.matchAll(/\w+/g)].map(([label]) => label);
    for (const [, name = ""] of names.matchAll(/`(\w+)`/g)) {
      documented[name] = [type, ...labelNames.toSorted((a, b) => (a < b ? -1 : 1))];
    }
  }
  expect(documented).toEqual(promised);
});
