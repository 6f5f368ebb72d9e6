import type { FailureReason, Status, Target } from "../fleet/model.ts";
import type { ListedServer, Sandbox } from "../fleet/snapshot.ts";

export const severities = ["critical", "warning", "info"] as const;
export type Severity = (typeof severities)[number];

/** How long a condition must hold: a duration in milliseconds, or a number of polls in a row. */
export type Hold =
  | { readonly kind: "duration"; readonly ms: number }
  | { readonly kind: "polls"; readonly polls: number };

/** Names that a rule is limited to, where `*` stands for any run of characters. A missing list allows all. */
export interface Match {
  readonly region?: readonly string[];
  readonly key?: readonly string[];
  readonly serverName?: readonly string[];
  readonly benchmark?: readonly string[];
  readonly tag?: readonly string[];
  readonly probe?: readonly string[];
}

/** Notified of an incident that has fired for this long, and that nobody has acknowledged. */
export interface EscalationStep {
  readonly afterMs: number;
  readonly receivers: readonly string[];
}

interface RuleBase {
  readonly name: string;
  readonly severity: Severity;
  /** How long after the condition ended the incident still counts as firing. */
  readonly keepFiringForMs: number;
  /** Null: without reminders. */
  readonly remindEveryMs: number | null;
  readonly receivers: readonly string[];
  /** In the order of their times. Default: nobody else is notified. */
  readonly escalation?: readonly EscalationStep[];
  readonly match: Match;
  /** Texts with placeholders such as `{server_name}`; null: the default summary, no runbook. */
  readonly summaryTemplate: string | null;
  readonly runbookUrlTemplate: string | null;
}

/** A subject flaps if a condition held for it more than this many times within this time. */
export interface FlapLimit {
  readonly changes: number;
  readonly withinMs: number;
  /** Whether only the times count at which the incident fired. */
  readonly firingOnly?: boolean;
}

export interface ServerRule extends RuleBase {
  readonly on: "server";
  readonly status: Status;
  readonly for: Hold;
  readonly flap: FlapLimit | null;
}

/** Holds for a sandbox while it states the status itself. */
export interface SandboxRule extends Omit<ServerRule, "on"> {
  readonly on: "sandbox";
}

export type StatusRule = ServerRule | SandboxRule;

/** Polls fail, the service refuses the key, or listings are partial. */
export const targetTroubles = ["failing", "auth", "partial"] as const;
export type TargetTrouble = (typeof targetTroubles)[number];

export interface TargetRule extends RuleBase {
  readonly on: "target";
  readonly trouble: TargetTrouble;
  readonly for: Hold;
  readonly flap: FlapLimit | null;
}

/** Holds for a region while polls of several of its targets fail. */
export interface RegionRule extends RuleBase {
  readonly on: "region";
  /** How long the polls of one of them must fail. */
  readonly for: Hold;
  readonly flap: FlapLimit | null;
}

/** Why a poll failed, for a person: "HTTP 503", or the reason where there was no response. */
export function failureText(reason: FailureReason, status: number | null): string {
  return status === null ? reason : `HTTP ${status}`;
}

/** What is counted. */
export const pooled = ["servers", "sandboxes"] as const;

/** Servers or sandboxes that are alike in all of these make one pool. Sandboxes have no name. */
export const poolFields = ["region", "key", "server_name"] as const;
export type PoolField = (typeof poolFields)[number];

/** Ratios are of those whose status is known. */
export const poolMeasures = ["occupied_ratio", "idle", "error_ratio", ...pooled] as const;
export type PoolMeasure = (typeof poolMeasures)[number];

/** Holds for a pool while a measure of it is above or below a limit; at the limit it does not hold. */
export interface PoolRule extends RuleBase {
  readonly on: "pool";
  readonly of: (typeof pooled)[number];
  /** Empty: one pool of all that the rule is about. */
  readonly by: readonly PoolField[];
  readonly measure: PoolMeasure;
  readonly side: "above" | "below";
  readonly limit: number;
  readonly forMs: number;
}

export interface ProbeRule extends RuleBase {
  readonly on: "probe";
  readonly for: Hold;
  readonly flap: FlapLimit | null;
}

/** Built in. Holds for a receiver from a dead letter until it accepts a notification. */
export interface ReceiverRule extends RuleBase {
  readonly on: "receiver";
  readonly for: Hold;
}

export type Rule =
  | ServerRule
  | SandboxRule
  | TargetRule
  | RegionRule
  | PoolRule
  | ProbeRule
  | ReceiverRule;

/** Whether a text fits any of the patterns; undefined allows all. */
export function matchesAny(patterns: readonly string[] | undefined, text: string): boolean {
  return patterns === undefined || patterns.some((pattern) => matchesPattern(pattern, text));
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

export function matchesTarget({ region, key }: Match, target: Target): boolean {
  return matchesAny(region, target.region) && matchesAny(key, target.key);
}

/** The rules on one kind of subject that are about a target. */
export function rulesOn<On extends Rule["on"]>(
  on: On,
  rules: readonly Rule[],
  target: Target,
): readonly Extract<Rule, { readonly on: On }>[] {
  const isOn = (rule: Rule): rule is Extract<Rule, { readonly on: On }> => rule.on === on;
  return rules.filter(isOn).filter(({ match }) => matchesTarget(match, target));
}

/** Whether a rule concerns a server of a target that the rule is about, in whatever status. */
export function concernsServer({ match }: ServerRule, server: ListedServer): boolean {
  return matchesAny(match.benchmark, server.benchmark ?? "") && matchesServer(match, server);
}

/** Says the same of a sandbox. A name or a tag must be that of one of its servers. */
export function concernsSandbox(
  { match }: SandboxRule,
  sandbox: Pick<Sandbox, "benchmark"> & {
    readonly servers: readonly Pick<ListedServer, "name" | "tags">[];
  },
): boolean {
  return (
    matchesAny(match.benchmark, sandbox.benchmark ?? "") &&
    ((match.serverName ?? match.tag) === undefined ||
      sandbox.servers.some((server) => matchesServer(match, server)))
  );
}

function matchesServer(
  { serverName, tag }: Match,
  { name, tags }: Pick<ListedServer, "name" | "tags">,
): boolean {
  return (
    matchesAny(serverName, name ?? "") &&
    (tag === undefined || tags.some((each) => matchesAny(tag, each)))
  );
}

/**
 * What makes a rule the rule that it is. Receivers, severity and reminders can be edited without ending its incidents;
 * its condition cannot.
 */
export function ruleFingerprint(rule: Rule): string {
  const { name, on, match, keepFiringForMs } = rule;
  const { region, key, serverName, benchmark, tag, probe } = match;
  const sorted = (names: readonly string[] | undefined) => names?.toSorted() ?? null;
  const scope = [region, key, serverName, benchmark, tag].map(sorted);
  switch (rule.on) {
    case "server":
    case "sandbox":
      return JSON.stringify([name, on, rule.status, rule.for, keepFiringForMs, scope]);
    case "target": {
      const kind = rule.trouble === "failing" ? on : `${on}:${rule.trouble}`;
      return JSON.stringify([name, kind, rule.for, keepFiringForMs, scope]);
    }
    case "pool": {
      const condition = [rule.by.toSorted(), rule.measure, rule.side, rule.limit, rule.forMs];
      const kind = rule.of === "servers" ? on : `${on}:${rule.of}`;
      return JSON.stringify([name, kind, condition, keepFiringForMs, scope]);
    }
    case "region":
      return JSON.stringify([name, on, rule.for, keepFiringForMs, scope]);
    case "probe":
      return JSON.stringify([name, on, rule.for, keepFiringForMs, [...scope, sorted(probe)]]);
    case "receiver":
      return JSON.stringify([name, on]);
  }
}

/** What a rule on targets is about, by its fingerprint: the rule itself may have been removed. */
export function troubleOf(fingerprint: string): TargetTrouble {
  const parts: unknown = JSON.parse(fingerprint);
  const kind: unknown = Array.isArray(parts) ? parts[1] : null;
  return targetTroubles.find((trouble) => kind === `target:${trouble}`) ?? "failing";
}
