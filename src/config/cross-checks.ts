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
    readonly labels: ReadonlyMap<string, string>;
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
  const { regions, keys, store, cluster } = settings;
  const count = keys.reduce((sum, key) => sum + (key.regions?.length ?? regions.size), 0);
  if (count > mostTargets) {
    const found = `${count} targets (each key in each of its regions)`;
    return void refuse(context, `at most ${mostTargets} targets`, { path: ["keys"], found });
  }
  if (cluster && !store.postgres) {
    const found = "a cluster, but no store.postgres";
    const path = ["cluster"];
    refuse(context, "a store in PostgreSQL, which the processes share", { path, found });
  }
  new CrossChecks(settings, context).checkAll();
}

/** What settings name of other settings must exist, and fit. */
class CrossChecks {
  private readonly settings: Settings;
  private readonly context: z.RefinementCtx;
  private readonly targets: readonly Target[];
  /** By what has the name. */
  private readonly names: Readonly<
    Record<"region" | "key" | "probe" | "receiver" | "rule", readonly string[]>
  >;
  private readonly known: ReadonlyMap<string, ReadonlySet<string>>;

  constructor(settings: Settings, context: z.RefinementCtx) {
    const { regions, keys, probes, reports, alerts } = settings;
    this.settings = settings;
    this.context = context;
    this.targets = targetsIn(settings);
    const { rules, receivers, maintenance } = alerts;
    this.names = {
      region: [...regions.keys()],
      key: refuseRepeated("key", keys, ["keys"], context),
      probe: refuseRepeated("probe", probes, ["probes"], context),
      receiver: refuseRepeated("receiver", receivers, ["alerts", "receivers"], context),
      rule: [...refuseRepeated("rule", rules, ["alerts", "rules"], context), receiverRule.name],
    };
    this.known = new Map(Object.entries(this.names).map(([what, list]) => [what, new Set(list)]));
    refuseRepeated("report", reports, ["reports"], context);
    refuseRepeated("window", maintenance, ["alerts", "maintenance"], context);
  }

  checkAll(): void {
    const { keys, alerts } = this.settings;
    refuseSharedKeys(keys, this.context);
    for (const [index, key] of keys.entries()) {
      this.knows("region", key.regions, "keys", index, "regions");
    }
    if (!this.checkProbes()) return;
    this.checkReports();
    this.checkEscalation(alerts.escalate, [], ["alerts", "escalate"]);
    this.checkReceiverMatches();
    this.checkRules();
    for (const [index, { match }] of alerts.maintenance.entries()) {
      this.knowsMatch({ ...match }, ["alerts", "maintenance", index]);
    }
  }

  /** Whether all names are known; patterns are not looked up. */
  private knows(what: keyof CrossChecks["names"], named: Names, ...path: Path): boolean {
    const listed = this.names[what];
    const known = this.known.get(what);
    const unknown = [...(named ?? []).entries()].filter(([, each]) => !known?.has(each));
    for (const [index] of unknown) {
      const allowed = `the name of a configured ${what}`;
      refuse(this.context, allowed, { path: [...path, index], listed });
    }
    return unknown.length === 0;
  }

  private knowsMatch(match: Readonly<Record<string, Names>>, path: Path): boolean {
    return (["rule", "region", "key", "probe"] as const).every((field) => {
      // One that is not plain is taken for known.
      const plain = match[field]?.map((each) =>
        each.includes("*") ? (this.names[field][0] ?? "") : each,
      );
      return this.knows(field, plain, ...path, "match", field);
    });
  }

  /** How many targets are chosen; 1 if a name is unknown. None is refused. */
  private countTargets(chosen: Parameters<typeof targetsOf>[0], path: Path): number {
    const isKnown = [
      this.knows("region", chosen.regions, ...path, "regions"),
      this.knows("key", chosen.keys, ...path, "keys"),
    ];
    const own = isKnown.includes(false) ? 1 : targetsOf(chosen, this.targets).length;
    const found = "no key that is used in any of its regions";
    const allowed = "at least one key that is used in one of the regions";
    if (own === 0) refuse(this.context, allowed, { path, found });
    return own;
  }

  /** @returns whether they are few enough to be checked further */
  private checkProbes(): boolean {
    let runs = 0;
    for (const [index, probe] of this.settings.probes.entries()) {
      runs += this.countTargets(probe, ["probes", index]);
      if (runs <= mostTargets) continue;
      const found = `more than ${mostTargets} targets of probes (each probe in each of its targets)`;
      refuse(this.context, `at most ${mostTargets}`, { path: ["probes"], found });
      return false;
    }
    return true;
  }

  private checkReports(): void {
    const { alerts, reports } = this.settings;
    const receiverOf = new Map(alerts.receivers.map((each) => [each.name, each]));
    for (const [index, report] of reports.entries()) {
      const path = ["reports", index];
      this.countTargets(report, path);
      this.knows("receiver", report.receivers, ...path, "receivers");
      for (const [at, name] of report.receivers.entries()) {
        const receiver = receiverOf.get(name);
        if (!receiver || takesReports(receiver)) continue;
        const allowed =
          "a receiver of another type: pagerduty, alertmanager, heartbeat and webhook with format: alertmanager take no reports";
        const note = `, which is of type ${receiver.type}`;
        refuse(this.context, allowed, { path: [...path, "receivers", at], note });
      }
    }
  }

  /** Whether receivers exist and can be notified. */
  private checkReceivers(named: Names, ...path: Path): void {
    this.knows("receiver", named, ...path);
    const { receivers } = this.settings.alerts;
    for (const [at, name] of (named ?? []).entries()) {
      if (!receivers.some((each) => each.name === name && each.type === "heartbeat")) continue;
      const allowed = "a receiver of another type: a heartbeat gets no notifications";
      const note = ", which is the name of a heartbeat";
      refuse(this.context, allowed, { path: [...path, at], note });
    }
  }

  /** @param before those that are notified at once */
  private checkEscalation(steps: Escalation | null, before: Names, path: Path): void {
    const notified = new Set(before);
    for (const [index, { receivers: named }] of (steps ?? []).entries()) {
      this.checkReceivers(named, ...path, index, "receivers");
      for (const [at, name] of named.entries()) {
        if (notified.has(name)) {
          const note = ", which is notified before";
          const allowed = "a receiver that the rule and the steps before do not notify";
          refuse(this.context, allowed, { path: [...path, index, "receivers", at], note });
        }
        notified.add(name);
      }
    }
  }

  private checkReceiverMatches(): void {
    const { alerts } = this.settings;
    const keys = this.settings.keys.map(({ name, labels }) => ({
      name,
      labels: new Map([...alerts.labels, ...labels]),
    }));
    for (const [index, receiver] of alerts.receivers.entries()) {
      if (receiver.type === "heartbeat" || !receiver.match) continue;
      const { match } = receiver;
      const path = ["alerts", "receivers", index];
      const { rule, region, key } = match;
      const isKnown = this.knowsMatch({ rule, region, key }, path);
      if (!isKnown || targetsMatching(match, this.targets, keys).length > 0) continue;
      const allowed = "a match that applies to at least one target";
      const found = "no configured target that matches";
      refuse(this.context, allowed, { path: [...path, "match"], found });
    }
  }

  private checkRules(): void {
    const { probes, alerts } = this.settings;
    for (const [index, rule] of alerts.rules.entries()) {
      const path = ["alerts", "rules", index];
      if (rule.name === receiverRule.name) {
        const note = ", which is the name of a built-in rule";
        refuse(this.context, "a name that no other rule has", { path: [...path, "name"], note });
      }
      this.checkReceivers(rule.receivers, ...path, "receivers");
      this.checkEscalation(rule.escalate, rule.receivers, [...path, "escalate"]);
      if (this.knowsMatch({ ...rule.match }, path))
        refuseIdle(rule, path, probes, this.targets, this.context);
    }
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
