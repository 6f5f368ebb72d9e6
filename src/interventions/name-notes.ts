import { nearestName } from "../config/nearest-name.ts";
import { receiverRule } from "../core/judge-receivers.ts";
import { matchesAny } from "../core/matching.ts";
import type { Target } from "../core/model.ts";
import { severities } from "../core/rule.ts";
import type { SilenceMatch } from "../core/silence.ts";

/** The names that a configuration knows. */
export interface KnownNames {
  readonly rules: readonly string[];
  readonly receivers: readonly string[];
  readonly targets: readonly Target[];
  readonly probes: readonly string[];
}

/**
 * Says of names that people give whether the configuration has them. They are no faults: what is
 * stored may be older than the configuration, and what is meant may be yet to come. But most are
 * slips of the pen, and a misspelt silence is silent about nothing.
 */
export interface NameNotes {
  ofMatch(match: SilenceMatch): readonly string[];
  ofRules(names: readonly string[]): readonly string[];
  ofReceiver(name: string): readonly string[];
}

/** More known names are not told. */
const mostNamed = 20;

export function createNameNotes(names: KnownNames): NameNotes {
  const rules = [...names.rules, receiverRule.name];
  const regions = [...new Set(names.targets.map(({ region }) => region))];
  const keys = [...new Set(names.targets.map(({ key }) => key))];
  const probes = [...new Set(names.probes)];
  return {
    ofMatch: ({ rule = [], severity = [], region = [], key = [], probe = [] }) => [
      ...notesOf("rule", rule, rules),
      ...notesOf("severity", severity, severities),
      ...notesOf("region", region, regions),
      ...notesOf("key", key, keys),
      ...notesOf("probe", probe, probes),
    ],
    ofRules: (given) => notesOf("rule", given, rules),
    ofReceiver: (name) => notesOf("receiver", [name], names.receivers),
  };
}

/** Says of each that fits no known name that there is none of it. */
export function notesOf(
  what: string,
  patterns: readonly string[],
  known: readonly string[],
): readonly string[] {
  return patterns
    .filter((pattern) => !known.some((name) => matchesAny([pattern], name)))
    .map((pattern) => {
      const nearest = nearestName(pattern, known);
      const hint = nearest === null ? "" : `; did you mean ${JSON.stringify(nearest)}?`;
      return `no ${what} is called ${JSON.stringify(pattern)}, there are: ${listOf(known)}${hint}`;
    });
}

function listOf(known: readonly string[]): string {
  if (known.length === 0) return "none";
  const more = known.length > mostNamed ? " and more" : "";
  return `${known.slice(0, mostNamed).join(", ")}${more}`;
}
