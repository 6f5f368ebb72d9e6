import type { Verdict } from "../../../src/alerts/judge.ts";
import { createStore } from "../../../src/store/store.ts";
import type { Store } from "../../../src/store/store.ts";
import type { Engine } from "../../store/support/engines.ts";
import { addTarget } from "../add-target.ts";
import type { Keeper } from "./play.ts";

/** A real store. What a process starts with is read from it again. */
export interface StoreKeeper extends Keeper, AsyncDisposable {
  readonly store: Store;
  /** Writes what was gathered. */
  settle(targetId: number): Promise<void>;
}

/** @param atOnce how many polls are written at once: more than one are imported */
export async function keepInStore(atOnce: number, engine: Engine): Promise<StoreKeeper> {
  const { kysely, close } = await engine.open();
  const open = (): Store => createStore(kysely, close);
  let store = open();
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
      store = open();
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
