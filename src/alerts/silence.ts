import type { Target } from "../fleet/model.ts";
import { subjectFacts } from "./incident.ts";
import { matchesAny, type Rule } from "./rule.ts";
import { namedFacts, type Subject } from "./subjects.ts";

export const matchFields = [
  "rule",
  "severity",
  "region",
  "key",
  "probe",
  "sandbox_id",
  "server_id",
  "server_name",
  "benchmark",
  "tag",
] as const;
type MatchField = (typeof matchFields)[number];

/**
 * What a silence matches, under the names that the configuration and the API use. A missing list matches everything. A
 * list matches no subject that lacks the field: a target has no server name.
 */
export type SilenceMatch = { readonly [Field in MatchField]?: readonly string[] };

/** What a silence can match: an incident, or one that would be opened. */
export type SilenceFacts = Readonly<Record<Exclude<MatchField, "tag">, string | null>> & {
  readonly tag: readonly string[];
};

/** Incidents that it matches are not notified from its start to its end. Times are UTC milliseconds. */
export interface Silence {
  readonly id: string;
  readonly match: SilenceMatch;
  readonly author: string;
  readonly reason: string;
  readonly startsAtMs: number;
  readonly endsAtMs: number;
}

/** A silence that the configuration repeats. */
export interface MaintenanceWindow {
  readonly name: string;
  /** A cron expression of five fields, or six with seconds first, in `timeZone`. */
  readonly start: string;
  readonly timeZone: string;
  readonly durationMs: number;
  readonly match: SilenceMatch;
  readonly reason: string | null;
}

/** What suppresses notifications now. */
export interface CurrentSuppressions {
  /** Its `acknowledgedBy` is another object after each change of a silence or an acknowledgement. */
  at(atMs: number): Suppressions;
}

/** A silence or window in force. */
export interface Silencing {
  readonly match: SilenceMatch;
  /** Who added it, or which window it is. */
  readonly by: string;
  readonly endsAtMs: number;
}

/** What suppresses notifications at one moment. */
export interface Suppressions {
  /** The silences in force and the open maintenance windows. */
  readonly silenced: readonly Silencing[];
  /** Who acknowledged an open incident, by its id. */
  readonly acknowledgedBy: ReadonlyMap<string, string>;
  /** Incidents of which the failures of targets are a consequence. */
  readonly regionsDown: RegionsDown;
}

/** A firing incident of a region that fails as a whole at present. */
export interface RegionDown {
  readonly incidentId: string;
  readonly rule: string;
}

/** These incidents, by region. */
export type RegionsDown = ReadonlyMap<string, readonly RegionDown[]>;

export const noSuppressions: Suppressions = {
  silenced: [],
  acknowledgedBy: new Map(),
  regionsDown: new Map(),
};

/** A silence includes its start and excludes its end. */
export function isInForce(
  { startsAtMs, endsAtMs }: Pick<Silence, "startsAtMs" | "endsAtMs">,
  atMs: number,
): boolean {
  return startsAtMs <= atMs && atMs < endsAtMs;
}

export function silences(match: SilenceMatch, facts: SilenceFacts): boolean {
  return matchFields.every((field) => {
    const patterns = match[field];
    if (patterns === undefined) return true;
    return [facts[field]].flat().some((value) => value !== null && matchesAny(patterns, value));
  });
}

/** What a silence can match of a rule's condition on a subject. */
export function silenceFacts(
  { name, severity }: Pick<Rule, "name" | "severity">,
  target: Target | null,
  subject: Subject,
  seen: { readonly benchmark?: string | null; readonly tags?: readonly string[] } = {},
): SilenceFacts {
  const { receiver: _, ...facts } = namedFacts(subjectFacts(target, subject));
  const { benchmark = facts.benchmark, tags: tag = [] } = seen;
  return { rule: name, severity, ...facts, benchmark, tag };
}

/** For a person: "region=us|eu rule=server-error". */
export function matchText(match: SilenceMatch): string {
  return Object.entries(match)
    .map(([field, patterns]: [string, readonly string[]]) => `${field}=${patterns.join("|")}`)
    .join(" ");
}

/** The silence that ends last of those that match. */
export function silencingOf(silenced: readonly Silencing[], facts: SilenceFacts): Silencing | null {
  return silenced
    .filter(({ match }) => silences(match, facts))
    .reduce<Silencing | null>(
      (last, each) => (last && last.endsAtMs >= each.endsAtMs ? last : each),
      null,
    );
}
