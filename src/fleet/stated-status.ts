import type { Status } from "./status.ts";

/*
 * A listing gives sandboxes and servers a status, and either may be absent. One that has not stated a status since it
 * appeared has the status that the other side states: a server that of its sandbox, a sandbox the worst of its servers.
 * One that has ever stated a status has its own from then on, so where it is absent, it is unknown. Only what is stated
 * counts for the other side: nothing is derived from what was itself derived.
 */

/** Gives what a sandbox states, from what it stated before; null: it never has. */
export function statedAfter(listed: Status | null, before: Status | null): Status | null {
  return listed ?? (before === null ? null : "unknown");
}

/** Gives the status of a server. @param ofSandbox what its sandbox states; null: it never has */
export function statusOfServer(
  listed: Status | null,
  hasStated: boolean,
  ofSandbox: Status | null,
): Status {
  return listed ?? (hasStated ? null : ofSandbox) ?? "unknown";
}

const fromWorst = ["error", "occupied", "idle"] as const;

/** The status of a sandbox that never stated one. */
export function worstStated(
  servers: readonly { readonly hasStated: boolean; readonly status: Status }[],
): Status {
  const isStated = (status: Status): boolean =>
    servers.some((server) => server.hasStated && server.status === status);
  return fromWorst.find(isStated) ?? "unknown";
}
