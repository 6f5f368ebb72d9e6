import { openDatabase } from "../../../src/store/database.ts";
import { createStore } from "../../../src/store/store.ts";
import type { Store } from "../../../src/store/store.ts";
import type { Keeper } from "./play.ts";

/** A real store, in memory. What a process starts with is read from it anew. */
export interface StoreKeeper extends Keeper, AsyncDisposable {
  readonly store: Store;
}

export function keepInStore(): StoreKeeper {
  const { kysely, reader, close } = openDatabase(":memory:");
  let store = createStore(kysely, close, { reader });
  return {
    get store() {
      return store;
    },
    async restore(target) {
      store = createStore(kysely, close, { reader });
      const isIt = ({ target: { region, key } }: { target: typeof target }): boolean =>
        region === target.region && key === target.key;
      const known = (await store.targets.all()).find(isIt) ?? (await store.targets.add(target));
      return { known, snapshot: await store.targets.snapshotOf(known.id) };
    },
    commit: (targetId, verdict) => store.commitPoll(targetId, verdict),
    [Symbol.asyncDispose]: close,
  };
}
