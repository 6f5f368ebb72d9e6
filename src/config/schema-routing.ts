import { z } from "zod";
import { matchesTarget, severities } from "../alerts/rule.ts";
import type { Target } from "../fleet/model.ts";
import { daysOfWeek, parseOpenRange, type OpenRange } from "../lib/weekly-hours.ts";
import { optional, orReference, refuse, settings } from "./fields.ts";
import { textLike } from "./fields.ts";
import { listOrOne, patternsSchema, serverNamePatterns } from "./rule-fields.ts";
import { patternsOf, serverPatterns, targetPatterns } from "./rule-fields.ts";
import { timeZone } from "./schedule-fields.ts";
import { textMapping } from "./text-mapping.ts";

/** Names that metrics, alerts and groups of reports have already. */
const takenLabels = new Set([
  ..."alertname code from instance job le operation probe reason receiver rule".split(" "),
  ..."sandbox_id server_id severity state status subject to".split(" "),
  ..."benchmark day hour hour_of_day key month region sandbox server".split(" "),
  ..."server_name tag week weekday".split(" "),
]);

const labelAllowed =
  "a label of letters, digits and _ that begins with a letter, and that sandwatch does not use itself";
const labelPattern = /^[A-Za-z]\w{0,62}$/;

/** Labels as Prometheus has them, by name. */
export const labelsSchema = textMapping({
  what: "labels to their values",
  isName: (label) => labelPattern.test(label) && !takenLabels.has(label),
  nameAllowed: labelAllowed,
  isText: (value) => value !== "",
  textAllowed: "text (numbers quoted)",
}).meta({
  type: "object",
  propertyNames: { pattern: labelPattern.source, errorMessage: labelAllowed },
  additionalProperties: { type: "string", minLength: 1 },
});

const severityPatterns = patternsSchema
  .transform((patterns, context) => {
    const isKnown = (pattern: string): boolean =>
      pattern.includes("*") || severities.some((severity) => severity === pattern);
    return patterns.every(isKnown) ? patterns : refuse(context, severities.join(", "));
  })
  .meta(listOrOne({ anyOf: [...orReference({ enum: severities }).anyOf, textLike(/\*/)] }));

export const ruleAndSeverity = {
  rule: patternsOf(
    "Names of rules. A name without `*` must be configured, or be `receiver-failing`.",
  ),
  severity: severityPatterns
    .exactOptional()
    .meta({ description: "Severities of rules.", defaultText: "all" }),
};

const routeSchema = settings({
  ...ruleAndSeverity,
  ...targetPatterns,
  labels: labelsSchema
    .exactOptional()
    .meta({ description: "Labels of keys (`keys[].labels`), all of them.", defaultText: "all" }),
  server_name: serverNamePatterns,
  ...serverPatterns,
});

const rangeAllowed =
  "days and times such as mon-fri 08:00-18:00, sat 10:00-14:00 or sun; the end is not included, and may be on the next day";

const openRange = z
  .unknown()
  .transform((value, context): OpenRange => {
    const range = typeof value === "string" ? parseOpenRange(value) : undefined;
    return range ?? refuse(context, rangeAllowed);
  })
  .meta({
    ...textLike(new RegExp(String.raw`^\s*(?:${daysOfWeek.join("|")})\b`)),
    errorMessage: rangeAllowed,
  });

const hoursSchema = settings({
  open: z
    .array(openRange, "a list of days and times")
    .min(1, "at least one of days and times")
    .describe("When it is notified, such as `mon-fri 08:00-18:00`."),
  timeZone: timeZone().prefault("UTC").describe("The time zone of `open`."),
});

/** Which incidents reach a receiver, and when. */
export const routing = {
  match: optional(
    routeSchema,
    "all incidents of the rules that name the receiver",
    "Limits the receiver to incidents that match every given field. A field that the subject of an incident cannot have excludes nothing: a receiver that is notified of some servers of a target is notified that the target is down.",
  ),
  hours: optional(
    hoursSchema,
    "at any time",
    "When the receiver is notified. Outside these hours it is sent nothing but the end of what it was notified of. When they begin, it is notified of what still fires.",
  ),
};

type Match = NonNullable<z.output<typeof routing.match>>;

interface LabelledKey {
  readonly name: string;
  readonly labels: ReadonlyMap<string, string>;
}

/** The targets that a receiver is about. */
export function targetsMatching(
  { labels, ...match }: Pick<Match, "region" | "key" | "labels">,
  targets: readonly Target[],
  keys: readonly LabelledKey[],
): readonly Target[] {
  const labelsOf = new Map(keys.map((key) => [key.name, key.labels]));
  const wanted = [...(labels ?? [])];
  return targets.filter(
    (target) =>
      matchesTarget(match, target) &&
      wanted.every(([label, value]) => labelsOf.get(target.key)?.get(label) === value),
  );
}
