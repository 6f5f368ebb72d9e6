import type { Status } from "../fleet/model.ts";

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
  readonly probe?: readonly string[];
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
  /** Texts with placeholders such as `{server_name}`; null: none, or for the summary the usual one. */
  readonly summaryTemplate: string | null;
  readonly runbookUrlTemplate: string | null;
}

/** More than so many times within so long: the subject flaps. */
export interface FlapLimit {
  readonly changes: number;
  readonly withinMs: number;
}

/** Holds for a server while it shows the given status. */
export interface ServerRule extends RuleBase {
  readonly on: "server";
  readonly status: Status;
  readonly for: Hold;
  /** Null: every time is told. */
  readonly flap: FlapLimit | null;
}

/** What can be wrong with a target: polls fail, the service refuses the key, or listings are partial. */
export const targetTroubles = ["failing", "auth", "partial"] as const;
export type TargetTrouble = (typeof targetTroubles)[number];

/** Holds for a target while it has the trouble. */
export interface TargetRule extends RuleBase {
  readonly on: "target";
  readonly trouble: TargetTrouble;
  readonly for: Hold;
}

/** What servers are pooled by: those alike in all of these make one pool. */
export const poolFields = ["region", "key", "server_name"] as const;
export type PoolField = (typeof poolFields)[number];

/** What is measured of a pool: ratios are of its servers whose status is known. */
export const poolMeasures = ["occupied_ratio", "idle", "error_ratio", "servers"] as const;
export type PoolMeasure = (typeof poolMeasures)[number];

/** Holds for a pool while a measure of it is above or below a limit, the limit itself not counting. */
export interface PoolRule extends RuleBase {
  readonly on: "pool";
  /** Empty: one pool of all servers that the rule is about. */
  readonly by: readonly PoolField[];
  readonly measure: PoolMeasure;
  readonly side: "above" | "below";
  readonly limit: number;
  readonly forMs: number;
}

/** Holds for a probe in a region with a key while its runs fail. */
export interface ProbeRule extends RuleBase {
  readonly on: "probe";
  readonly for: Hold;
  /** Null: every time is told. */
  readonly flap: FlapLimit | null;
}

/** Built in. Holds for a receiver from what it made sandwatch give up until it takes something. */
export interface ReceiverRule extends RuleBase {
  readonly on: "receiver";
  readonly for: Hold;
}

export type Rule = ServerRule | TargetRule | PoolRule | ProbeRule | ReceiverRule;
