import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { loadConfig } from "../../src/config/load-config.ts";
import { version } from "../../src/lib/version.ts";
import { alertingRulesOf, readRuleGroups } from "../support/rule-files.ts";

const folder = join(import.meta.dirname, "../../config");

const serviceSchema = z.looseObject({
  image: z.string(),
  build: z.looseObject({ context: z.string() }).optional(),
  command: z.array(z.string()).default([]),
  volumes: z.array(z.string()).default([]),
  ports: z.array(z.string()).default([]),
  profiles: z.array(z.string()).default([]),
  depends_on: z.record(z.string(), z.unknown()).default({}),
  healthcheck: z.looseObject({ test: z.array(z.string()) }).optional(),
});
const composeSchema = z.looseObject({
  services: z.record(z.string(), serviceSchema),
  volumes: z.record(z.string(), z.null()),
});

function readYaml(name: string): unknown {
  return parse(readFileSync(join(folder, name), "utf8"));
}

const { services, volumes } = composeSchema.parse(readYaml("compose.yaml"));
const named = Object.entries(services);

const simulated = loadConfig(
  join(folder, "compose/simulated.yaml"),
  { SANDWATCH_TOKEN: "a-token-of-the-environment" },
  { logFormat: "json" },
);
if (simulated.kind !== "ok") throw new Error(JSON.stringify(simulated.faults));
const { config } = simulated;

describe("the containers", () => {
  it("have pinned images, sandwatch's own of this version and built once, and health checks", () => {
    for (const [, { image }] of named) expect(image).toMatch(/:v?\d+\.\d+\.\d+$/);
    const own = named.filter(([, { image }]) => image.startsWith("sandwatch:"));
    expect(own.map(([, { image }]) => image)).toEqual(Array(2).fill(`sandwatch:${version}`));
    expect(own.filter(([, { build }]) => build !== undefined)).toHaveLength(1);
    const unchecked = named.filter(([, { healthcheck }]) => !healthcheck).map(([name]) => name);
    expect(unchecked).toEqual(["sandwatch"]);
    expect(readFileSync(join(folder, "../Dockerfile"), "utf8")).toMatch(/^HEALTHCHECK /m);
  });

  it("are open to this machine only", () => {
    const ports = named.flatMap(([, { ports: own }]) => own);
    expect(ports).toHaveLength(4);
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:(\d+):\1$/);
  });

  it("mount only what exists, and wait only for one another", () => {
    for (const mount of named.flatMap(([, { volumes: own }]) => own)) {
      const [source = ""] = mount.replace(/\$\{\w+:-([^}]+)\}/, "$1").split(":");
      const exists = source.startsWith(".") ? existsSync(join(folder, source)) : source in volumes;
      expect([source, exists]).toEqual([source, true]);
    }
    const awaited = named.flatMap(([, { depends_on }]) => Object.keys(depends_on));
    expect(Object.keys(services)).toEqual(expect.arrayContaining(awaited));
  });

  it("watch the simulated service by default: its profile is on", () => {
    const environment = parseEnv(readFileSync(join(folder, ".env"), "utf8"));
    expect(environment).toEqual({ COMPOSE_PROFILES: "simulator" });
    const inProfile = named.filter(([, { profiles }]) => profiles.length > 0);
    expect(inProfile).toMatchObject([["simulator", { profiles: ["simulator"] }]]);
    for (const [region, { baseUrl }] of config.regions) {
      expect(baseUrl).toBe(`http://simulator:9750/${region}`);
    }
    expect(services["simulator"]?.command.slice(0, 3)).toEqual(["simulate", "--host", "0.0.0.0"]);
  });
});

describe("the parts of the stack", () => {
  it("find one another", () => {
    expect(config.http).toMatchObject({ host: "::", port: 9740 });
    expect(readYaml("compose/prometheus.yaml")).toMatchObject({
      rule_files: ["/etc/prometheus/rules/*.rules.yaml"],
      alerting: { alertmanagers: [{ static_configs: [{ targets: ["alertmanager:9093"] }] }] },
      scrape_configs: [
        { job_name: "sandwatch", static_configs: [{ targets: ["sandwatch:9740"] }] },
      ],
    });
    expect(readYaml("compose/grafana-datasource.yaml")).toMatchObject({
      datasources: [{ type: "prometheus", url: "http://prometheus:9090", isDefault: true }],
    });
    const [dashboards] = (services["grafana"]?.volumes ?? []).filter((mount) =>
      mount.startsWith("./grafana:"),
    );
    expect(dashboards?.split(":")[1]).toBe("/var/lib/grafana/dashboards");
    expect(readYaml("compose/grafana-dashboards.yaml")).toMatchObject({
      providers: [{ type: "file", options: { path: "/var/lib/grafana/dashboards" } }],
    });
  });

  it("notify of each fault once: Alertmanager inhibits by alerts that exist", () => {
    const matchers = z.array(z.string());
    const rule = z.looseObject({ source_matchers: matchers, target_matchers: matchers });
    const { inhibit_rules: rules } = z
      .looseObject({ inhibit_rules: z.array(rule) })
      .parse(readYaml("compose/alertmanager.yaml"));
    const own = config.alerts.rules.map(({ name }) => name);
    const known = [...alertingRulesOf(readRuleGroups()).map(({ alert }) => alert), ...own];
    const matched = rules
      .flatMap((each) => [...each.source_matchers, ...each.target_matchers])
      .flatMap((each) => /^alertname (?:=|=~) "?([^"]+)"?$/.exec(each)?.[1]?.split("|") ?? [each]);
    expect(matched.length).toBeGreaterThan(8);
    expect(matched.filter((name) => !known.includes(name))).toEqual([]);
    const sources = rules.flatMap((each) => each.source_matchers);
    expect(sources).toEqual(expect.arrayContaining(own.map((name) => `alertname = ${name}`)));
  });
});
