import type { Operation } from "./model.ts";

/** The names of the service's operations in commands and paths. */
const ofWords = {
  user: "get_user",
  universes: "list_universes",
  "universe-data": "get_universe_data",
  "white-label": "get_white_label",
  sandboxes: "list_sandboxes",
} as const satisfies Readonly<Record<string, Operation>>;

export const lookupWords = [
  "user",
  "universes",
  "universe-data",
  "white-label",
  "sandboxes",
] as const satisfies readonly (keyof typeof ofWords)[];
export type LookupWord = (typeof lookupWords)[number];

export function operationOf<Word extends LookupWord>(word: Word): (typeof ofWords)[Word] {
  return ofWords[word];
}

/** Operations that take an id. */
export type IdWord = "user" | "universe-data" | "white-label";

export function takesId(word: LookupWord): word is IdWord {
  return word === "user" || word === "universe-data" || word === "white-label";
}
