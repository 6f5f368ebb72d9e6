import { judgePoll, type PollOutcome, type Verdict } from "../../../src/alerts/judge.ts";
import type { Target } from "../../../src/fleet/model.ts";
import type { ListedSandbox, Snapshot } from "../../../src/fleet/snapshot.ts";
import { watchTarget } from "../../../src/polling/watched-target.ts";
import type { RestoredTarget, WatchedTarget } from "../../../src/polling/watched-target.ts";
import { judgeBy } from "../fleet.ts";
import { readListing } from "../listing.ts";
import { momentsOf, shownAt, type ShownFleet } from "./poll-record.ts";
import { nameAt, type Script } from "./script.ts";

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
            sandboxes: sandboxesOf(shownAt(script, at, worldMs), worldMs),
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

/** By name, benchmark and tag servers are counted alike. */
function sandboxesOf(
  { servers, sandboxes }: ShownFleet,
  worldMs: number,
): readonly ListedSandbox[] {
  const bySandbox = Map.groupBy(servers, ([{ sandboxId }]) => sandboxId);
  return Array.from(sandboxes, ([{ sandboxId: id, benchmark }, status]) => ({
    id,
    status,
    benchmark,
    createdAt: null,
    servers: (bySandbox.get(id) ?? []).map(([server, ofServer]) => {
      const name = nameAt(server, worldMs);
      const tags = name === null ? [] : [name];
      return { id: server.serverId, name, status: ofServer, benchmark: name, tags };
    }),
  }));
}
