import { RefusedError } from "../lib/refusal.ts";
import type { Store } from "../store/store.ts";

/** A longer list of ids is cut. */
const mostNamed = 10;

/**
 * Completes the beginning of an id. A text that no id begins with is returned as it is.
 *
 * @throws {RefusedError} when several ids begin with it, or it is empty
 */
export function wholeId(text: string, silences: readonly { readonly id: string }[]): string {
  checkGiven(text);
  const ids = silences.map(({ id }) => id).filter((id) => id.startsWith(text));
  if (ids.includes(text) || ids.length < 2) return ids.length === 1 ? (ids[0] ?? text) : text;
  throw severalIds(text, ids);
}

/** @throws {RefusedError} unless exactly one incident has the id or an id that begins with the text */
export async function findIncident(
  text: string,
  { incidents }: Pick<Store, "incidents">,
): Promise<string> {
  checkGiven(text);
  const found = await incidents.beginningWith(text, mostNamed + 1);
  const ids = found.map(({ incident }) => incident.id);
  if (ids.includes(text)) return text;
  const [only, ...others] = ids;
  if (only === undefined) throw noSuchIncident(text);
  if (others.length === 0) return only;
  throw severalIds(text, ids);
}

function checkGiven(text: string): void {
  if (text === "") throw new RefusedError("invalid", "Give an id, or the beginning of one.");
}

export function noSuchIncident(text: string): RefusedError {
  return new RefusedError("not_found", `There is no incident ${text}. List them for their ids.`);
}

function severalIds(text: string, ids: readonly string[]): RefusedError {
  const named = ids.slice(0, mostNamed);
  const more = ids.length > named.length ? " and more" : "";
  return new RefusedError(
    "conflict",
    `${text} is the beginning of several ids: ${named.join(", ")}${more}. Give more of it.`,
  );
}
