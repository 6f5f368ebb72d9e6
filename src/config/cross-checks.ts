import type { z } from "zod";
import { receiverRule } from "../alerts/judge-receivers.ts";
import { matchesAny, matchesTarget, type Match } from "../alerts/rule.ts";
import { defaultRules } from "./config.ts";
import { configuredTargets } from "./configured-targets.ts";
import { describe, repeatedFindings, unknownFindings, valueAt } from "./faults.ts";
import type { Evidence, Finding, Mention, Path } from "./faults.ts";
import { maintenanceSchema } from "./schema-maintenance.ts";
import { probeSchema, targetsOf } from "./schema-probes.ts";
import { receiverSchema } from "./schema-receivers.ts";
import { ruleSchema } from "./schema-rules.ts";
import { keySchema } from "./schema-watched.ts";

/** An item of a list; undefined: it is wrong by itself. */
interface Item<Value> {
  readonly path: Path;
  readonly value: Value | undefined;
}

/** What is wrong between settings each of which is right for itself. */
export function crossChecks(evidence: Evidence): Finding[] {
  const itemsAt = <Schema extends z.ZodType>(schema: Schema, ...path: string[]) => {
    const list = valueAt(evidence.value, path);
    return (Array.isArray(list) ? list : []).map((item, index): Item<z.output<Schema>> => ({
      path: [...path, index],
      value: schema.safeParse(item).data,
    }));
  };
  const keys = itemsAt(keySchema, "keys");
  const probes = itemsAt(probeSchema, "probes");
  const rules = itemsAt(ruleSchema, "alerts", "rules");
  const receivers = itemsAt(receiverSchema, "alerts", "receivers");
  const windows = itemsAt(maintenanceSchema, "alerts", "maintenance");

  const regions = Object.keys(valueAt(evidence.value, ["regions"]) ?? {});
  const known = {
    region: regions.map((value) => ({ path: ["regions", value], value })),
    key: namesOf(keys),
    probe: namesOf(probes),
    receiver: namesOf(receivers),
    rule: [
      ...(valueAt(evidence.value, ["alerts", "rules"]) === undefined
        ? defaultRules.map(({ name }) => ({ path: [], value: name }))
        : namesOf(rules)),
      { path: [], value: receiverRule.name },
    ],
  };

  /** What stands at a path: a single text at the path itself, those of a list below it. */
  const mentions = (values: readonly string[] | undefined, path: Path): Mention[] => {
    const isList = Array.isArray(valueAt(evidence.value, path));
    return (values ?? []).map((value, index) => ({
      value,
      path: isList ? [...path, index] : path,
    }));
  };
  const unknown = (
    what: keyof typeof known,
    values: readonly string[] | undefined,
    ...path: Path
  ): Finding[] => unknownFindings(mentions(values, path), known[what], evidence, what);
  const unknownInMatch = (match: Match & { rule?: readonly string[] }, path: Path): Finding[] =>
    (["rule", "region", "key", "probe"] as const).flatMap((field) => {
      const named = mentions(match[field], [...path, "match", field]);
      const plain = named.filter(({ value }) => !value?.includes("*"));
      return unknownFindings(plain, known[field], evidence, field);
    });

  /** Empty where not all are known, which is a fault of its own. */
  const validKeys = keys.flatMap(({ value }) => value ?? []);
  const targets = configuredTargets({
    keys: (validKeys.length < keys.length ? [] : validKeys).map(({ name, ...key }) => {
      return { name, regions: key.regions ?? regions };
    }),
  });

  const checkProbe = ({ path, value: probe }: (typeof probes)[number]): Finding[] => {
    if (!probe) return [];
    const findings = [
      ...unknown("region", probe.regions, ...path, "regions"),
      ...unknown("key", probe.keys, ...path, "keys"),
    ];
    const isAbout = targets.length === 0 || targetsOf(probe, targets).length > 0;
    if (findings.length > 0 || isAbout) return findings;
    const found = "no key that is used in any of its regions";
    return [{ path, found, allowed: "at least one key that is used in one of the regions" }];
  };

  /** A rule that is about nothing can never hold. */
  const checkSubjects = ({ path, value: rule }: (typeof rules)[number]): Finding[] => {
    if (!rule || targets.length === 0) return [];
    if (rule.on !== "probe") {
      if (targets.some((target) => matchesTarget(rule.match, target))) return [];
      const found = "no configured target that matches";
      return [
        { path: [...path, "match"], found, allowed: "a match that applies to at least one target" },
      ];
    }
    if (probes.length === 0) {
      const found = "a rule on probes, but no probes";
      return [{ path: [...path, "on"], found, allowed: "another subject, or probes in the file" }];
    }
    const isAbout = probes.some(({ value: probe }) => {
      const own = probe ? targetsOf(probe, targets) : [];
      // Those without are faults of their own.
      if (!probe || own.length === 0) return true;
      const fits = own.some((target) => matchesTarget(rule.match, target));
      return fits && matchesAny(rule.match.probe, probe.name);
    });
    if (isAbout) return [];
    const found = "no configured probe that matches";
    return [
      { path: [...path, "match"], found, allowed: "a match that applies to at least one probe" },
    ];
  };

  const heartbeats = new Set(
    receivers.flatMap(({ value }) => (value?.type === "heartbeat" ? [value.name] : [])),
  );
  const checkRule = (item: (typeof rules)[number]): Finding[] => {
    const { path, value: rule } = item;
    if (!rule) return [];
    const named = mentions(rule.receivers ?? [], [...path, "receivers"]);
    const inMatch = unknownInMatch(rule.match, path);
    const namePath = [...path, "name"];
    return [
      ...(rule.name === receiverRule.name
        ? [
            {
              path: namePath,
              found: `${describe(evidence, namePath)}, which is built in`,
              allowed: "a name that no other rule has",
            },
          ]
        : []),
      ...unknown("receiver", rule.receivers ?? [], ...path, "receivers"),
      ...named
        .filter(({ value = "" }) => heartbeats.has(value))
        .map((mention) => ({
          path: mention.path,
          found: `${describe(evidence, mention.path)}, which is a heartbeat`,
          allowed: "a receiver of another type: a heartbeat gets no notifications",
        })),
      ...(inMatch.length > 0 ? inMatch : checkSubjects(item)),
    ];
  };

  const named = { key: keys, rule: rules, receiver: receivers, window: windows, probe: probes };
  return [
    ...Object.entries(named).flatMap(([what, items]) =>
      repeatedFindings(namesOf(items), evidence, `a name that no other ${what} has`),
    ),
    ...checkKeyValues(keys, evidence),
    ...keys.flatMap(({ path, value }) => unknown("region", value?.regions, ...path, "regions")),
    ...rules.flatMap(checkRule),
    ...windows.flatMap(({ path, value }) => unknownInMatch(value?.match ?? {}, path)),
    ...probes.flatMap(checkProbe),
  ];
}

function namesOf(items: readonly Item<{ readonly name: string }>[]): Mention[] {
  return items.map(({ path, value }) => ({ path: [...path, "name"], value: value?.name }));
}

/** Two names for one key would each take the rate limit for themselves. */
function checkKeyValues(
  keys: readonly Item<{ readonly apiKey: string }>[],
  evidence: Evidence,
): Finding[] {
  const byValue = Map.groupBy(keys, ({ value }) => value?.apiKey);
  return [...byValue].flatMap(([value, [first, ...others]]) => {
    if (value === undefined || !first) return [];
    return others.map(({ path }) => {
      const names = [first.path, path].map((each) => describe(evidence, [...each, "name"]));
      const found = `one API key under two names, ${names.join(" and ")}`;
      return { path: [...path, "api_key"], found, allowed: "an API key under one name" };
    });
  });
}
