import type { Operation } from "./model.ts";

/** The names of the service's operations in commands and paths. */
const operationByName = {
  user: "get_user",
  universes: "list_universes",
  "universe-data": "get_universe_data",
  "white-label": "get_white_label",
  sandboxes: "list_sandboxes",
} as const satisfies Readonly<Record<string, Operation>>;

export const operationNames = [
  "user",
  "universes",
  "universe-data",
  "white-label",
  "sandboxes",
] as const satisfies readonly (keyof typeof operationByName)[];
export type OperationName = (typeof operationNames)[number];

export function operationOf<Word extends OperationName>(
  word: Word,
): (typeof operationByName)[Word] {
  return operationByName[word];
}

/** Operations that take an id. */
export type NameWithId = "user" | "universe-data" | "white-label";

export function takesId(word: OperationName): word is NameWithId {
  return word === "user" || word === "universe-data" || word === "white-label";
}
