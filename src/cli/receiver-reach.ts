import { createRecipients } from "../alerts/recipients.ts";
import { matchesAny, matchesTarget, type Rule } from "../alerts/rule.ts";
import type { Subject } from "../alerts/subjects.ts";
import type { Config } from "../config/config.ts";
import { configuredTargets } from "../config/configured-targets.ts";
import { notifiedReceivers } from "../config/notified-receivers.ts";
import type { Target } from "../fleet/model.ts";

/** What an incident is about, as far as it is known. Missing: any. */
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

/** Whom each rule about a target notifies if it fires at a moment (UTC milliseconds) and nobody acknowledges it. */
export function reachOf(
  config: Config,
  target: Target,
  { serverName, benchmark, tags }: Concerned,
  atMs: number,
): readonly RuleReach[] {
  const receivers = notifiedReceivers(config);
  const isOfServer = serverName !== undefined;
  const subject: Subject = isOfServer
    ? { kind: "server", sandboxId: "", serverId: "", serverName }
    : { kind: "target" };
  const seen = { benchmark: benchmark ?? null, tags: tags ?? [] };
  const isAbout = ({ on, match }: Rule): boolean => {
    if (on === "probe" || !matchesTarget(match, target)) return false;
    return !isOfServer || on !== "server" ? true : matchesServer(match, serverName, seen);
  };
  return config.alerts.rules.filter(isAbout).map((rule) => {
    const isOfRegion = rule.on === "region" || (rule.on === "pool" && !rule.by.includes("key"));
    const ownSubject: Subject = isOfRegion
      ? { kind: "region", region: target.region }
      : rule.on === "server"
        ? subject
        : { kind: "target" };
    const atOnce = { afterMs: 0, receivers: rule.receivers };
    const steps = [atOnce, ...(rule.escalation ?? [])].map((step) => {
      const recipients = createRecipients(
        receivers,
        isOfRegion ? null : target,
        atMs + step.afterMs,
        new Map(),
      );
      const routed = recipients.informed({ ...rule, receivers: step.receivers }, ownSubject, seen);
      return {
        afterMs: step.afterMs,
        receivers: routed.filter(recipients.isOpen),
        closed: routed.filter((name) => !recipients.isOpen(name)),
      };
    });
    return { rule, isOfRegion, steps };
  });
}

function matchesServer(
  match: Rule["match"],
  serverName: string,
  { benchmark, tags }: { readonly benchmark: string | null; readonly tags: readonly string[] },
): boolean {
  return (
    matchesAny(match.serverName, serverName) &&
    (benchmark === null || matchesAny(match.benchmark, benchmark)) &&
    (tags.length === 0 || tags.some((tag) => matchesAny(match.tag, tag)))
  );
}

/** The receivers that are notified of something in a target alone, and its rules of whose incidents nobody is. */
export function reachOfTargets(config: Config) {
  return configuredTargets(config).map((target) => {
    const reached = reachOf(config, target, {}, 0).map(({ rule, isOfRegion, steps: [atOnce] }) => ({
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
