import { judgePoll, type PollOutcome, type Verdict } from "../../../src/alerts/judge.ts";
import type { Status, Target } from "../../../src/fleet/model.ts";
import type { ListedSandbox, Snapshot } from "../../../src/fleet/snapshot.ts";
import { watchTarget } from "../../../src/polling/watched-target.ts";
import type { RestoredTarget, WatchedTarget } from "../../../src/polling/watched-target.ts";
import { judgeBy } from "../fleet.ts";
import { readListing } from "../listing.ts";
import { momentsOf, shownAt } from "./poll-record.ts";
import type { Script, ScriptServer } from "./script.ts";

/** What keeps a target from one process to the next. */
export interface Keeper {
  restore(target: Target): Promise<{ known: RestoredTarget; snapshot: Snapshot }>;
  commit(targetId: number, verdict: Verdict): Promise<void>;
}

/** Watches a script's world as the daemon does. */
export async function play(script: Script, target: Target, keeper: Keeper): Promise<void> {
  const { goneAfter } = script;
  const options = { ...judgeBy(), goneAfter };
  const moments = momentsOf(script);
  let beganMs = 0;
  const start = async (worldMs: number, utcMs: number): Promise<WatchedTarget> => {
    beganMs = worldMs;
    const { known, snapshot } = await keeper.restore(target);
    return watchTarget(known, snapshot, { staleAfter: 3, restoredForMs: 0, nowUtcMs: utcMs });
  };
  let watched: WatchedTarget | null = null;
  for (const [at, { outcome, restarts, kept }] of script.turns.entries()) {
    const { worldMs, utcMs } = moments[at] ?? { worldMs: 0, utcMs: 0 };
    if (watched === null || restarts) watched = await start(worldMs, utcMs);
    const isListed = outcome === "complete" || outcome === "partial";
    const polled: PollOutcome = isListed
      ? {
          kind: "listed",
          listing: readListing({
            sandboxes: sandboxesOf(shownAt(script, at, worldMs)),
            complete: outcome === "complete",
          }),
        }
      : { kind: "failed", reason: outcome };
    const monotonicMs = 1_000 + worldMs - beganMs;
    const verdict = judgePoll(watched.state, polled, { utcMs, monotonicMs }, options);
    if (!kept) {
      watched.losePoll();
      continue;
    }
    await keeper.commit(watched.id, verdict);
    watched.accept(verdict);
  }
}

function sandboxesOf(shown: ReadonlyMap<ScriptServer, Status>): readonly ListedSandbox[] {
  const bySandbox = Map.groupBy(shown, ([{ sandboxId }]) => sandboxId);
  return Array.from(bySandbox, ([id, listed]) => ({
    id,
    status: "idle",
    benchmark: null,
    createdAt: null,
    servers: listed.map(([{ serverId, serverName }, status]) => {
      return { id: serverId, name: serverName, status, benchmark: null, tags: [] };
    }),
  }));
}
