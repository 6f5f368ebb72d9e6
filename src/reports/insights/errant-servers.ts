import type { Target } from "../../core/model.ts";
import type { ServerChange } from "../sources.ts";

/** A server that was in error. */
export interface ErrantServer extends Target {
  readonly sandboxId: string;
  readonly serverId: string;
  readonly serverName: string | null;
  /** How often it entered error. */
  readonly errors: number;
  /** Of the stays in error that ended, as far as they were watched from end to end. */
  readonly errorMs: number;
}

/** Counts how often servers entered error, and for how long they stayed. */
export function createErrorCounts() {
  const servers = new Map<string, ErrantServer & { errors: number; errorMs: number }>();
  return {
    add({ target, sandboxId, serverId, serverName, from, to, stayMs, lapse }: ServerChange): void {
      if (lapse !== null || (from !== "error" && to !== "error")) return;
      const id = JSON.stringify([target.region, target.key, sandboxId, serverId]);
      const known = servers.get(id);
      const errors = to === "error" ? 1 : 0;
      const errorMs = from === "error" ? (stayMs ?? 0) : 0;
      if (known) {
        known.errors += errors;
        known.errorMs += errorMs;
      } else {
        servers.set(id, { ...target, sandboxId, serverId, serverName, errors, errorMs });
      }
    },
    most(by: "errors" | "errorMs", limit: number): readonly ErrantServer[] {
      return [...servers.values()]
        .filter((server) => server[by] > 0)
        .toSorted((one, other) => other[by] - one[by])
        .slice(0, limit);
    },
  };
}
