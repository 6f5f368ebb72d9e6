import type { z } from "zod";
import { BusyError, RefusedError } from "../lib/refused-error.ts";
import { StoreError } from "../store/store-error.ts";
import type { ApiContext } from "./context.ts";
import { withLabelledKeys, type LabelledKey } from "./labelled-keys.ts";

/** Below it are the operations. */
export const operationsRoot = "/api/v1";
export const documentPath = "/api/openapi.json";
export const eventsPath = `${operationsRoot}/events`;

/** An operation that reads what is stored or known. */
interface Query<
  Request extends z.ZodType = z.ZodType,
  Response extends z.ZodType<object> = z.ZodType<object>,
  Context = ApiContext,
> {
  /** The id of the operation in the OpenAPI document. */
  readonly name: string;
  /** Below `/api/v1`. `{name}` stands for that field of the request. */
  readonly path: string;
  readonly summary: string;
  /** The fields in the path together with the query of a GET or the body of a POST. */
  readonly request: Request;
  readonly response: Response;
  /** Statuses by which it can refuse a valid request. */
  readonly refusals?: readonly (404 | 409 | 429)[];
  /** Whether it reads much of the history, for seconds. Few of these are handled at a time. */
  readonly isHeavy?: true;
  /** How long a client waits for the response. Default: 30 s, or of a heavy one 5 min. */
  readonly timeoutMs?: number;
  /** @throws {RefusedError} when the request cannot be fulfilled */
  handle(context: Context, request: z.output<Request>): Promise<z.output<Response>>;
}

/** Routes, the OpenAPI document, the commands' client and the answers without a daemon all derive from it. */
export interface Operation<
  Request extends z.ZodType = z.ZodType,
  Response extends z.ZodType<object> = z.ZodType<object>,
  Context = ApiContext,
> extends Query<Request, Response, Context> {
  readonly method: "GET" | "POST";
  /** Default: 200. */
  readonly status?: 201;
  /** What its caller must be permitted to do. `call`: it calls the service. */
  readonly permission: "read" | "act" | "call" | "delete";
}

/** Infers the types of a query. */
export function defineQuery<Request extends z.ZodType, Response extends z.ZodType<object>, Context>(
  query: Query<Request, Response, Context>,
): Operation<Request, Response, Context> {
  return { ...query, method: "GET", permission: "read" };
}

/** Infers the types of any other operation. */
export function defineAction<
  Request extends z.ZodType,
  Response extends z.ZodType<object>,
  Context,
>({
  permission = "act",
  ...operation
}: Query<Request, Response, Context> &
  Partial<Pick<Operation, "permission" | "status">>): Operation<Request, Response, Context> {
  return { ...operation, method: "POST", permission };
}

/** Calls an operation, in this process or over HTTP. */
export type CallApi<Context = ApiContext> = <
  Request extends z.ZodType,
  Response extends z.ZodType<object>,
>(
  operation: Operation<Request, Response, Context>,
  request: z.input<Request>,
) => Promise<z.output<Response>>;

/** A store that cannot be reached is tried again more often than that. */
const storeRetryMs = 10_000;

/** Calls operations in this process. @param keys those that requests can select by their labels */
export function createApi<Context>(
  context: Context,
  keys: readonly LabelledKey[] = [],
): CallApi<Context> {
  return async (operation, request) => {
    const read = withLabelledKeys(readRequest(operation.request, request), keys);
    try {
      return await operation.handle(context, read);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      throw new BusyError(error.message, storeRetryMs, "unavailable");
    }
  };
}

/** The names of the fields in an operation's path. */
export function pathFields(path: string): readonly string[] {
  return Array.from(path.matchAll(/\{(\w+)\}/g), ([, name = ""]) => name);
}

/** Checks a request. @throws {RefusedError} with everything that is wrong with it */
export function readRequest<Schema extends z.ZodType>(
  schema: Schema,
  request: unknown,
): z.output<Schema> {
  const read = schema.safeParse(request, { error: allowedValues });
  if (read.success) return read.data;
  const faults = read.error.issues.flatMap((issue) => {
    // The index in a list is omitted: in a query and on a command line there is none.
    const path = issue.path
      .filter((part) => typeof part !== "number")
      .map(String)
      .join(".");
    if (issue.code !== "unrecognized_keys") return [{ path, allowed: issue.message }];
    return issue.keys.map((key) => ({
      path: path === "" ? key : `${path}.${key}`,
      allowed: noSuchField,
    }));
  });
  const list = new Set(
    faults.map(({ path, allowed }) => (path === "" ? allowed : `${path}: ${allowed}`)),
  );
  throw new RefusedError(
    "invalid",
    `The request cannot be used. Allowed: ${[...list].join("; ")}`,
    faults,
  );
}

const noSuchField = "nothing: there is no such field";

/** What is allowed where a schema has no message of its own. */
function allowedValues(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case "invalid_type":
      if (issue.expected !== "string") return typeWords[issue.expected];
      return Array.isArray(issue.input) ? "one text, given once" : "a text";
    case "invalid_key":
      return noSuchField;
    case "too_small":
      if (issue.origin === "string") return "a text that is not empty";
      return issue.origin === "array"
        ? `at least ${issue.minimum} of them`
        : `a number of at least ${issue.minimum}`;
    case "too_big":
      if (issue.origin === "string") return `a text of at most ${issue.maximum} characters`;
      return issue.origin === "array" ? `at most ${issue.maximum} of them` : undefined;
    default:
      return undefined;
  }
}

const typeWords: Readonly<Record<string, string>> = {
  object: "an object with fields",
  record: "an object with fields",
  array: "a list",
  int: "a whole number",
};
