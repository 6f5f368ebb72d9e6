import type { Operation } from "./model.ts";

/** What people call the operations, in the configuration and on the command line. */
export const operationWords = {
  user: "get_user",
  universes: "list_universes",
  "universe-data": "get_universe_data",
  "white-label": "get_white_label",
  sandboxes: "list_sandboxes",
} as const satisfies Readonly<Record<string, Operation>>;

export type OperationWord = keyof typeof operationWords;

/** Whether an operation asks for one thing by its id. */
export function takesId(operation: Operation): boolean {
  return operation !== "list_universes" && operation !== "list_sandboxes";
}
