import { matchesAny } from "./matching.ts";
import type { Severity } from "./rule.ts";

/**
 * What a silence is about. Each list names what is allowed, `*` standing for any run of characters; a
 * field left out allows all, and what has no such field (a target has no server name) fits only then.
 */
export interface SilenceMatch {
  readonly rule?: readonly string[];
  readonly severity?: readonly string[];
  readonly region?: readonly string[];
  readonly key?: readonly string[];
  readonly probe?: readonly string[];
  readonly sandboxId?: readonly string[];
  readonly serverId?: readonly string[];
  readonly serverName?: readonly string[];
  readonly benchmark?: readonly string[];
  readonly tag?: readonly string[];
}

/** Incidents that it matches are not told from its start to its end. Times are UTC milliseconds. */
export interface Silence {
  readonly id: string;
  readonly match: SilenceMatch;
  readonly author: string;
  readonly reason: string;
  readonly startsAtMs: number;
  readonly endsAtMs: number;
}

/** What a silence can be asked about: an incident, or one that would be. */
export interface SilenceFacts {
  readonly rule: string;
  readonly severity: Severity;
  readonly region: string | null;
  readonly key: string | null;
  readonly probe: string | null;
  readonly sandboxId: string | null;
  readonly serverId: string | null;
  readonly serverName: string | null;
  readonly benchmark: string | null;
  readonly tags: readonly string[];
}

/** Whether a silence is in force at a moment: its start belongs to it, its end does not. */
export function isInForce(
  { startsAtMs, endsAtMs }: Pick<Silence, "startsAtMs" | "endsAtMs">,
  atMs: number,
): boolean {
  return startsAtMs <= atMs && atMs < endsAtMs;
}

export function silences(match: SilenceMatch, facts: SilenceFacts): boolean {
  return (
    fits(match.rule, facts.rule) &&
    fits(match.severity, facts.severity) &&
    fits(match.region, facts.region) &&
    fits(match.key, facts.key) &&
    fits(match.probe, facts.probe) &&
    fits(match.sandboxId, facts.sandboxId) &&
    fits(match.serverId, facts.serverId) &&
    fits(match.serverName, facts.serverName) &&
    fits(match.benchmark, facts.benchmark) &&
    (match.tag === undefined || facts.tags.some((tag) => matchesAny(match.tag, tag)))
  );
}

function fits(patterns: readonly string[] | undefined, text: string | null): boolean {
  return patterns === undefined || (text !== null && matchesAny(patterns, text));
}
