import type { Deviations } from "./deviations.ts";
import type { JsonValue } from "./json.ts";
import {
  listSandboxesPath,
  listUniversesPath,
  universeDataPath,
  userPath,
  whiteLabelPath,
} from "./operation-path.ts";
import { parseUniverses, parseUser, parseWhiteLabel } from "./parse-lookups.ts";
import { parseWholeListing } from "./parse-whole-listing.ts";

/** One of the five operations, with what it is asked for. */
export type Lookup =
  | { readonly operation: "list_sandboxes" | "list_universes" }
  | {
      readonly operation: "get_user" | "get_universe_data" | "get_white_label";
      readonly id: string;
    };

/** Undefined: the body is of another overall shape. */
export type Parse<T> = (body: JsonValue, deviations: Deviations) => T | undefined;

/** @throws {RangeError} for an id that `canStandInPath` refuses */
export function lookupPath(lookup: Lookup): string {
  switch (lookup.operation) {
    case "list_sandboxes":
      return listSandboxesPath;
    case "list_universes":
      return listUniversesPath;
    case "get_user":
      return userPath(lookup.id);
    case "get_universe_data":
      return universeDataPath(lookup.id);
    case "get_white_label":
      return whiteLabelPath(lookup.id);
  }
}

/** Lets a body pass as it is, once it was held against what is promised. */
export function lookupParser({ operation }: Lookup): Parse<JsonValue> {
  const parse = parserOf(operation);
  return (body, deviations) => (parse(body, deviations) === undefined ? undefined : body);
}

function parserOf(operation: Lookup["operation"]): Parse<unknown> {
  switch (operation) {
    case "list_sandboxes":
      return parseWholeListing;
    case "list_universes":
      return parseUniverses;
    case "get_user":
      return parseUser;
    case "get_universe_data":
      return (body) => body;
    case "get_white_label":
      return parseWhiteLabel;
  }
}
