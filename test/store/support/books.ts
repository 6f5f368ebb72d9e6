import { noChanges } from "../../../src/core/snapshot/changes.ts";
import type { Verdict } from "../../../src/core/judge.ts";
import type { Target } from "../../../src/core/model.ts";
import { openDatabase } from "../../../src/store/database.ts";
import { createStore } from "../../../src/store/store.ts";
import { byName, createLedger } from "../../core/support/ledger.ts";
import { listing, watchFleet } from "../../support/fleet.ts";
import { openFresh } from "../../support/fresh-store.ts";
import { addTarget } from "../../support/add-target.ts";

/** Targets whose time is booked in a store, and beside it in a ledger that is never written. */
export async function openBooks(path?: string) {
  const database = path === undefined ? openFresh() : openDatabase(path);
  let store = createStore(database.kysely, () => database.close());
  const verdict = watchFleet().poll(listing({}));

  const book = async (target: Target) => {
    const { id } = await addTarget(store, target);
    const ledger = createLedger();
    return {
      target,
      ledger,
      async pass(...stretch: Parameters<typeof ledger.pass>): Promise<void> {
        const [elapsedMs, tallies, { observed = true } = {}] = stretch;
        const accounting = ledger.pass(...stretch);
        const at = { utcMs: ledger.atMs, monotonicMs: 0 };
        const progress = { ...verdict.progress, lastPollAtMs: ledger.atMs };
        const booking: Verdict["booking"] = {
          elapsedMs,
          observed,
          tallies: byName(tallies),
        };
        await store.commitPoll(id, {
          ...verdict,
          at,
          progress,
          booking,
          accounting,
          pages: null,
          changes: noChanges,
        });
      },
      /** What the store has of it is what goes on. */
      async restart(): Promise<void> {
        store = createStore(database.kysely, () => database.close());
        const stored = (await store.targets.all()).find((each) => each.id === id);
        ledger.goOn(stored?.accounts);
      },
    };
  };
  return {
    book,
    get store() {
      return store;
    },
    [Symbol.asyncDispose]: () => store.close(),
  };
}
