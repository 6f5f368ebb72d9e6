import { z } from "zod";
import { operations } from "../fleet/model.ts";
import type { Operation } from "../fleet/model.ts";
import { wholeAnswer } from "../fleet/deviation.ts";
import type { Deviation } from "../fleet/deviation.ts";
import type { CallResult } from "./client.ts";
import { createWalker, Deviations, type FieldCount } from "./deviations.ts";
import type { CallFailure } from "./failure.ts";
import { isArray, isObject } from "./json.ts";
import type { JsonValue } from "./json-value.ts";
import { canStandInPath, type Lookup, promisedOperations } from "./operations.ts";
import { validationSchema } from "./schemas.ts";

const fieldReport = z.object({
  /** Such as `universes[].name`; `(answer)`: the response as a whole. */
  field: z.string(),
  verdict: z.enum(["agrees", "outside", "not_seen"]),
  /** How often it was seen, how it differs, or why it could not be seen. */
  detail: z.string(),
});
export type FieldReport = z.output<typeof fieldReport>;

export const operationReport = z.object({
  operation: z.enum(operations),
  /**
   * `answered`: the response was compared with the interface. `outside`: there was one that the interface
   * does not have. `not_seen`: no id was known to ask with. `failed`: there was no response.
   */
  outcome: z.enum(["answered", "outside", "not_seen", "failed"]),
  detail: z.string(),
  fields: z.array(fieldReport).readonly(),
});
export type OperationReport = z.output<typeof operationReport>;

/** The ids for operations that take one; an operation without its id may not be called. */
export interface Ids {
  readonly user?: string | undefined;
  /** Default: the first one that is listed. */
  readonly universe?: string | undefined;
  readonly client?: string | undefined;
}

type Asked = CallResult<JsonValue> | { readonly kind: "not_sent"; readonly detail: string };

/** Calls each operation at most once, one after the other, and compares the responses with the interface. */
export async function examine(
  ask: (lookup: Lookup) => Promise<Asked>,
  ids: Ids,
): Promise<readonly OperationReport[]> {
  const reports = new Map<Operation, OperationReport>();
  const look = async (lookup: Lookup): Promise<JsonValue | undefined> => {
    const { operation } = lookup;
    const result = await ask(lookup);
    reports.set(operation, { operation, ...judge(operation, result) });
    return result.kind === "ok" && result.status === 200 ? result.value : undefined;
  };

  await look({ operation: "list_sandboxes" });
  const universes = await look({ operation: "list_universes" });
  const universe = ids.universe ?? firstUniverse(universes);
  const lookups = [
    ["get_user", ids.user, "give the id of a user with --user"],
    ["get_universe_data", universe, "no universe is listed, give the id of one with --universe"],
    ["get_white_label", ids.client, "give an OAuth client id with --client"],
  ] as const;
  for (const [operation, id, detail] of lookups) {
    if (id !== undefined) await look({ operation, id });
    else reports.set(operation, { operation, outcome: "not_seen", detail, fields: [] });
  }
  return operations.flatMap((operation) => reports.get(operation) ?? []);
}

type Judged = Omit<OperationReport, "operation">;

function judge(operation: Operation, result: Asked): Judged {
  if (result.kind === "not_sent") return { outcome: "failed", detail: result.detail, fields: [] };
  if (result.kind === "failed") return judgeFailure(operation, result);
  const { status, value } = result;
  const { answer, parameter } = promisedOperations[operation];
  if (status === 200) {
    const more = operation === "list_sandboxes" ? compareIdentities(value) : [];
    const fields = reportFields(answer, value, more);
    const detail =
      fields.length === 0 ? "HTTP 200; the interface shows no shape of it" : "HTTP 200";
    return { outcome: "answered", detail, fields };
  }
  const fields = reportFields(validationSchema, value);
  return parameter === null
    ? { outcome: "failed", detail: `HTTP ${status}, though the operation takes no input`, fields }
    : { outcome: "answered", detail: `HTTP ${status}: the id is not valid`, fields };
}

function judgeFailure(
  operation: Operation,
  { reason, status, detail, problem }: CallFailure,
): Judged {
  const isOutside = problem !== undefined || (reason === "invalid_body" && status === 200);
  if (isOutside) return { outcome: "outside", detail, fields: [] };
  const takesId = promisedOperations[operation].parameter !== null;
  // The interface allows a 400 for an invalid id, and specifies no body for it.
  if (status === 400 && takesId) {
    return { outcome: "not_seen", detail: `${detail}: the id is not valid`, fields: [] };
  }
  return { outcome: status === 404 ? "not_seen" : "failed", detail, fields: [] };
}

function firstUniverse(answer: JsonValue | undefined): string | undefined {
  const universes = isObject(answer) ? answer["universes"] : undefined;
  const ids = isArray(universes)
    ? universes.map((universe) => (isObject(universe) ? universe["universe_id"] : undefined))
    : [];
  return ids.find((id): id is string => typeof id === "string" && canStandInPath(id));
}

/**
 * What conforms to the interface, what is outside it, and what could not be seen, field by field.
 *
 * @param more deviations that no schema describes
 */
export function reportFields(
  schema: z.ZodType,
  response: JsonValue,
  more: readonly Deviation[] = [],
): readonly FieldReport[] {
  const walker = createWalker(schema);
  const counts = walker.startCounts();
  const deviations = new Deviations();
  walker.compare(response, deviations, counts);
  const byField = Map.groupBy([...deviations.list(), ...more], ({ field }) => field);
  const promised = Array.from(counts, ([field, count]): FieldReport => {
    const found = byField.get(field);
    byField.delete(field);
    return found ? reportDeviations(field, found) : reportCount(field, count);
  });
  const others = Array.from(byField, ([field, found]) => reportDeviations(field, found));
  const isWhole = ({ field }: FieldReport): boolean => field === wholeAnswer;
  return [...others.filter(isWhole), ...promised, ...others.filter((each) => !isWhole(each))];
}

function reportDeviations(field: string, found: readonly Deviation[]): FieldReport {
  const details = found.map(({ problem, count, example }) => {
    const shape = example === null || problem === "null" ? "" : ` (${example})`;
    return `${problem.replaceAll("_", " ")} ${times(count)}${shape}`;
  });
  return { field, verdict: "outside", detail: details.join(", ") };
}

function reportCount(field: string, { seen, nulls, absent, words }: FieldCount): FieldReport {
  const parts = [
    ...(seen > 0 ? [`seen ${times(seen)}`] : []),
    ...(nulls > 0 ? [`null ${times(nulls)}`] : []),
    ...(absent > 0 ? [`absent ${times(absent)}`] : []),
  ];
  if (seen === 0) {
    const why = parts.length === 0 ? "nothing that could have it" : `only ${parts.join(", ")}`;
    return { field, verdict: "not_seen", detail: why };
  }
  if (words) {
    const inWords = (isMet: boolean): string =>
      [...words.keys()].filter((word) => words.get(word) === isMet).join(", ");
    parts.push(`words: ${inWords(true)}`);
    if (inWords(false) !== "") parts.push(`not seen: ${inWords(false)}`);
  }
  return { field, verdict: "agrees", detail: parts.join("; ") };
}

function times(count: number): string {
  return count === 1 ? "once" : `${count} times`;
}

/** Whether the ids of a listing are unique, each server's within its sandbox, and the count is right. */
function compareIdentities(listing: JsonValue): readonly Deviation[] {
  const deviations = new Deviations();
  const sandboxes = isObject(listing) ? listing["local_sandboxes"] : undefined;
  if (!isObject(listing) || !isArray(sandboxes)) return [];
  const noteDuplicates = (items: readonly JsonValue[], name: string, field: string): void => {
    const ids = items.map((item) => (isObject(item) ? item[name] : undefined));
    const texts = ids.filter((id) => typeof id === "string");
    const duplicates = texts.length - new Set(texts).size;
    if (duplicates > 0) deviations.note(field, "duplicate", undefined, duplicates);
  };
  noteDuplicates(sandboxes, "local_sandbox_id", "local_sandboxes[].local_sandbox_id");
  for (const sandbox of sandboxes) {
    const servers = isObject(sandbox) ? sandbox["servers"] : undefined;
    if (isArray(servers)) noteDuplicates(servers, "id", "local_sandboxes[].servers[].id");
  }
  const count = listing["total_count"];
  if (Number.isInteger(count) && count !== sandboxes.length) {
    deviations.note("total_count", "mismatch");
  }
  return deviations.list();
}
