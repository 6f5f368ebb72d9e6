import { nearestName } from "../config/nearest-name.ts";
import { receiverRule } from "../alerts/judge-receivers.ts";
import { matchesAny } from "../alerts/rule.ts";
import type { Target } from "../fleet/model.ts";
import { severities } from "../alerts/rule.ts";
import type { SilenceMatch } from "../alerts/silence.ts";

/** What a configuration has names for. */
export interface KnownNames {
  readonly rules: readonly { readonly name: string }[];
  readonly receivers: readonly string[];
  readonly targets: readonly { readonly target: Target }[];
  readonly probes: readonly { readonly subject: { readonly probe: string } }[];
}

/** A longer list of known names is cut. */
const mostListed = 20;

/**
 * Notes on the names of a match that the configuration does not have. They are no errors: what is stored
 * may be older than the configuration. But most are misspelt, and a misspelt silence has no effect.
 */
export function matchNotes(
  known: KnownNames,
  { rule = [], severity = [], region = [], key = [], probe = [] }: SilenceMatch,
): readonly string[] {
  const targets = known.targets.map(({ target }) => target);
  return [
    ...unknownNames("rule", rule, [...known.rules.map(({ name }) => name), receiverRule.name]),
    ...unknownNames("severity", severity, severities),
    ...unknownNames("region", region, unique(targets.map((target) => target.region))),
    ...unknownNames("key", key, unique(targets.map((target) => target.key))),
    ...unknownNames("probe", probe, unique(known.probes.map(({ subject }) => subject.probe))),
  ];
}

export function receiverNotes({ receivers }: KnownNames, name: string): readonly string[] {
  return unknownNames("receiver", [name], receivers);
}

function unknownNames(
  what: string,
  patterns: readonly string[],
  known: readonly string[],
): readonly string[] {
  return patterns
    .filter((pattern) => !known.some((name) => matchesAny([pattern], name)))
    .map((pattern) => {
      const nearest = nearestName(pattern, known);
      const hint = nearest === null ? "" : `; did you mean ${JSON.stringify(nearest)}?`;
      return `no ${what} is called ${JSON.stringify(pattern)}, there are: ${listed(known)}${hint}`;
    });
}

function unique(names: readonly string[]): readonly string[] {
  return [...new Set(names)];
}

function listed(known: readonly string[]): string {
  if (known.length === 0) return "none";
  const more = known.length > mostListed ? " and more" : "";
  return `${known.slice(0, mostListed).join(", ")}${more}`;
}
