import type { Verdict } from "../../../src/core/judge.ts";
import { createStore } from "../../../src/store/store.ts";
import type { Store } from "../../../src/store/store.ts";
import { openFresh } from "../fresh-store.ts";
import type { Keeper } from "./play.ts";
import { addTarget } from "../add-target.ts";

/** A real store, in memory. What a process starts with is read from it anew. */
export interface StoreKeeper extends Keeper, AsyncDisposable {
  readonly store: Store;
  /** Writes what was gathered. */
  settle(targetId: number): Promise<void>;
}

/** @param atOnce so many polls are written at once: more than one are imported */
export function keepInStore(atOnce = 1): StoreKeeper {
  const { kysely, reader, close } = openFresh();
  let store = createStore(kysely, close, { reader });
  let gathered: Verdict[] = [];
  const settle = async (targetId: number): Promise<void> => {
    const verdicts = gathered;
    gathered = [];
    await store.importPolls(targetId, verdicts);
  };
  return {
    get store() {
      return store;
    },
    async restore(target) {
      const isIt = ({ target: { region, key } }: { target: typeof target }): boolean =>
        region === target.region && key === target.key;
      const stored = (await store.targets.all()).find(isIt);
      if (stored) await settle(stored.id);
      store = createStore(kysely, close, { reader });
      const known = (await store.targets.all()).find(isIt) ?? (await addTarget(store, target));
      return { known, snapshot: await store.targets.snapshotOf(known.id) };
    },
    async commit(targetId, verdict) {
      if (atOnce === 1) return store.commitPoll(targetId, verdict);
      gathered.push(verdict);
      if (gathered.length === atOnce) await settle(targetId);
    },
    settle,
    [Symbol.asyncDispose]: close,
  };
}
