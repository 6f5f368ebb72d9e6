import { operations } from "../core/model.ts";
import type { Operation } from "../core/model.ts";
import { promisedOperations } from "../interface/operations.ts";
import { validationSchema } from "../interface/resources.ts";
import type { CallResult } from "../service/client.ts";
import type { CallFailure } from "../service/failure.ts";
import { isArray, isObject, type JsonValue } from "../service/json.ts";
import type { Lookup } from "../service/lookup.ts";
import { canStandInPath } from "../service/operation-path.ts";
import { compareIdentities } from "./compare-identities.ts";
import { viewFields } from "./view-fields.ts";
import type { OperationView } from "./views.ts";

/** What to ask the operations for that take an id; without one an operation may not be asked. */
export interface Ids {
  readonly user?: string | undefined;
  /** Left out: the first one of those that are listed. */
  readonly universe?: string | undefined;
  readonly client?: string | undefined;
}

/** Calls an operation. */
export type Ask = (
  lookup: Lookup,
) => Promise<CallResult<JsonValue> | { readonly kind: "not_sent"; readonly detail: string }>;

/** Calls each operation once at most, one after the other, and holds what it answers against the interface. */
export async function examine(ask: Ask, ids: Ids): Promise<readonly OperationView[]> {
  const views = new Map<Operation, OperationView>();
  const look = async (lookup: Lookup): Promise<JsonValue | undefined> => {
    const { operation } = lookup;
    const result = await ask(lookup);
    views.set(operation, { operation, ...judge(operation, result) });
    return result.kind === "ok" && result.status === 200 ? result.value : undefined;
  };
  const lookFor = async (
    operation: Extract<Lookup, { readonly id: string }>["operation"],
    id: string | undefined,
    want: string,
  ): Promise<void> => {
    if (id === undefined) {
      views.set(operation, { operation, outcome: "not_seen", detail: want, fields: [] });
    } else await look({ operation, id });
  };

  await look({ operation: "list_sandboxes" });
  const universes = await look({ operation: "list_universes" });
  const universe = ids.universe ?? firstUniverse(universes);
  await lookFor("get_user", ids.user, "give the id of a user with --user");
  await lookFor(
    "get_universe_data",
    universe,
    "no universe is listed, give the id of one with --universe",
  );
  await lookFor("get_white_label", ids.client, "give an OAuth client id with --client");
  return operations.flatMap((operation) => views.get(operation) ?? []);
}

type Judged = Omit<OperationView, "operation">;

function judge(operation: Operation, result: Awaited<ReturnType<Ask>>): Judged {
  if (result.kind === "not_sent") return { outcome: "failed", detail: result.detail, fields: [] };
  if (result.kind === "failed") return judgeFailure(operation, result);
  const { status, value } = result;
  const { answer, parameter } = promisedOperations[operation];
  if (status === 200) {
    const more = operation === "list_sandboxes" ? compareIdentities(value) : [];
    const fields = viewFields(answer, value, more);
    const detail =
      fields.length === 0 ? "HTTP 200; the interface shows no shape of it" : "HTTP 200";
    return { outcome: "answered", detail, fields };
  }
  const fields = viewFields(validationSchema, value);
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
  // Of its input the interface lets an operation say this, and shows no body of it.
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
