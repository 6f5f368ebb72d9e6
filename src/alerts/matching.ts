import type { ListedServer } from "../fleet/snapshot.ts";
import type { Incident, ProbeSubject } from "./incident.ts";
import type { Target } from "../fleet/model.ts";
import { targetTroubles } from "./rule.ts";
import type { Match, Rule, ServerRule, TargetTrouble } from "./rule.ts";

/** Whether a text fits any of the patterns; `*` stands for any run of characters, also none. */
export function matchesAny(patterns: readonly string[] | undefined, text: string): boolean {
  return patterns === undefined || patterns.some((pattern) => matchesPattern(pattern, text));
}

export function matchesTarget(match: Match, target: Target): boolean {
  return matchesAny(match.region, target.region) && matchesAny(match.key, target.key);
}

export function matchesProbe(match: Match, subject: ProbeSubject): boolean {
  return matchesTarget(match, subject) && matchesAny(match.probe, subject.probe);
}

/** Whether a server rule's condition holds for a server of a target that the rule is about. */
export function holdsForServer(rule: ServerRule, server: ListedServer): boolean {
  const { serverName, benchmark, tag } = rule.match;
  return (
    server.status === rule.status &&
    matchesAny(serverName, server.name ?? "") &&
    matchesAny(benchmark, server.benchmark ?? "") &&
    (tag === undefined || server.tags.some((each) => matchesAny(tag, each)))
  );
}

/**
 * What makes a rule the rule that it is. Receivers, severity and reminders can be edited without
 * ending its incidents; its condition can not.
 */
export function ruleFingerprint(rule: Rule): string {
  const { name, on, match, keepFiringForMs } = rule;
  const scope = [match.region, match.key, match.serverName, match.benchmark, match.tag].map(
    (patterns) => patterns?.toSorted() ?? null,
  );
  switch (rule.on) {
    case "server":
      return JSON.stringify([name, on, rule.status, rule.for, keepFiringForMs, scope]);
    case "target": {
      const kind = rule.trouble === "failing" ? on : `${on}:${rule.trouble}`;
      return JSON.stringify([name, kind, rule.for, keepFiringForMs, scope]);
    }
    case "pool": {
      const condition = [rule.by.toSorted(), rule.measure, rule.side, rule.limit, rule.forMs];
      return JSON.stringify([name, on, condition, keepFiringForMs, scope]);
    }
    case "probe": {
      const probes = match.probe?.toSorted() ?? null;
      return JSON.stringify([name, on, rule.for, keepFiringForMs, [...scope, probes]]);
    }
    case "receiver":
      return JSON.stringify([name, on]);
  }
}

/** What a rule on targets looks at, as its fingerprint has it: the rule itself may be gone. */
export function troubleOf(fingerprint: string): TargetTrouble {
  const parts: unknown = JSON.parse(fingerprint);
  const kind: unknown = Array.isArray(parts) ? parts[1] : null;
  return targetTroubles.find((trouble) => kind === `target:${trouble}`) ?? "failing";
}

/** Whether somebody was notified, and not that it is over, that the polls of these incidents' target fail. */
export function isNotifiedAsDown(incidents: Iterable<Incident>): boolean {
  return Iterator.from(incidents).some(
    ({ subject, phase, receivers, ruleFingerprint: fingerprint }) =>
      subject.kind === "target" &&
      phase.name === "firing" &&
      receivers.length > 0 &&
      troubleOf(fingerprint) !== "partial",
  );
}

function matchesPattern(pattern: string, text: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return pattern === text;
  if (!text.startsWith(first)) return false;
  let position = first.length;
  for (const part of rest) {
    const found = text.indexOf(part, position);
    if (found === -1) return false;
    position = found + part.length;
  }
  return text.length - last.length >= position && text.endsWith(last);
}
