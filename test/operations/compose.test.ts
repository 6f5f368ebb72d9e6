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
  image: z.string().default(""),
  environment: z.record(z.string(), z.string()).default({}),
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

it("the variables of the Compose files are explained in `.env`", () => {
  const files = ["compose.yaml", "compose.standby.yaml"].map((name) =>
    readFileSync(join(folder, name), "utf8"),
  );
  const variables = Array.from(files.join("").matchAll(/\$\{(\w+)/g), ([, name = ""]) => name);
  expect(variables).toContain("SANDWATCH_CONFIG");
  const explained = readFileSync(join(folder, ".env"), "utf8");
  expect(variables.filter((name) => !explained.includes(`${name}=`))).toEqual([]);
});

describe("the active process and its standby", () => {
  const names = ["sandwatch", "sandwatch-2"];
  const {
    services: { postgres, ...others },
    volumes: ownVolumes,
  } = composeSchema.parse(
    parse(readFileSync(join(folder, "compose.standby.yaml"), "utf8"), { merge: true }),
  );

  it("have a configuration that differs from the simulated one in the store and the cluster", () => {
    const processes = Object.entries(others).filter(([, { image }]) =>
      image.startsWith("sandwatch:"),
    );
    expect(processes.map(([name]) => name)).toEqual(names);
    const addresses = processes.map(([name, { environment, image, depends_on }]) => {
      expect([image, environment["SANDWATCH_HOST"]]).toEqual([`sandwatch:${version}`, name]);
      expect(Object.keys(depends_on)).toEqual(["postgres", "simulator"]);
      const path = join(folder, "compose/standby.yaml");
      const variables = {
        SANDWATCH_TOKEN: "a-token-of-the-environment",
        POSTGRES_PASSWORD: "p",
        SANDWATCH_HOST: name,
      };
      const loaded = loadConfig(path, variables, { logFormat: "json" });
      return loaded.kind === "ok" ? loaded.config.cluster?.address : loaded.faults;
    });
    expect(addresses).toEqual(names.map((name) => `http://${name}:9740`));
    const {
      store: _,
      cluster: __,
      ...same
    } = z.looseObject({}).parse(readYaml("compose/standby.yaml"));
    expect(same).toEqual(readYaml("compose/simulated.yaml"));
  });

  it("are open to this machine only, and mount only what exists", () => {
    const ports = Object.values(others).flatMap((each) => each.ports);
    expect(ports).toEqual(["127.0.0.1:9741:9740"]);
    expect(postgres).toMatchObject({
      ports: [],
      image: expect.stringMatching(/^postgres:\d+\.\d+$/),
    });
    const mounts = [...Object.values(others), postgres].flatMap((each) => each?.volumes ?? []);
    for (const mount of mounts) {
      const [source = ""] = mount.replace(/\$\{\w+:-([^}]+)\}/, "$1").split(":");
      const exists = source.startsWith(".")
        ? existsSync(join(folder, source))
        : source in { ...volumes, ...ownVolumes };
      expect([source, exists]).toEqual([source, true]);
    }
  });

  it("are all scraped", () => {
    const one = readFileSync(join(folder, "compose/prometheus.yaml"), "utf8");
    const all = names.map((name) => `"${name}:9740"`).join(", ");
    expect(readYaml("compose/prometheus-standby.yaml")).toEqual(
      parse(one.replace('"sandwatch:9740"', all)),
    );
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
