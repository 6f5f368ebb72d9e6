import { placeOf } from "../alerts/pool.ts";
import { Recipients } from "../alerts/recipients.ts";
import { concernsSandbox, concernsServer, matchesAny } from "../alerts/rule.ts";
import { matchesTarget, type Rule } from "../alerts/rule.ts";
import type { Subject } from "../alerts/subjects.ts";
import type { Config } from "../config/config.ts";
import { configuredTargets } from "../config/configured-targets.ts";
import { notifiedReceivers } from "../config/notified-receivers.ts";
import { targetName, type Target } from "../fleet/model.ts";

/** The server that an incident is about. Without a name: any that has the others, as far as they are given. */
export interface Concerned {
  readonly serverName?: string | undefined;
  readonly benchmark?: string | undefined;
  readonly tags?: readonly string[] | undefined;
}

/** Who is notified, at once or at a step of an escalation. */
interface ReachedStep {
  readonly afterMs: number;
  readonly receivers: readonly string[];
  /** Those that are notified once their hours begin. */
  readonly closed: readonly string[];
}

export interface RuleReach {
  readonly rule: Rule;
  /** Whether its incidents are of a region, or of a pool of several keys. */
  readonly isOfRegion: boolean;
  /** In the order of their times, the first one at once. */
  readonly steps: readonly ReachedStep[];
}

/** Gives whom each rule about a target notifies if it fires at a moment (UTC milliseconds) and nobody acknowledges it. */
export function createReach(config: Config, rules: readonly Rule[] = config.alerts.rules) {
  const receivers = notifiedReceivers(config);
  const probesOf = Map.groupBy(
    config.probes.flatMap(({ name, targets }) => targets.map((target) => ({ name, target }))),
    ({ target }) => targetName(target),
  );
  return (target: Target, concerned: Concerned, atMs: number): readonly RuleReach[] =>
    rules
      .filter((rule) => isAbout(rule, target, concerned, probesOf.get(targetName(target)) ?? []))
      .map((rule) => {
        const { subject, seen, ofTarget } = incidentOf(rule, target, concerned);
        const earlier = new Set<string>();
        const atOnce = { afterMs: 0, receivers: rule.receivers };
        const steps = [atOnce, ...(rule.escalation ?? [])].map(({ afterMs, receivers: names }) => {
          const place = ofTarget ? target : null;
          const recipients = new Recipients(receivers, place, atMs + afterMs, new Map());
          const added = names.filter((name) => !earlier.has(name));
          for (const name of added) earlier.add(name);
          const routed = recipients.informed({ ...rule, receivers: added }, subject, seen);
          const [open = [], closed = []] = [true, false].map((is) =>
            routed.filter((name) => recipients.isOpen(name) === is),
          );
          return { afterMs, receivers: open, closed };
        });
        const isOfRegion = rule.on === "region" || (rule.on === "pool" && !rule.by.includes("key"));
        return { rule, isOfRegion, steps };
      });
}

function isAbout(
  rule: Rule,
  target: Target,
  concerned: Concerned,
  probes: readonly { readonly name: string }[],
): boolean {
  const { match } = rule;
  if (!matchesTarget(match, target)) return false;
  const { serverName: name, benchmark = null, tags = [] } = concerned;
  if (rule.on === "probe") return probes.some((probe) => matchesAny(match.probe, probe.name));
  if (name === undefined) return true;
  const server = { id: "", name, status: "error", benchmark, tags } as const;
  switch (rule.on) {
    case "server":
      return concernsServer(rule, server);
    case "sandbox":
      return concernsSandbox(rule, { benchmark, servers: [server] });
    case "pool":
      return matchesAny(match.serverName, name);
    default:
      return true;
  }
}

/** The incident of a rule, as the rules judge it: routing compares what its subject has. */
function incidentOf(
  rule: Rule,
  target: Target,
  concerned: Concerned,
): { readonly subject: Subject; readonly seen: object; readonly ofTarget: boolean } {
  const { serverName, benchmark = null, tags = [] } = concerned;
  const ids = { sandboxId: "", serverId: "" };
  const anything = { subject: { kind: "target" }, seen: {}, ofTarget: true } as const;
  switch (rule.on) {
    case "server": {
      const seen = { benchmark, tags };
      if (serverName === undefined) return { ...anything, seen };
      return { ...anything, subject: { kind: "server", ...ids, serverName }, seen };
    }
    case "sandbox": {
      if (serverName === undefined && benchmark === null) return anything;
      return { ...anything, subject: { kind: "sandbox", sandboxId: "", benchmark } };
    }
    case "region":
      return {
        subject: { kind: "region", region: target.region },
        seen: {},
        ofTarget: false,
      };
    case "receiver":
      return { subject: { kind: "receiver", receiver: "" }, seen: {}, ofTarget: false };
    case "pool": {
      const place = placeOf(rule, target);
      const name = rule.by.includes("server_name") ? (serverName ?? null) : null;
      const subject: Subject =
        rule.of === "servers"
          ? { kind: "pool", ...place, serverName: name }
          : { kind: "sandbox_pool", ...place };
      return { subject, seen: {}, ofTarget: false };
    }
    default:
      return anything;
  }
}

/** The receivers that are notified of something in a target alone, and its rules of whose incidents nobody is. */
export function reachOfTargets(config: Config) {
  const reachOf = createReach(config);
  return configuredTargets(config).map((target) => {
    const reached = reachOf(target, {}, 0).map(({ rule, isOfRegion, steps: [atOnce] }) => ({
      rule: rule.name,
      isOfRegion,
      receivers: atOnce ? [...atOnce.receivers, ...atOnce.closed] : [],
      isMeant: rule.receivers.length > 0,
    }));
    const names = new Set(reached.flatMap((each) => (each.isOfRegion ? [] : each.receivers)));
    return {
      target,
      receivers: config.alerts.receivers.map(({ name }) => name).filter((name) => names.has(name)),
      unheard: reached.flatMap(({ rule, receivers, isMeant }) =>
        isMeant && receivers.length === 0 ? [rule] : [],
      ),
    };
  });
}
