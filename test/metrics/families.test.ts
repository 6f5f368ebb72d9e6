import { readFileSync } from "node:fs";
import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { failureReasons, statuses, type Status } from "../../src/fleet/model.ts";
import { createServiceMetrics, maxDistinctFields } from "../../src/metrics/counters.ts";
import { serverFamilies } from "../../src/metrics/server-families.ts";
import { server } from "../support/fleet.ts";
import { deviationOf, eventfulFamilies, meterFleet, parseExposition } from "./exposition.ts";

/** Each family of docs/metrics.md, with its type and its labels in alphabetical order. */
function documentedFamilies(): ReadonlyMap<string, readonly string[]> {
  const document = readFileSync(new URL("../../docs/metrics.md", import.meta.url), "utf8");
  const rows = document.matchAll(/^\| (`sand[^|]+) \| ([a-z]+) +\| ([^|]*)\| [^|]+\|$/gm);
  return new Map(
    Array.from(rows, ([, names = "", type = "", labels = ""]) => {
      const labelNames = [...labels.matchAll(/\w+/g)].map(([label]) => label);
      return Array.from(names.matchAll(/`(\w+)`/g), ([, name = ""]) => {
        return [name, [type, ...labelNames.toSorted()]] as const;
      });
    }).flat(),
  );
}

describe("the families", () => {
  it("are the documented ones, with their types and labels, and each has a help", async () => {
    const families = [...(await eventfulFamilies()).values()];
    const ours = families.filter(({ name }) => /^(sandbox|sandwatch)_/.test(name));
    const found = ours.map(({ name, type, samples }) => {
      const labels = new Set(samples.flatMap((sample) => Object.keys(sample.labels)));
      return [name, [type, ...[...labels].filter((label) => label !== "le").toSorted()]] as const;
    });
    expect(new Map(found)).toEqual(documentedFamilies());
    for (const { help, samples } of ours) {
      expect(help).toMatch(/^[A-Z].+\.$|; absent when there is none\.$/);
      expect(samples.length).toBeGreaterThan(0);
      for (const { value } of samples) expect(value).not.toBeNaN();
    }
  });

  it("lack exactly those by server if these are turned off", async () => {
    const families = await eventfulFamilies({ perServer: false });
    const missing = [...documentedFamilies().keys()].filter((name) => !families.has(name));
    expect(missing.toSorted()).toEqual(serverFamilies.map(({ name }) => name).toSorted());
  });
});

describe("before anything happened", () => {
  const families = async () => parseExposition(await meterFleet().render());

  it("counters are zero for every closed set of labels", async () => {
    const found = await families();
    const seriesOf = (name: string) =>
      (found.get(name)?.samples ?? []).map(({ labels, value }) => ({ ...labels, value }));
    const target = { region: "us", key: "research" };
    expect(seriesOf("sandwatch_polls_total")).toEqual([{ ...target, value: 0 }]);
    expect(seriesOf("sandbox_unobserved_seconds_total")).toEqual([{ ...target, value: 0 }]);
    expect(seriesOf("sandwatch_poll_failures_total")).toEqual(
      failureReasons.map((reason) => ({ ...target, reason, value: 0 })),
    );
    expect(seriesOf("sandwatch_notification_failures_total")).toEqual(
      ["timeout", "expired"].map((reason) => ({ receiver: "oncall", reason, value: 0 })),
    );
    expect(seriesOf("sandwatch_api_requests_total").length).toBe(4);
    const rules = {
      "server-error": "critical",
      "target-down": "warning",
      "receiver-failing": "warning",
    };
    const states = ["pending", "inhibited", "silenced", "acknowledged", "firing"];
    expect(seriesOf("sandwatch_incidents").map((labels) => Object.values(labels))).toEqual(
      Object.entries(rules).flatMap((rule) => states.map((state) => [...rule, state, 0])),
    );
    for (const name of ["notifications_pending", "notifications_dead", "notifications_total"]) {
      expect(seriesOf(`sandwatch_${name}`)).toEqual([{ receiver: "oncall", value: 0 }]);
    }
  });

  it("histograms are zero", async () => {
    const found = await families();
    for (const [name, series] of [
      ["sandbox_server_status_duration_seconds", statuses.length],
      ["sandwatch_poll_duration_seconds", 1],
      ["sandwatch_api_request_duration_seconds", 4],
      ["sandwatch_notification_delay_seconds", 1],
      ["sandwatch_store_commit_duration_seconds", 1],
    ] as const) {
      const samples = found.get(name)?.samples ?? [];
      const counts = samples.filter((sample) => sample.name === `${name}_count`);
      expect([name, counts.map(({ value }) => value)]).toEqual([name, Array(series).fill(0)]);
    }
  });

  it("nothing is claimed of a target that was not polled", async () => {
    const found = await families();
    const claims = ["sandwatch_target_up", "sandbox_sandboxes", "sandbox_servers"];
    for (const name of [...claims, ...serverFamilies.map((each) => each.name)]) {
      expect([name, found.get(name)?.samples]).toEqual([name, []]);
    }
    const success = found.get("sandwatch_target_last_success_timestamp_seconds");
    expect(success?.samples).toMatchObject([{ value: 0 }]);
  });
});

describe("names from the service", () => {
  const named = (names: readonly string[], status: Status = "idle") => {
    const servers = names.map((name, index) => server(`s${index}`, { name, status }));
    const sandbox = {
      id: "box",
      status: "idle" as const,
      benchmark: null,
      createdAt: null,
      servers,
    };
    return { complete: true, sandboxes: [sandbox] };
  };

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
    expect(families.get("sandbox_server_info")?.samples.length).toBe(250);
  });

  it("may be anything: what is exposed can be read back", async () => {
    const { poll, render } = meterFleet();
    const names = ['quote "', "back\\slash", "new\nline", "\\n", "沙箱 🏖", "", "a,b={}", "\r\t\0"];
    poll(named(names));
    const families = parseExposition(await render());
    const infos = families.get("sandbox_server_info")?.samples ?? [];
    expect(infos.map(({ labels }) => labels["server_name"])).toEqual(names);
    const counted = families.get("sandbox_servers")?.samples ?? [];
    expect(new Set(counted.map(({ labels }) => labels["server_name"]))).toEqual(new Set(names));
  });

  it("of fields past the hundredth are counted as other", async () => {
    const registry = new Registry();
    const service = createServiceMetrics(registry, ["us"], ["list_sandboxes"]);
    for (let field = 0; field < maxDistinctFields + 50; field += 1) {
      service.deviated(deviationOf(`field_${field}`, 2));
    }
    service.deviated(deviationOf("field_0", 1));
    const name = "sandwatch_schema_deviations_total";
    const text = await registry.getSingleMetricAsString(name);
    const samples = parseExposition(`${text}\n`).get(name)?.samples ?? [];
    const byField = new Map(samples.map(({ labels, value }) => [labels["field"], value]));
    expect(byField.size).toBe(maxDistinctFields + 1);
    expect([byField.get("field_0"), byField.get("other")]).toEqual([3, 100]);
  });
});
