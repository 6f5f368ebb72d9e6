import { createStore, type Store } from "../../../src/store/store.ts";
import type { Engine } from "../../store/support/engines.ts";
import { addTarget } from "../add-target.ts";
import type { Keeper } from "./play.ts";

/** A real store. What a process starts with is read from it again. */
export interface StoreKeeper extends Keeper, AsyncDisposable {
  readonly store: Store;
}

export async function keepInStore(engine: Engine): Promise<StoreKeeper> {
  const { kysely, close } = await engine.open();
  let store = createStore(kysely, close);
  return {
    get store() {
      return store;
    },
    async restore(target) {
      store = createStore(kysely, close);
      const known =
        (await store.targets.all()).find(
          (each) => each.target.region === target.region && each.target.key === target.key,
        ) ?? (await addTarget(store, target));
      return { known, snapshot: await store.targets.snapshotOf(known.id) };
    },
    async commit(targetId, verdict) {
      await store.commitPoll(targetId, verdict);
      if (verdict.at.utcMs % 4 === 0) await store.rollUp({ isByQuarter: true });
    },
    [Symbol.asyncDispose]: close,
  };
}
