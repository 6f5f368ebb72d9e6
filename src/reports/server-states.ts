import { targetName } from "../fleet/model.ts";
import type { Target } from "../fleet/model.ts";
import type { Status } from "../fleet/status.ts";
import { batches, paced } from "../lib/paced.ts";
import type { PresentServers, ServerChange } from "./sources.ts";

/** What a server was at a moment. */
export interface ServerState {
  readonly target: Target;
  readonly sandboxId: string;
  readonly serverId: string;
  readonly serverName: string | null;
  readonly status: Status;
  /** Whether the last complete listing lacked it: then its time is unobserved. */
  readonly isMissing: boolean;
}

export interface PresentTarget {
  readonly target: Target;
  readonly present: PresentServers;
}

const serversAtOnce = 2_000;

/** How far before a moment it is looked whether a server was missing then: that ends with few polls. */
export const lookBackMs = 30 * 24 * 60 * 60_000;

/** Walks back from what there is now to what there was. */
export async function statesAt(
  atMs: number,
  targets: readonly PresentTarget[],
  read: (range: { fromMs: number; toMs: number }) => AsyncIterable<ServerChange>,
): Promise<Map<string, ServerState>> {
  const states = new Map<string, ServerState>();
  const knownUntilMs = new Map<string, number>();
  for (const { target, present } of targets) {
    knownUntilMs.set(targetName(target), present.lastPollAtMs ?? -Infinity);
    for await (const some of paced(batches(present.servers, serversAtOnce))) {
      for (const server of some) states.set(stateKey(target, server), { target, ...server });
    }
  }
  /** Of these the next change says what they were, but not whether they were missing. */
  const unsure = new Set<string>();
  const latestMs = Math.max(atMs, ...knownUntilMs.values());
  for await (const change of read({ fromMs: atMs, toMs: latestMs + 1 })) {
    // It was committed after the present was looked at.
    if (change.atMs > (knownUntilMs.get(targetName(change.target)) ?? -Infinity)) continue;
    const key = stateKey(change.target, change);
    if (change.from === "absent") {
      states.delete(key);
      unsure.delete(key);
      continue;
    }
    const { target, sandboxId, serverId, serverName, from, observation, dwellMs } = change;
    const isMissing = observation === "seen";
    states.set(key, { target, sandboxId, serverId, serverName, status: from, isMissing });
    // The stay of one that was missing is not known.
    if (observation === null && dwellMs === null) unsure.add(key);
    else unsure.delete(key);
  }
  if (unsure.size === 0) return states;
  for await (const change of read({ fromMs: atMs - lookBackMs, toMs: atMs })) {
    const key = stateKey(change.target, change);
    if (!unsure.delete(key)) continue;
    const state = states.get(key);
    if (state) states.set(key, { ...state, isMissing: change.observation === "missing" });
    if (unsure.size === 0) break;
  }
  return states;
}

export function stateKey(
  target: Target,
  server: { readonly sandboxId: string; readonly serverId: string },
): string {
  return JSON.stringify([targetName(target), server.sandboxId, server.serverId]);
}
