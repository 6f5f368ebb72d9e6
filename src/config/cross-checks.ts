import type { z } from "zod";
import { receiverRule } from "../alerts/judge-receivers.ts";
import { matchesAny, matchesTarget } from "../alerts/rule.ts";
import type { Target } from "../fleet/model.ts";
import { configuredTargets } from "./configured-targets.ts";
import { refuse } from "./fields.ts";
import type { escalationSchema } from "./rule-fields.ts";
import type { maintenanceSchema } from "./schema-maintenance.ts";
import { targetsOf, type probeSchema } from "./schema-probes.ts";
import { takesReports, type receiverSchema } from "./schema-receivers.ts";
import type { reportSchema } from "./schema-reports.ts";
import { targetsMatching } from "./schema-routing.ts";
import type { ruleSchema } from "./schema-rules.ts";
import type { keySchema } from "./schema-targets.ts";

type Key = z.output<typeof keySchema>;
type Probe = z.output<typeof probeSchema>;
type Rule = z.output<typeof ruleSchema>;
type Escalation = z.output<typeof escalationSchema>;

interface Settings {
  readonly regions: ReadonlyMap<string, unknown>;
  readonly keys: readonly Key[];
  readonly probes: readonly Probe[];
  readonly reports: readonly z.output<typeof reportSchema>[];
  readonly store: { readonly postgres: object | null };
  readonly cluster: object | null;
  readonly alerts: {
    readonly rules: readonly Rule[];
    readonly receivers: readonly z.output<typeof receiverSchema>[];
    readonly escalate: Escalation;
    readonly maintenance: readonly z.output<typeof maintenanceSchema>[];
  };
}

type Path = readonly (string | number)[];

/** The targets of a configuration whose keys may leave their regions open. */
export function targetsIn({ regions, keys }: Pick<Settings, "regions" | "keys">) {
  const everyRegion = [...regions.keys()];
  return configuredTargets({
    keys: keys.map((key) => ({ name: key.name, regions: key.regions ?? everyRegion })),
  });
}

/** More than one sandwatch can poll. */
const mostTargets = 50_000;

/** Refuses settings that are valid individually and contradict each other. */
export function crossCheckSettings(settings: Settings, context: z.RefinementCtx): void {
  const { regions, keys, probes, alerts, reports, store, cluster } = settings;
  const { rules, receivers, maintenance } = alerts;
  const count = keys.reduce((sum, key) => sum + (key.regions?.length ?? regions.size), 0);
  if (count > mostTargets) {
    const found = `${count} targets (each key in each of its regions)`;
    return void refuse(context, `at most ${mostTargets} targets`, { path: ["keys"], found });
  }
  if (cluster && !store.postgres) {
    const found = "a cluster, but no store.postgres";
    refuse(context, "a store in PostgreSQL, which the processes share", {
      path: ["cluster"],
      found,
    });
  }
  const targets = targetsIn(settings);
  const names = {
    region: [...regions.keys()],
    key: refuseRepeated("key", keys, ["keys"], context),
    probe: refuseRepeated("probe", probes, ["probes"], context),
    receiver: refuseRepeated("receiver", receivers, ["alerts", "receivers"], context),
    rule: [...refuseRepeated("rule", rules, ["alerts", "rules"], context), receiverRule.name],
  };
  refuseRepeated("report", reports, ["reports"], context);
  refuseRepeated("window", maintenance, ["alerts", "maintenance"], context);
  const known = Object.fromEntries(
    Object.entries(names).map(([what, list]) => [what, new Set<string>(list)]),
  );

  /** Whether all names are known; patterns are not looked up. */
  const knows = (what: keyof typeof names, named: Names, ...path: Path): boolean => {
    const unknown = [...(named ?? []).entries()].filter(([, each]) => !known[what]?.has(each));
    for (const [index] of unknown) {
      const listed = names[what];
      refuse(context, `the name of a configured ${what}`, { path: [...path, index], listed });
    }
    return unknown.length === 0;
  };
  const knowsMatch = (match: Readonly<Record<string, Names>>, path: Path): boolean =>
    (["rule", "region", "key", "probe"] as const).every((field) => {
      // One that is not plain is taken for known.
      const plain = match[field]?.map((each) =>
        each.includes("*") ? (names[field][0] ?? "") : each,
      );
      return knows(field, plain, ...path, "match", field);
    });

  refuseSharedKeys(keys, context);
  for (const [index, key] of keys.entries()) {
    knows("region", key.regions, "keys", index, "regions");
  }
  /** How many targets are chosen; 1 if a name is unknown. None is refused. */
  const countTargets = (chosen: Parameters<typeof targetsOf>[0], path: Path): number => {
    const isKnown = [
      knows("region", chosen.regions, ...path, "regions"),
      knows("key", chosen.keys, ...path, "keys"),
    ];
    const own = isKnown.includes(false) ? 1 : targetsOf(chosen, targets).length;
    const found = "no key that is used in any of its regions";
    const allowed = "at least one key that is used in one of the regions";
    if (own === 0) refuse(context, allowed, { path, found });
    return own;
  };
  let runs = 0;
  for (const [index, probe] of probes.entries()) {
    runs += countTargets(probe, ["probes", index]);
    if (runs > mostTargets) {
      const what = `more than ${mostTargets} targets of probes (each probe in each of its targets)`;
      return void refuse(context, `at most ${mostTargets}`, { path: ["probes"], found: what });
    }
  }
  const receiverOf = new Map(receivers.map((each) => [each.name, each]));
  for (const [index, report] of reports.entries()) {
    const path = ["reports", index];
    countTargets(report, path);
    knows("receiver", report.receivers, ...path, "receivers");
    for (const [at, name] of report.receivers.entries()) {
      const receiver = receiverOf.get(name);
      if (!receiver || takesReports(receiver)) continue;
      const allowed =
        "a receiver of another type: pagerduty, alertmanager, heartbeat and webhook with format: alertmanager take no reports";
      const note = `, which is of type ${receiver.type}`;
      refuse(context, allowed, { path: [...path, "receivers", at], note });
    }
  }
  const heartbeats = new Set(
    receivers.filter(({ type }) => type === "heartbeat").map((each) => each.name),
  );
  /** Whether receivers exist and can be notified. */
  const checkReceivers = (named: Names, ...path: Path): void => {
    knows("receiver", named, ...path);
    for (const [at, receiver] of (named ?? []).entries()) {
      if (!heartbeats.has(receiver)) continue;
      const allowed = "a receiver of another type: a heartbeat gets no notifications";
      const note = ", which is the name of a heartbeat";
      refuse(context, allowed, { path: [...path, at], note });
    }
  };
  /** @param before those that are notified at once */
  const checkEscalation = (steps: Escalation | null, before: Names, path: Path): void => {
    const notified = new Set(before);
    for (const [index, { receivers: named }] of (steps ?? []).entries()) {
      checkReceivers(named, ...path, index, "receivers");
      for (const [at, name] of named.entries()) {
        if (notified.has(name)) {
          const note = ", which is notified before";
          const allowed = "a receiver that the rule and the steps before do not notify";
          refuse(context, allowed, { path: [...path, index, "receivers", at], note });
        }
        notified.add(name);
      }
    }
  };
  checkEscalation(alerts.escalate, [], ["alerts", "escalate"]);
  for (const [index, receiver] of receivers.entries()) {
    if (receiver.type === "heartbeat" || !receiver.match) continue;
    const { match } = receiver;
    const path = ["alerts", "receivers", index];
    const { rule, region, key } = match;
    const isKnown = knowsMatch({ rule, region, key }, path);
    if (!isKnown || targetsMatching(match, targets, keys).length > 0) continue;
    const allowed = "a match that applies to at least one target";
    refuse(context, allowed, {
      path: [...path, "match"],
      found: "no configured target that matches",
    });
  }
  for (const [index, rule] of rules.entries()) {
    const path = ["alerts", "rules", index];
    if (rule.name === receiverRule.name) {
      const allowed = "a name that no other rule has";
      refuse(context, allowed, {
        path: [...path, "name"],
        note: ", which is the name of a built-in rule",
      });
    }
    checkReceivers(rule.receivers, ...path, "receivers");
    checkEscalation(rule.escalate, rule.receivers, [...path, "escalate"]);
    if (knowsMatch({ ...rule.match }, path)) refuseIdle(rule, path, probes, targets, context);
  }
  for (const [index, { match }] of maintenance.entries()) {
    knowsMatch({ ...match }, ["alerts", "maintenance", index]);
  }
}

type Names = readonly string[] | null | undefined;

/** @returns all names */
function refuseRepeated(
  what: string,
  items: readonly { readonly name: string }[],
  path: Path,
  context: z.RefinementCtx,
): readonly string[] {
  const names = items.map(({ name }) => name);
  const first = new Map(names.map((name, index) => [name, index] as const).toReversed());
  for (const [index, name] of names.entries()) {
    const earlier = first.get(name) ?? index;
    if (earlier === index) continue;
    const note = `, the same as ${path.join(".")}[${earlier}].name`;
    refuse(context, `a name that no other ${what} has`, { path: [...path, index, "name"], note });
  }
  return names;
}

/** Two names for one key would each take the rate limit for themselves. */
function refuseSharedKeys(keys: readonly Key[], context: z.RefinementCtx): void {
  const known = new Set<string>();
  for (const [index, { apiKey }] of keys.entries()) {
    if (known.has(apiKey)) {
      const found = "an API key that has another name already";
      refuse(context, "an API key under one name", { path: ["keys", index, "api_key"], found });
    }
    known.add(apiKey);
  }
}

/** Refuses a rule without subjects, whose condition can never hold. */
function refuseIdle(
  rule: Rule,
  path: Path,
  probes: readonly Probe[],
  targets: readonly Target[],
  context: z.RefinementCtx,
): void {
  const fits = (target: Target): boolean => matchesTarget(rule.match, target);
  if (rule.on === "probe" && probes.length === 0) {
    const found = "a rule on probes, but no probes";
    const allowed = "another subject, or probes in the file";
    return void refuse(context, allowed, { path: [...path, "on"], found });
  }
  const isAbout =
    rule.on === "probe"
      ? probes.some((probe) => {
          const own = targetsOf(probe, targets);
          // A probe without targets is reported separately.
          return own.length === 0 || (matchesAny(rule.match.probe, probe.name) && own.some(fits));
        })
      : targets.some(fits);
  if (isAbout) return undefined;
  const subject = rule.on === "probe" ? "probe" : "target";
  const found = `no configured ${subject} that matches`;
  const allowed = `a match that applies to at least one ${subject}`;
  return void refuse(context, allowed, { path: [...path, "match"], found });
}
