import { judgePoll } from "../../../src/alerts/judge.ts";
import { nothingKnown } from "../../../src/alerts/target-state.ts";
import type { Target } from "../../../src/fleet/model.ts";
import { emptySnapshot } from "../../../src/fleet/snapshot.ts";
import { watchTarget } from "../../../src/polling/watched-target.ts";
import { createStore } from "../../../src/store/store.ts";
import { addTarget } from "../../support/add-target.ts";
import { judgeBy, toOutcome } from "../../support/fleet.ts";
import type { Listing } from "../../support/listing.ts";
import type { Engine } from "./engines.ts";

export const recordingStartMs = Date.UTC(2026, 10, 20, 9, 58, 20);

/** Targets whose polls are stored. */
export async function openRecorded(engine: Engine) {
  const { kysely, close } = await engine.open();
  const store = createStore(kysely, close);

  const add = async (target: Target) => {
    const { id } = await addTarget(store, target);
    const watched = watchTarget({ id, target, ...nothingKnown }, emptySnapshot, {
      staleAfter: 3,
      restoredForMs: 0,
      nowUtcMs: recordingStartMs,
    });
    const at = { utcMs: recordingStartMs, monotonicMs: 1_000 };
    return {
      target,
      at,
      /** Time passes, observed or not, and then a poll shows this. */
      async pass(
        elapsedMs: number,
        listed: Listing | "failed",
        { observed = true, steppedMs = 0 } = {},
      ): Promise<void> {
        at.utcMs += elapsedMs + steppedMs;
        at.monotonicMs += elapsedMs;
        if (!observed) watched.noteGap();
        const verdict = judgePoll(watched.state, toOutcome(listed), { ...at }, judgeBy([]));
        await store.commitPoll(id, verdict);
        watched.accept(verdict);
      },
    };
  };
  return { add, store, [Symbol.asyncDispose]: close };
}
