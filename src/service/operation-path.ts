import type { Operation } from "../core/model.ts";
import { promisedOperations } from "../interface/operations.ts";

export const listSandboxesPath = promisedOperations.list_sandboxes.path;
export const listUniversesPath = promisedOperations.list_universes.path;

/** @throws {RangeError} like the two below it, for an id that `canStandInPath` refuses */
export function userPath(userId: string): string {
  return pathOf("get_user", userId);
}

export function universeDataPath(universeId: string): string {
  return pathOf("get_universe_data", universeId);
}

export function whiteLabelPath(clientId: string): string {
  return pathOf("get_white_label", clientId);
}

function pathOf(operation: Operation, id: string): string {
  const segment = pathSegment(id);
  return promisedOperations[operation].path.replace(/\{\w+\}/, () => segment);
}

/**
 * Whether an id can be asked for at all. The empty one, `.` and `..` would reach another path, as
 * servers and proxies resolve them even when encoded (RFC 3986, section 5.2.4); a lone surrogate
 * has no encoding.
 */
export function canStandInPath(id: string): boolean {
  return id !== "" && id !== "." && id !== ".." && id.isWellFormed();
}

function pathSegment(id: string): string {
  if (!canStandInPath(id)) {
    throw new RangeError("An id must be well-formed text other than an empty one, . and ..");
  }
  return encodeURIComponent(id);
}
