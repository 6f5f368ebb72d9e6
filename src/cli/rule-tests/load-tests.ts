import { dirname, resolve } from "node:path";
import type { Config } from "../../config/config.ts";
import { configuredTargets } from "../../config/configured-targets.ts";
import type { Environment } from "../../config/environment.ts";
import type { Evidence } from "../../config/evidence.ts";
import { formatFaults, toFaults } from "../../config/faults.ts";
import type { Finding, Path } from "../../config/faults.ts";
import { issueFindings, repeatedFindings, unknownFindings } from "../../config/issue-findings.ts";
import { inventSecrets } from "../../config/invent-secrets.ts";
import { loadConfig, parseConfig } from "../../config/load-config.ts";
import { parseYaml } from "../../config/parse-yaml.ts";
import { readText } from "../../config/read-text.ts";
import { targetName } from "../../fleet/model.ts";
import type { Target } from "../../fleet/model.ts";
import { wrongUse } from "../exit-codes.ts";
import type { CommandError } from "../exit-codes.ts";
import { testFileSchema } from "./schema.ts";
import type { RuleTest, TestFile } from "./schema.ts";

/** Tests that can be run. */
export interface LoadedTests {
  readonly config: Config;
  readonly tests: readonly PlacedTest[];
}

/** A test whose servers and targets all have a region and a key. */
export interface PlacedTest extends Omit<RuleTest, "servers" | "targets" | "every" | "until"> {
  /** Between two polls of a target, and from the first one to the last. Milliseconds. */
  readonly every: number;
  readonly until: number;
  readonly servers: readonly (RuleTest["servers"][number] & Target)[];
  readonly targets: readonly (RuleTest["targets"][number] & Target)[];
}

const longestFile = 4 * 2 ** 20;
const usualEveryMs = 30_000;

/**
 * Reads a file of tests, and the configuration that it names, without its secrets.
 *
 * @throws {CommandError} with every fault
 */
export function loadTests(file: string, environment: Environment): LoadedTests {
  const read = readText(file, longestFile);
  if (read.kind === "failed") throw wrongUse(`${file} cannot be used: ${read.why}`);
  const { value, findings, locate } = parseYaml(read.text);
  const refusal = (found: readonly Finding[]): CommandError =>
    wrongUse(formatFaults(file, toFaults(found, locate)));
  if (!value) throw refusal(findings);
  const evidence: Evidence = { value: value.content, origins: new Map() };
  const parsed = testFileSchema.safeParse(value.content);
  const issues = parsed.error?.issues.flatMap((issue) => issueFindings(issue, evidence)) ?? [];
  if (!parsed.success || findings.length > 0) throw refusal([...findings, ...issues]);

  const config = configOf(file, parsed.data, environment);
  const targets = configuredTargets(config);
  const tests = parsed.data.tests.map((test) => placeTest(test, config, targets));
  const misplaced = tests.flatMap((test, index) =>
    checkTest(test, ["tests", index], config, evidence),
  );
  if (misplaced.length > 0) throw refusal(misplaced);
  return { config, tests };
}

/** The configuration that the file names, or one of just its rules, with every region and key that the tests name. */
function configOf(file: string, tests: TestFile, environment: Environment): Config {
  const { config: named, rules, receivers = [usualReceiver] } = tests;
  const from = named === undefined ? file : resolve(dirname(file), named);
  const places = tests.tests.flatMap((test) => [...test.servers, ...test.targets]);
  const regions = new Set(["us", ...places.flatMap(({ region }) => region ?? [])]);
  const keys = new Set(["research", ...places.flatMap(({ key }) => key ?? [])]);
  const content = {
    regions: Object.fromEntries(Array.from(regions, (name) => [name, { base_url: "" }])),
    keys: Array.from(keys, (name) => ({ name, api_key: "" })),
    alerts: { rules, receivers },
  };
  const loaded =
    named === undefined
      ? parseConfig(inventSecrets(content))
      : loadConfig(from, environment, { withoutSecrets: true });
  if (loaded.kind === "ok") return loaded.config;
  throw wrongUse(formatFaults(from, loaded.faults));
}

const usualReceiver = { name: "oncall", type: "webhook", url: "", group_wait: "0s" };

interface Place {
  readonly region?: string | undefined;
  readonly key?: string | undefined;
}

/** What a test omits: the first target that fits, and how often and how long it polls. */
function placeTest(test: RuleTest, { poll }: Config, targets: readonly Target[]): PlacedTest {
  const every = test.every ?? (poll.schedule.kind === "every" ? poll.schedule.ms : usualEveryMs);
  const timelines = [...test.servers, ...test.targets].map(({ timeline }) => timeline.length);
  const lengthMs = (Math.max(1, ...timelines) - 1) * every;
  const placed = <Each extends Place>(each: Each): Each & Target => {
    const { region = "", key = "" } = each;
    const target = targets.find(
      (known) => known.region === (region || known.region) && known.key === (key || known.key),
    );
    return { ...each, ...(target ?? { region, key }) };
  };
  return {
    ...test,
    every,
    until: test.until ?? Math.max(lengthMs, ...test.expect.map(({ at }) => at)),
    servers: test.servers.map(placed),
    targets: test.targets.map(placed),
  };
}

/** What is wrong between a test and the configuration that it is for, and within the test. */
function checkTest(
  { servers, targets, expect, acknowledge }: PlacedTest,
  path: Path,
  config: Config,
  evidence: Evidence,
): readonly Finding[] {
  const { rules, receivers } = config.alerts;
  const mentions = <Each>(
    list: string,
    each: readonly Each[],
    field: string,
    valueOf: (each: Each) => string | undefined,
  ) => each.map((item, index) => ({ path: [...path, list, index, field], value: valueOf(item) }));
  const named = (names: readonly { readonly name: string }[]) =>
    names.map(({ name }) => ({ path: [], value: name }));
  const known = new Set(configuredTargets(config).map(targetName));
  const unknown = [
    ...mentions("servers", servers, "server", targetName),
    ...mentions("targets", targets, "timeline", targetName),
  ].filter(({ value }) => !known.has(value ?? ""));
  return [
    ...unknown.map(({ path: at, value }) => ({
      path: at,
      found: `the target ${value}`,
      allowed: "a configured target",
    })),
    ...repeatedFindings(
      [
        ...mentions("servers", servers, "server", ({ region, key, sandbox, server }) =>
          JSON.stringify([region, key, sandbox, server]),
        ),
        ...mentions("targets", targets, "timeline", targetName),
      ],
      evidence,
      "each server of a sandbox and each target once",
    ),
    ...unknownFindings(
      [
        ...mentions("expect", expect, "rule", ({ rule }) => rule),
        ...mentions("acknowledge", acknowledge, "rule", ({ rule }) => rule),
      ],
      named(rules),
      evidence,
      "rule",
    ),
    ...unknownFindings(
      mentions("expect", expect, "receiver", ({ receiver }) => receiver),
      named(receivers),
      evidence,
      "receiver",
    ),
  ];
}
