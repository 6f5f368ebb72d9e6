import { matchesAny } from "../alerts/rule.ts";
import { receiverRule } from "../alerts/judge-receivers.ts";
import { checkProbeRule, checkProbes, probeNames } from "./check-probes.ts";
import { leavesUnencrypted, parseWebAddress } from "./address.ts";
import { describe, valueAt, type Evidence } from "./evidence.ts";
import type { Finding, Path } from "./faults.ts";
import { readFlag } from "./fields.ts";
import { repeatedFindings, unknownFindings, type Mention } from "./issue-findings.ts";
import { asPatterns, isPlain, mention, mentions } from "./mentions.ts";
import { outlineSchema, type Outline } from "./outline.ts";
import { defaultRuleNames } from "./to-config.ts";

/** What is wrong between settings each of which may be right for itself. */
export function crossChecks(evidence: Evidence): Finding[] {
  const outline = outlineSchema.parse(evidence.value);
  return [
    ...checkRegions(outline, evidence),
    ...checkKeys(outline, evidence),
    ...checkSchedule(outline),
    ...checkRules(outline, evidence),
    ...checkReceivers(outline, evidence),
    ...checkMaintenance(outline, evidence),
    ...checkProbes(outline, evidence),
  ];
}

function checkRegions(outline: Outline, evidence: Evidence): Finding[] {
  return [...outline.regions].flatMap(([name, region]) =>
    checkEncryption(region.base_url, region.allow_http, ["regions", name, "base_url"], evidence),
  );
}

function checkKeys({ keys, regions }: Outline, evidence: Evidence): Finding[] {
  const names = keys.map((key, index) => mention(key.name, "keys", index, "name"));
  const ownName = "a name that no other key has";
  return [
    ...repeatedFindings(names, evidence, ownName),
    ...checkKeyValues(keys, evidence),
    ...keys.flatMap((key, index) => {
      const mentioned = mentions(key.regions, ["keys", index, "regions"]);
      return [
        ...repeatedFindings(mentioned, evidence, "each region once"),
        ...unknownFindings(mentioned, regionNames(regions), evidence, "region"),
      ];
    }),
  ];
}

/** Two names for one key would each take the rate limit for themselves. */
function checkKeyValues(keys: Outline["keys"], evidence: Evidence): Finding[] {
  const owners = new Map<string, number>();
  return keys.flatMap((key, index) => {
    const owner = key.api_key === undefined ? undefined : owners.get(key.api_key);
    if (key.api_key !== undefined && owner === undefined) owners.set(key.api_key, index);
    if (owner === undefined) return [];
    const names = [owner, index].map((at) => describe(evidence, ["keys", at, "name"]));
    const found = `one API key under two names, ${names.join(" and ")}`;
    return [{ path: ["keys", index, "api_key"], found, allowed: "an API key under one name" }];
  });
}

function checkSchedule({ poll }: Outline): Finding[] {
  if (poll.schedule === undefined || poll.every === undefined) return [];
  return [{ path: ["poll", "every"], found: "schedule beside it", allowed: "one of the two" }];
}

function checkRules(outline: Outline, evidence: Evidence): Finding[] {
  const { alerts, keys, regions } = outline;
  const names = alerts.rules.map((rule, index) => {
    return mention(rule.name, "alerts", "rules", index, "name");
  });
  const knownKeys = keys.map((key, index) => mention(key.name, "keys", index, "name"));
  const knownReceivers = receiverNames(alerts);
  const heartbeats = heartbeatNames(alerts);
  return [
    ...repeatedFindings(names, evidence, "a name that no other rule has"),
    ...names
      .filter(({ value }) => value === receiverRule.name)
      .map(({ path }) => ({
        path,
        found: `${describe(evidence, path)}, which is built in`,
        allowed: "a name that no other rule has",
      })),
    ...alerts.rules.flatMap((rule, index) => {
      const path = ["alerts", "rules", index] as const;
      const receivers = mentions(rule.receivers, [...path, "receivers"]);
      const matchedRegions = mentions(rule.match.region, [...path, "match", "region"]);
      const matchedKeys = mentions(rule.match.key, [...path, "match", "key"]);
      const matchedProbes = mentions(rule.match.probe, [...path, "match", "probe"]);
      const known = regionNames(regions);
      const unknown = [
        ...unknownFindings(matchedRegions.filter(isPlain), known, evidence, "region"),
        ...unknownFindings(matchedKeys.filter(isPlain), knownKeys, evidence, "key"),
        ...unknownFindings(matchedProbes.filter(isPlain), probeNames(outline), evidence, "probe"),
      ];
      return [
        ...repeatedFindings(receivers, evidence, "each receiver once"),
        ...unknownFindings(receivers, knownReceivers, evidence, "receiver"),
        ...receivers
          .filter(({ value }) => heartbeats.has(value))
          .map((receiver) => ({
            path: receiver.path,
            found: `${describe(evidence, receiver.path)}, which is a heartbeat`,
            allowed: "a receiver of another type: a heartbeat gets no notifications",
          })),
        ...unknown,
        ...(unknown.length > 0
          ? []
          : rule.on === "probe"
            ? checkProbeRule(rule, outline, path)
            : checkMatch(rule.match, { keys, regions }, [...path, "match"])),
      ];
    }),
  ];
}

/** A rule that is about no target can never hold. */
function checkMatch(
  { region, key }: Outline["alerts"]["rules"][number]["match"],
  { keys, regions }: Pick<Outline, "keys" | "regions">,
  path: Path,
): Finding[] {
  const everyRegion = [...regions.keys()];
  const regionPatterns = asPatterns(region);
  const keyPatterns = asPatterns(key);
  const targets = keys.flatMap(({ name, regions: named }) =>
    (named.length === 0 ? everyRegion : named).map((each) => ({ key: name, region: each })),
  );
  const isAbout = targets.some(
    (target) =>
      target.key === undefined ||
      target.region === undefined ||
      (matchesAny(regionPatterns, target.region) && matchesAny(keyPatterns, target.key)),
  );
  return targets.length === 0 || isAbout
    ? []
    : [{ path, found: "no key in any region that fits", allowed: "what fits at least one target" }];
}

function checkReceivers({ alerts }: Outline, evidence: Evidence): Finding[] {
  const ownName = "a name that no other receiver has";
  return [
    ...repeatedFindings(receiverNames(alerts), evidence, ownName),
    ...alerts.receivers.flatMap((receiver, index) => {
      const path = ["alerts", "receivers", index] as const;
      const fields = mentions(receiver.group_by, [...path, "group_by"]);
      return [
        ...checkEncryption(receiver.url, receiver.allow_http, [...path, "url"], evidence),
        ...receiver.urls.flatMap((url, at) =>
          checkEncryption(url, receiver.allow_http, [...path, "urls", at], evidence),
        ),
        ...repeatedFindings(mentions(receiver.urls, [...path, "urls"]), evidence, "each once"),
        ...repeatedFindings(fields, evidence, "each field once"),
      ];
    }),
  ];
}

function checkMaintenance(outline: Outline, evidence: Evidence): Finding[] {
  const { alerts, keys, regions } = outline;
  const at = (index: number, ...path: Path): Path => ["alerts", "maintenance", index, ...path];
  const names = alerts.maintenance.map(({ name }, index) => mention(name, ...at(index, "name")));
  const knownKeys = keys.map((key, index) => mention(key.name, "keys", index, "name"));
  return [
    ...repeatedFindings(names, evidence, "a name that no other window has"),
    ...alerts.maintenance.flatMap(({ match }, index) => {
      const matched = (field: "rule" | "region" | "key" | "probe"): Mention[] =>
        mentions(match[field], at(index, "match", field)).filter(isPlain);
      return [
        ...unknownFindings(matched("rule"), ruleNames(alerts, evidence), evidence, "rule"),
        ...unknownFindings(matched("region"), regionNames(regions), evidence, "region"),
        ...unknownFindings(matched("key"), knownKeys, evidence, "key"),
        ...unknownFindings(matched("probe"), probeNames(outline), evidence, "probe"),
      ];
    }),
  ];
}

/** Without a list of them there are the usual ones; one is built in. */
function ruleNames({ rules }: Outline["alerts"], evidence: Evidence): Mention[] {
  const path = ["alerts", "rules"];
  const named =
    valueAt(evidence.value, path) === undefined
      ? defaultRuleNames.map((name, index) => mention(name, ...path, index, "name"))
      : rules.map((rule, index) => mention(rule.name, ...path, index, "name"));
  return [...named, mention(receiverRule.name, ...path)];
}

function checkEncryption(
  address: string | undefined,
  allowHttp: unknown,
  path: Path,
  evidence: Evidence,
): Finding[] {
  const url = address === undefined ? undefined : parseWebAddress(address);
  if (!url || !leavesUnencrypted(url) || readFlag(allowHttp) === true) return [];
  const found = `${describe(evidence, path)}, which is not encrypted`;
  return [{ path, found, allowed: "https, or a loopback address, or allow_http: true beside it" }];
}

function regionNames(regions: Outline["regions"]): Mention[] {
  return [...regions.keys()].map((name) => mention(name, "regions", name));
}

function receiverNames(alerts: Outline["alerts"]): Mention[] {
  return alerts.receivers.map((receiver, index) => {
    return mention(receiver.name, "alerts", "receivers", index, "name");
  });
}

function heartbeatNames(alerts: Outline["alerts"]): ReadonlySet<string | undefined> {
  const heartbeats = alerts.receivers.filter(({ type }) => type === "heartbeat");
  return new Set(heartbeats.flatMap(({ name }) => name ?? []));
}
