import { noTallies } from "../../../src/fleet/tallies.ts";
import type { Verdict } from "../../../src/alerts/judge.ts";
import type { Target } from "../../../src/fleet/model.ts";
import { gapBefore } from "../../../src/fleet/accounting.ts";
import { noDiff } from "../../../src/fleet/diff.ts";
import { createStore } from "../../../src/store/store.ts";
import { byName, createRecorder } from "../../alerts/support/recorder.ts";
import { addTarget } from "../../support/add-target.ts";
import { listing, watchFleet } from "../../support/fleet.ts";
import type { Engine } from "./engines.ts";

/** Targets whose time is recorded in a store, and beside it in a recorder that is never written. */
export async function openRecorded(engine: Engine) {
  const { kysely, close } = await engine.open();
  const store = createStore(kysely, close);
  const verdict = watchFleet().poll(listing({}));

  const add = async (target: Target) => {
    const { id } = await addTarget(store, target);
    const recorder = createRecorder();
    let isFirst = true;
    return {
      target,
      recorder,
      async pass(
        ...[elapsedMs, tallies, more = {}]: Parameters<typeof recorder.pass>
      ): Promise<void> {
        const lastPollAtMs = recorder.atMs;
        const accounting = recorder.pass(elapsedMs, tallies, more);
        const { observed = true } = more;
        const ofNames = { ...noTallies, names: byName(tallies) };
        const stretch: Verdict["stretch"] = { elapsedMs, observed, tallies: ofNames };
        const utcMs = recorder.atMs;
        await store.commitPoll(id, {
          ...verdict,
          at: { utcMs, monotonicMs: 0 },
          progress: { ...verdict.progress, lastPollAtMs: utcMs },
          stretch,
          gap: isFirst ? null : gapBefore(stretch, lastPollAtMs, utcMs),
          accounting,
          diff: noDiff,
        });
        isFirst = false;
      },
    };
  };
  return { add, store, [Symbol.asyncDispose]: close };
}
