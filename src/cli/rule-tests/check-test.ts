import type { Config } from "../../config/config.ts";
import { describe } from "../../config/evidence.ts";
import type { Evidence } from "../../config/evidence.ts";
import type { Finding, Path } from "../../config/faults.ts";
import { repeatedFindings, unknownFindings } from "../../config/issue-findings.ts";
import type { Target } from "../../fleet/model.ts";
import type { RuleTest } from "./schema.ts";

/** What is wrong between a test and the configuration that it is for, and within the test. */
export function checkTest(
  test: RuleTest,
  path: Path,
  { alerts, regions, keys }: Config,
  targets: readonly Target[],
  evidence: Evidence,
): Finding[] {
  const unknown = (
    what: string,
    field: string,
    at: Path,
    name: string | undefined,
    known: readonly string[],
  ) =>
    unknownFindings(
      [{ path: [...path, ...at, field], value: name }],
      known.map((value) => ({ path: [], value })),
      evidence,
      what,
    );
  const ruleNames = alerts.rules.map(({ name }) => name);
  const receiverNames = alerts.receivers.map(({ name }) => name);
  const keyNames = keys.map(({ name }) => name);
  const places = [
    ...test.servers.map((each, index) => ({ each, at: ["servers", index] as const })),
    ...test.targets.map((each, index) => ({ each, at: ["targets", index] as const })),
  ];
  return [
    ...places.flatMap(({ each, at }) => [
      ...unknown("region", "region", at, each.region, [...regions.keys()]),
      ...unknown("key", "key", at, each.key, keyNames),
      ...checkTarget(each, targets, [...path, ...at]),
    ]),
    ...repeatedFindings(
      test.servers.map(({ server, sandbox, region, key }, index) => ({
        path: [...path, "servers", index, "server"],
        value: JSON.stringify([region, key, sandbox, server]),
      })),
      evidence,
      "each server of a sandbox once",
    ),
    ...repeatedFindings(
      test.targets.map(({ region, key }, index) => ({
        path: [...path, "targets", index, "timeline"],
        value: JSON.stringify([region, key]),
      })),
      evidence,
      "one timeline for each target",
    ),
    ...test.expect.flatMap((each, index) => [
      ...unknown("rule", "rule", ["expect", index], each.rule, ruleNames),
      ...unknown("receiver", "receiver", ["expect", index], each.receiver, receiverNames),
    ]),
    ...test.acknowledge.flatMap(({ rule }, index) =>
      unknown("rule", "rule", ["acknowledge", index], rule, ruleNames),
    ),
    ...test.silences.flatMap(({ from, until, match }, index): Finding[] => {
      const at = ["silences", index] as const;
      const end = [...path, ...at, "until"];
      const named = (field: "rule" | "region" | "key", known: readonly string[]): Finding[] =>
        (match[field] ?? [])
          .filter((pattern) => !pattern.includes("*"))
          .flatMap((name) => unknown(field, field, [...at, "match"], name, known));
      return [
        ...named("rule", ruleNames),
        ...named("region", [...regions.keys()]),
        ...named("key", keyNames),
        ...(until > from
          ? []
          : [{ path: end, found: describe(evidence, end), allowed: "a time after from" }]),
      ];
    }),
  ];
}

function checkTarget(
  place: { readonly region?: string | undefined; readonly key?: string | undefined },
  targets: readonly Target[],
  path: Path,
): Finding[] {
  const isThere = targets.some(
    (target) =>
      (place.region ?? target.region) === target.region && (place.key ?? target.key) === target.key,
  );
  return isThere
    ? []
    : [{ path, found: "a key in a region that it is not polled in", allowed: "a target" }];
}
