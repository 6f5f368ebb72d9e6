import type { Mutation } from "./mutations.ts";

/** Daemons that break a promise about what they store, or about the store itself. */

export const storesNoGap: Mutation = {
  store: (store) => ({
    ...store,
    commitPoll: (targetId, verdict) => store.commitPoll(targetId, { ...verdict, gap: null }),
  }),
};

/** Takes all time since the poll before for unobserved. */
export const storesGapsAlways: Mutation = {
  store: (store) => {
    const last = new Map<number, number>();
    return {
      ...store,
      commitPoll(targetId, verdict) {
        const { utcMs: toMs } = verdict.at;
        const fromMs = last.get(targetId) ?? toMs;
        last.set(targetId, toMs);
        return store.commitPoll(targetId, {
          ...verdict,
          gap: fromMs < toMs ? { fromMs, toMs } : null,
        });
      },
    };
  },
};

/** Takes a store that does not answer for one that does. */
export const beatsWithoutItsStore: Mutation = {
  store: (store) => ({
    ...store,
    check: async () => {},
    told: { ...store.told, waiting: () => store.told.waiting().catch(() => []) },
  }),
};
