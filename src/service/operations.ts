import type { z } from "zod";
import type { Operation } from "../fleet/model.ts";
import { isArray, isObject } from "./json.ts";
import type { JsonValue } from "./json-value.ts";
import {
  listingSchema,
  universeDataSchema,
  universesSchema,
  userSchema,
  whiteLabelSchema,
} from "./schemas.ts";

/** One of the five operations, with what it is asked for. */
export type Lookup =
  | { readonly operation: "list_sandboxes" | "list_universes" }
  | {
      readonly operation: "get_user" | "get_universe_data" | "get_white_label";
      readonly id: string;
    };

/** One of the five operations, as the interface document has it. All are GETs without a body. */
export interface PromisedOperation {
  /** Below the base address, with the name of the id in braces. */
  readonly path: string;
  /** The path parameter's name; null where there is none. */
  readonly parameter: string | null;
  readonly summary: string;
  /** Of an answer with status 200. */
  readonly answer: z.ZodType;
}

export const promisedOperations: Readonly<Record<Operation, PromisedOperation>> = {
  list_sandboxes: {
    path: "/local-sandbox",
    parameter: null,
    summary: "List local sandboxes",
    answer: listingSchema,
  },
  get_user: {
    path: "/user/{userId}",
    parameter: "userId",
    summary: "Get user information by user id",
    answer: userSchema,
  },
  list_universes: {
    path: "/universes",
    parameter: null,
    summary: "List all available universes",
    answer: universesSchema,
  },
  get_universe_data: {
    path: "/universes/{universe_id}/initial_data",
    parameter: "universe_id",
    summary: "Get universe initial data for all services",
    answer: universeDataSchema,
  },
  get_white_label: {
    path: "/white-labeling/get/{client_id}",
    parameter: "client_id",
    summary: "Get white-labeling information for an OAuth client id",
    answer: whiteLabelSchema,
  },
};

/** Whether a body is of the operation's overall shape. How it deviates within that is for the walker to find. */
export function hasShape(operation: Operation, body: JsonValue): boolean {
  if (operation === "get_universe_data") return true;
  if (!isObject(body)) return false;
  if (operation === "list_sandboxes") return isArray(body["local_sandboxes"]);
  return operation !== "list_universes" || isArray(body["universes"]);
}

/**
 * Below the base address.
 *
 * @throws {RangeError} for an id that `canStandInPath` refuses
 */
export function lookupPath(lookup: Lookup): string {
  const { path } = promisedOperations[lookup.operation];
  if (!("id" in lookup)) return path;
  if (!canStandInPath(lookup.id)) {
    throw new RangeError("An id must be well-formed text other than an empty one, . and ..");
  }
  const segment = encodeURIComponent(lookup.id);
  return path.replace(/\{\w+\}/, () => segment);
}

/**
 * Whether an id can be asked for at all. The empty one, `.` and `..` would reach another path, as
 * servers and proxies resolve them even when encoded (RFC 3986, section 5.2.4); a lone surrogate
 * has no encoding.
 */
export function canStandInPath(id: string): boolean {
  return id !== "" && id !== "." && id !== ".." && id.isWellFormed();
}
