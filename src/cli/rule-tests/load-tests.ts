import { dirname, resolve } from "node:path";
import type { Config } from "../../config/config.ts";
import { configuredTargets } from "../../config/configured-targets.ts";
import type { Environment } from "../../config/environment.ts";
import type { Evidence } from "../../config/evidence.ts";
import { toFaults } from "../../config/faults.ts";
import type { Fault } from "../../config/faults.ts";
import { issueFindings } from "../../config/issue-findings.ts";
import { inventSecrets } from "../../config/invent-secrets.ts";
import { loadConfig, parseConfig } from "../../config/load-config.ts";
import type { LoadedConfig } from "../../config/load-config.ts";
import { parseYaml } from "../../config/parse-yaml.ts";
import { readText } from "../../config/read-text.ts";
import type { Target } from "../../fleet/model.ts";
import { checkTest } from "./check-test.ts";
import type { PlacedTest } from "./run-test.ts";
import { testFileSchema } from "./schema.ts";
import type { RuleTest } from "./schema.ts";

/** Tests that can be run. */
export interface Rehearsals {
  readonly config: Config;
  readonly targets: readonly Target[];
  readonly tests: readonly PlacedTest[];
}

export type LoadedTests =
  | { readonly kind: "ok"; readonly rehearsals: Rehearsals }
  /** Of the file named: the tests' own, or that of the configuration. */
  | { readonly kind: "faulty"; readonly file: string; readonly faults: readonly Fault[] };

const longestFile = 4 * 2 ** 20;
const usualEveryMs = 30_000;

/** Reads a file of tests, and the configuration that it names, without its secrets. Never throws. */
export function loadTests(file: string, environment: Environment): LoadedTests {
  const read = readText(file, longestFile);
  if (read.kind === "failed") {
    const found = `a file that cannot be used: ${read.why}`;
    return faulty(
      file,
      toFaults([{ path: [], found, allowed: "tests in YAML" }], () => null),
    );
  }
  const yaml = parseYaml(read.text);
  if (!yaml.value) return faulty(file, toFaults(yaml.findings, yaml.locate));
  const evidence: Evidence = { value: yaml.value.content, origins: new Map() };
  const parsed = testFileSchema.safeParse(evidence.value);
  const issues = parsed.success ? [] : parsed.error.issues;
  const findings = [...yaml.findings, ...issues.flatMap((issue) => issueFindings(issue, evidence))];
  if (!parsed.success || findings.length > 0) {
    return faulty(file, toFaults(findings, yaml.locate));
  }
  const { config: configFile, rules, receivers, tests } = parsed.data;
  if ((configFile === undefined) === (rules === undefined)) {
    const found = rules === undefined ? "neither config nor rules" : "config and rules";
    const allowed = "config: the path of a configuration, or rules: as in one";
    return faulty(file, toFaults([{ path: [], found, allowed }], yaml.locate));
  }
  const from = configFile === undefined ? file : resolve(dirname(file), configFile);
  const loaded =
    configFile === undefined
      ? configOf({ rules, receivers }, tests)
      : loadConfig(from, environment, { withoutSecrets: true });
  if (loaded.kind === "faulty") return faulty(from, loaded.faults);

  const { config } = loaded;
  const targets = configuredTargets(config);
  const misplaced = tests.flatMap((test, index) =>
    checkTest(test, ["tests", index], config, targets, evidence),
  );
  if (misplaced.length > 0) return faulty(file, toFaults(misplaced, yaml.locate));
  return {
    kind: "ok",
    rehearsals: { config, targets, tests: tests.map((test) => placeTest(test, config, targets)) },
  };
}

function faulty(file: string, faults: readonly Fault[]): LoadedTests {
  return { kind: "faulty", file, faults };
}

/** A configuration of just these rules, with every region and key that the tests name. */
function configOf(
  { rules, receivers }: { readonly rules: unknown; readonly receivers: unknown },
  tests: readonly RuleTest[],
): LoadedConfig {
  const places = tests.flatMap((test) => [...test.servers, ...test.targets]);
  const names = (field: "region" | "key", usual: string): readonly string[] => [
    ...new Set([usual, ...places.flatMap((place) => place[field] ?? [])]),
  ];
  const content = {
    regions: Object.fromEntries(
      names("region", "us").map((name) => [name, { base_url: "https://region.invalid" }]),
    ),
    keys: names("key", "research").map((name) => ({ name, api_key: name })),
    alerts: { rules, receivers: receivers ?? [usualReceiver] },
  };
  return parseConfig(inventSecrets(content));
}

const usualReceiver = {
  name: "oncall",
  type: "webhook",
  url: "https://receiver.invalid/",
  group_wait: "0s",
};

/** What a test leaves out: the first target that fits, and how often and how long it polls. */
function placeTest(test: RuleTest, { poll }: Config, targets: readonly Target[]): PlacedTest {
  const everyMs = test.every ?? (poll.schedule.kind === "every" ? poll.schedule.ms : usualEveryMs);
  const timelines = [...test.servers, ...test.targets].map(({ timeline }) => timeline.length);
  const lengthMs = (Math.max(1, ...timelines) - 1) * everyMs;
  const placed = <Place extends { region?: string | undefined; key?: string | undefined }>(
    each: Place,
  ): Place & Target => {
    const target = targets.find(
      ({ region, key }) => (each.region ?? region) === region && (each.key ?? key) === key,
    );
    if (!target) throw new RangeError("a place that was checked is among the targets");
    return { ...each, ...target };
  };
  return {
    ...test,
    every: everyMs,
    until: test.until ?? Math.max(lengthMs, ...test.expect.map(({ at }) => at)),
    servers: test.servers.map(placed),
    targets: test.targets.map(placed),
  };
}
