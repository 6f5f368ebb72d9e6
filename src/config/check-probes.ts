import { matchesAny } from "../alerts/rule.ts";
import { lookupWords, takesId } from "../fleet/lookup-words.ts";
import type { LookupWord } from "../fleet/lookup-words.ts";
import { describe, type Evidence } from "./evidence.ts";
import type { Finding, Path } from "./faults.ts";
import { repeatedFindings, unknownFindings } from "./issue-findings.ts";
import { asPatterns, mention, mentions } from "./mentions.ts";
import type { Mention } from "./issue-findings.ts";
import type { Outline } from "./outline.ts";

type OutlinedProbe = Outline["probes"][number];

/** What is wrong between the settings of probes, and between them and the rest of the file. */
export function checkProbes(outline: Outline, evidence: Evidence): Finding[] {
  const { probes } = outline;
  const regions = [...outline.regions.keys()].map((name) => mention(name, "regions", name));
  const keys = outline.keys.map(({ name }, index) => mention(name, "keys", index, "name"));
  return [
    ...repeatedFindings(probeNames(outline), evidence, "a name that no other probe has"),
    ...probes.flatMap((probe, index) => {
      const path = ["probes", index] as const;
      const mentioned = {
        regions: mentions(probe.regions, [...path, "regions"]),
        keys: mentions(probe.keys, [...path, "keys"]),
      };
      const unknown = [
        ...unknownFindings(mentioned.regions, regions, evidence, "region"),
        ...unknownFindings(mentioned.keys, keys, evidence, "key"),
      ];
      return [
        ...repeatedFindings(mentioned.regions, evidence, "each region once"),
        ...repeatedFindings(mentioned.keys, evidence, "each key once"),
        ...unknown,
        ...(unknown.length === 0 ? checkTargets(outline, probe, path) : []),
        ...checkSchedule(probe, path),
        ...checkId(probe, path, evidence),
        ...checkExpectation(probe, path, evidence),
      ];
    }),
  ];
}

/** The names of the probes, where each stands. */
export function probeNames({ probes }: Outline): Mention[] {
  return probes.map(({ name }, index) => mention(name, "probes", index, "name"));
}

/** A rule that is about no probe can never hold. */
export function checkProbeRule(
  rule: Outline["alerts"]["rules"][number],
  outline: Outline,
  path: Path,
): Finding[] {
  if (outline.probes.length === 0) {
    const found = "a rule on probes, but no probes";
    return [{ path: [...path, "on"], found, allowed: "another subject, or probes in the file" }];
  }
  const { region, key, probe } = rule.match;
  const patterns = { region: asPatterns(region), key: asPatterns(key), probe: asPatterns(probe) };
  const isAbout = outline.probes.some(
    (each) =>
      (each.name === undefined || matchesAny(patterns.probe, each.name)) &&
      targetsOf(outline, each).some(
        (target) =>
          target.region === undefined ||
          target.key === undefined ||
          (matchesAny(patterns.region, target.region) && matchesAny(patterns.key, target.key)),
      ),
  );
  if (isAbout) return [];
  const found = "no probe with any key in any region that fits";
  return [{ path: [...path, "match"], found, allowed: "what fits at least one probe" }];
}

function checkTargets(outline: Outline, probe: OutlinedProbe, path: Path): Finding[] {
  if (outline.keys.length === 0 || targetsOf(outline, probe).length > 0) return [];
  const found = "no key that is in any of its regions";
  return [{ path, found, allowed: "regions and keys of which at least one has the other" }];
}

/** What could not be read is undefined. */
function targetsOf({ regions, keys }: Outline, probe: OutlinedProbe) {
  const everyRegion: readonly (string | undefined)[] = [...regions.keys()];
  const allows = (named: readonly (string | undefined)[], value: string | undefined): boolean =>
    named.length === 0 || value === undefined || named.includes(value) || named.includes(undefined);
  return keys.flatMap(({ name: key, regions: named }) =>
    (named.length === 0 ? everyRegion : named)
      .map((region) => ({ region, key }))
      .filter((target) => allows(probe.regions, target.region) && allows(probe.keys, target.key)),
  );
}

function checkSchedule({ schedule, every }: OutlinedProbe, path: Path): Finding[] {
  if (schedule === undefined || every === undefined) return [];
  return [{ path: [...path, "every"], found: "schedule beside it", allowed: "one of the two" }];
}

function checkId({ operation, id }: OutlinedProbe, path: Path, evidence: Evidence): Finding[] {
  if (!isWord(operation)) return [];
  const idPath = [...path, "id"];
  const takes = takesId(operation);
  if (takes && id === undefined) {
    return [{ path: idPath, found: "nothing", allowed: `the id that ${operation} asks for` }];
  }
  if (takes || id === undefined) return [];
  const found = describe(evidence, idPath);
  return [{ path: idPath, found, allowed: `nothing: ${operation} takes no id` }];
}

const onlyFor: Readonly<Record<"success" | "at_least" | "fields", readonly LookupWord[]>> = {
  success: ["white-label"],
  at_least: ["universes", "sandboxes"],
  fields: lookupWords,
};

function checkExpectation(
  { operation, expect }: OutlinedProbe,
  path: Path,
  evidence: Evidence,
): Finding[] {
  const given = (["success", "at_least", "fields"] as const).filter(
    (setting) => expect[setting] !== undefined,
  );
  const isRefusal = expect.status !== undefined && expect.status !== 200 && expect.status !== "200";
  return given.flatMap((setting) => {
    const at = [...path, "expect", setting];
    const found = describe(evidence, at);
    if (isRefusal) return [{ path: at, found, allowed: "nothing beside a status other than 200" }];
    if (!isWord(operation) || onlyFor[setting].includes(operation)) return [];
    const operations = onlyFor[setting].join(", ");
    return [{ path: at, found, allowed: `nothing: it is for operation ${operations}` }];
  });
}

function isWord(operation: string | undefined): operation is LookupWord {
  return lookupWords.some((word) => word === operation);
}
