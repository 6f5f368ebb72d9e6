import { dirname, resolve } from "node:path";
import type { Config } from "../../config/config.ts";
import { configuredTargets } from "../../config/configured-targets.ts";
import type { Environment } from "../../config/resolve-references.ts";
import { describeText, formatFaults, isPlainName, issueFindings } from "../../config/faults.ts";
import { toFaults } from "../../config/faults.ts";
import type { Finding, Path } from "../../config/faults.ts";
import { fillPlaceholderSecrets } from "../../config/placeholder-secrets.ts";
import { loadConfig, parseConfig } from "../../config/load-config.ts";
import { nearestName } from "../../config/nearest-name.ts";
import { readYaml } from "../../config/yaml-file.ts";
import type { Target } from "../../fleet/model.ts";
import { wrongUse } from "../exit-codes.ts";
import { testFileSchema } from "./schema.ts";
import type { RuleTest, TestFile } from "./schema.ts";

const usualEveryMs = 30_000;

/** Reads a file of tests, and the configuration that it names, without its secrets. */
export function loadTests(file: string, environment: Environment) {
  const yaml = readYaml(file, "tests in YAML");
  if (yaml.kind === "faulty") throw wrongUse(formatFaults(file, yaml.faults));
  const parsed = testFileSchema.safeParse(yaml.value);
  const evidence = { value: yaml.value, origins: new Map() };
  if (!parsed.success) {
    const findings = issueFindings(parsed.error, evidence);
    throw wrongUse(formatFaults(file, toFaults(findings, yaml.locate)));
  }
  const config = configOf(file, parsed.data, environment);
  const unknown = parsed.data.tests.flatMap((test, index) => unknownNames(test, index, config));
  if (unknown.length > 0) throw wrongUse(formatFaults(file, toFaults(unknown, yaml.locate)));
  return { config, tests: parsed.data.tests.map((test) => placeTest(test, config)) };
}

/** The configuration that the file names, or one of just its rules, with every region and key that the tests name. */
function configOf(file: string, tests: TestFile, environment: Environment): Config {
  const { config: named, rules, receivers = [usualReceiver] } = tests;
  const from = named === undefined ? file : resolve(dirname(file), named);
  const places = tests.tests.flatMap((test) => [
    ...test.servers,
    ...test.sandboxes,
    ...test.targets,
  ]);
  const regions = new Set(["us", ...places.flatMap(({ region }) => region ?? [])]);
  const keys = new Set(["research", ...places.flatMap(({ key }) => key ?? [])]);
  const content = {
    regions: Object.fromEntries(Array.from(regions, (name) => [name, { base_url: "" }])),
    keys: Array.from(keys, (name) => ({ name, api_key: "" })),
    alerts: { rules, receivers },
  };
  const loaded =
    named === undefined
      ? parseConfig(fillPlaceholderSecrets(content))
      : loadConfig(from, environment, { withoutSecrets: true });
  if (loaded.kind === "ok") return loaded.config;
  throw wrongUse(formatFaults(from, loaded.faults));
}

/** Nothing would come of a silence or an acknowledgement with a misspelt name. */
function unknownNames(test: RuleTest, index: number, config: Config): readonly Finding[] {
  const known = {
    rule: config.alerts.rules.map(({ name }) => name),
    receiver: config.alerts.receivers.map(({ name }) => name),
    region: [...config.regions.keys()],
    key: config.keys.map(({ name }) => name),
  };
  const check = (
    what: keyof typeof known,
    names: string | readonly string[] | undefined,
    ...path: Path
  ): Finding[] =>
    [names ?? []]
      .flat()
      .filter((name) => !name.includes("*") && !known[what].includes(name))
      .map((name) => ({
        path: ["tests", index, ...path, what],
        found: describeText(name, known[what]),
        allowed: `the name of a configured ${what}: ${known[what].filter(isPlainName).join(", ")}`,
        suggestion: nearestName(name, known[what]),
      }));
  return [
    ...test.expect.flatMap(({ rule, receiver }, at) => [
      ...check("rule", rule, "expect", at),
      ...check("receiver", receiver, "expect", at),
    ]),
    ...test.acknowledge.flatMap(({ rule }, at) => check("rule", rule, "acknowledge", at)),
    ...test.silences.flatMap(({ match }, at) =>
      (["rule", "region", "key"] as const).flatMap((field) =>
        check(field, match[field], "silences", at, "match"),
      ),
    ),
  ];
}

const usualReceiver = { name: "oncall", type: "webhook", url: "", group_wait: "0s" };

export type PlacedTest = ReturnType<typeof placeTest>;

/** Adds what a test omits: the first target that fits, and how often and how long it polls. */
function placeTest(test: RuleTest, config: Config) {
  const { schedule } = config.poll;
  const every = test.every ?? (schedule.kind === "every" ? schedule.ms : usualEveryMs);
  const timelines = [...test.servers, ...test.sandboxes, ...test.targets].map(
    ({ timeline }) => timeline.length,
  );
  const lengthMs = (Math.max(1, ...timelines) - 1) * every;
  const placed = <Each extends { region?: string | undefined; key?: string | undefined }>(
    each: Each,
  ): Each & Target => {
    const target = configuredTargets(config).find(
      ({ region, key }) => (each.region ?? region) === region && (each.key ?? key) === key,
    );
    if (target) return { ...each, ...target };
    const named = [each.region, each.key].filter(Boolean).join("/");
    throw wrongUse(`Test ${JSON.stringify(test.name)} names no configured target: ${named}.`);
  };
  return {
    ...test,
    every,
    until: test.until ?? Math.max(lengthMs, ...test.expect.map(({ at }) => at)),
    servers: test.servers.map(placed),
    sandboxes: test.sandboxes.map(placed),
    targets: test.targets.map(placed),
  };
}
