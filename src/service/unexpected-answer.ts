import type { OperationProblem } from "../fleet/deviation.ts";
import type { NotFound } from "./not-found.ts";

/** What an answer that is neither a success nor an error with a meaning of its own comes to. */
export interface Unexpected {
  /** To be told to a person, after the status. */
  readonly detail: string;
  /** Null: the interface lets it be. */
  readonly problem: OperationProblem | null;
}

export function explainNotFound(notFound: NotFound): Unexpected {
  switch (notFound) {
    case "operation_missing":
      return {
        detail: "there is no such operation at this base address",
        problem: "operation_missing",
      };
    case "unknown_id":
      return { detail: "nothing is known by this id", problem: null };
    case "unclear":
      return {
        detail: "nothing is known by this id, or there is no such operation",
        problem: null,
      };
  }
}

/**
 * The address itself is not told: its query may be a secret.
 *
 * @param location as the answer's header has it
 * @param from the whole address that was asked
 */
export function explainRedirect(location: string | undefined, from: string): Unexpected {
  return { detail: `a redirect ${directionOf(location, from)}`, problem: "redirected" };
}

function directionOf(location: string | undefined, from: string): string {
  if (location === undefined) return "to nowhere";
  if (!URL.canParse(location, from)) return "to what is no address";
  const to = new URL(location, from);
  const asked = new URL(from);
  if (to.host !== asked.host) return "to another host, which is not followed";
  if (to.protocol !== asked.protocol) {
    const scheme = to.protocol === "https:" ? "https" : "another scheme";
    return `to ${scheme} on the same host, which is not followed`;
  }
  return to.pathname === `${asked.pathname}/`
    ? "to the same path with a slash, which is not followed"
    : "to another path on the same host, which is not followed";
}
