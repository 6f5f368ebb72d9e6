import type { OpenStatuses } from "../../core/text-mark.ts";
import type { Status } from "../../core/model.ts";
import { isArray, isObject } from "../json.ts";
import type { JsonObject } from "../json.ts";

/**
 * Gives an item that was parsed from the steady form of its text the statuses in place of their numbers.
 * Those that stand elsewhere than as its own and its servers' are not read.
 *
 * @returns what is open where all of them are read: then those of the servers are side by side, in order
 */
export function putStatusesBack(item: JsonObject, statuses: readonly Status[]): OpenStatuses {
  const own = putBack(item, statuses);
  let read = own === null ? 0 : 1;
  const servers = item["servers"];
  for (const server of isArray(servers) ? servers : []) {
    if (isObject(server) && putBack(server, statuses) !== null) read++;
  }
  if (read !== statuses.length) return "none";
  return own === null || own === 0 ? "own_first" : "own_last";
}

/** What stands for a status in the form of a text. */
const numberOfStatus = /^\d{4}$/;

/** Which of them it was; null for none. */
function putBack(object: JsonObject, statuses: readonly Status[]): number | null {
  const { status } = object;
  // Not only digits make a number: four spaces are one too.
  if (typeof status !== "string" || !numberOfStatus.test(status)) return null;
  const place = Number(status);
  const known = statuses[place];
  if (known === undefined) return null;
  Object.assign(object, { status: known });
  return place;
}
