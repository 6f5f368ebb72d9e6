import type { Status } from "./model.ts";

export const severities = ["critical", "warning", "info"] as const;
export type Severity = (typeof severities)[number];

/** How long a condition must hold: a duration in milliseconds, or a number of polls in a row. */
export type Hold =
  | { readonly kind: "duration"; readonly ms: number }
  | { readonly kind: "polls"; readonly polls: number };

/**
 * Which subjects a rule is about. Each list names what is allowed, `*` standing for any run of
 * characters; a field left out allows all.
 */
export interface Match {
  readonly region?: readonly string[];
  readonly key?: readonly string[];
  readonly serverName?: readonly string[];
  readonly benchmark?: readonly string[];
  readonly tag?: readonly string[];
}

interface RuleBase {
  readonly name: string;
  readonly severity: Severity;
  /** How long after the condition ended the incident still counts as firing. Zero: not at all. */
  readonly keepFiringForMs: number;
  /** Null: an incident is told once and not again. */
  readonly remindEveryMs: number | null;
  readonly receivers: readonly string[];
  readonly match: Match;
}

/** Holds for a server while it shows the given status. */
export interface ServerRule extends RuleBase {
  readonly on: "server";
  readonly status: Status;
  readonly for: Hold;
}

/** Holds for a target while its polls fail. */
export interface TargetRule extends RuleBase {
  readonly on: "target";
  readonly failing: Hold;
}

export type Rule = ServerRule | TargetRule;
