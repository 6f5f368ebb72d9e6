import type { z } from "zod";
import { wholeAnswer } from "../core/deviation.ts";
import type { Deviation } from "../core/deviation.ts";
import type { JsonValue } from "../service/json.ts";
import { type FieldTally, tallyFields } from "./tally-fields.ts";
import type { FieldView } from "./views.ts";

/**
 * What agrees with the interface, what is outside it, and what could not be seen, field by field.
 *
 * @param more how the answer differs in what no schema says
 */
export function viewFields(
  schema: z.ZodType,
  answer: JsonValue,
  more: readonly Deviation[] = [],
): readonly FieldView[] {
  const { fields, deviations } = tallyFields(schema, answer);
  const byField = Map.groupBy([...deviations, ...more], ({ field }) => field);
  const promised = fields.map((tally): FieldView => {
    const odd = byField.get(tally.field);
    byField.delete(tally.field);
    return odd ? outside(tally.field, odd) : viewTally(tally);
  });
  const others = Array.from(byField, ([field, odd]) => outside(field, odd));
  return [...others.filter(isWhole), ...promised, ...others.filter((each) => !isWhole(each))];
}

function isWhole({ field }: FieldView): boolean {
  return field === wholeAnswer;
}

function outside(field: string, odd: readonly Deviation[]): FieldView {
  const details = odd.map(({ problem, count, example }) => {
    const shape = example === null || problem === "null" ? "" : ` (${example})`;
    return `${problem.replaceAll("_", " ")} ${times(count)}${shape}`;
  });
  return { field, verdict: "outside", detail: details.join(", ") };
}

function viewTally({ field, seen, nulls, absent, words }: FieldTally): FieldView {
  const parts = [
    ...(seen > 0 ? [`seen ${times(seen)}`] : []),
    ...(nulls > 0 ? [`null ${times(nulls)}`] : []),
    ...(absent > 0 ? [`absent ${times(absent)}`] : []),
  ];
  if (seen === 0) {
    const why = parts.length === 0 ? "nothing that could have it" : `only ${parts.join(", ")}`;
    return { field, verdict: "not_seen", detail: why };
  }
  if (words && words.seen.length > 0) {
    parts.push(`words: ${words.seen.join(", ")}`);
    if (words.unseen.length > 0) parts.push(`not seen: ${words.unseen.join(", ")}`);
  }
  return { field, verdict: "agrees", detail: parts.join("; ") };
}

function times(count: number): string {
  return count === 1 ? "once" : `${count} times`;
}
