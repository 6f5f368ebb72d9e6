import { rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { emptySnapshot } from "../../../src/fleet/snapshot.ts";
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
    outbox: { ...store.outbox, waiting: () => store.outbox.waiting().catch(() => []) },
  }),
};

/** Takes a poll for stored that a read-only disk refused. */
export const ignoresReadOnlyDisks: Mutation = {
  store: (store) => ({
    ...store,
    async commitPoll(targetId, verdict) {
      try {
        await store.commitPoll(targetId, verdict);
      } catch (error) {
        if (!(error instanceof Error && error.message.includes("readonly"))) throw error;
      }
    },
  }),
};

/** Stores nothing any more once something could not be stored. */
export const neverRecovers: Mutation = {
  store(store) {
    let failed: unknown = null;
    return {
      ...store,
      async commitPoll(targetId, verdict) {
        if (failed !== null) throw failed;
        try {
          await store.commitPoll(targetId, verdict);
        } catch (error) {
          failed = error;
          throw error;
        }
      },
    };
  },
};

export const overlooksReplacedFiles: Mutation = { overlooksItsFiles: true };

/** Queries note that they were asked. */
export const queriesChangeTheStore: Mutation = {
  onlookers: {
    beforeQueries(storePath) {
      using database = new DatabaseSync(storePath);
      database.exec("update commit_sequence set value = value + 1");
    },
  },
};

/** Nothing keeps another process out. */
export const letsOthersIn: Mutation = {
  onlookers: { beforeSecondProcess: (storePath) => rmSync(`${storePath}.lock`, { force: true }) },
};

/** Does not start with a row that it cannot read. */
export const stopsAtUnreadableRows: Mutation = {
  store: (store) => ({
    ...store,
    targets: {
      ...store.targets,
      async all() {
        const all = await store.targets.all();
        if (store.unreadable.size > 0) throw new Error("a row cannot be read");
        return all;
      },
    },
  }),
};

/** Goes on without a whole snapshot where it cannot read a row of it. */
export const losesWhatIsBesideUnreadableRows: Mutation = {
  store: (store) => ({
    ...store,
    targets: {
      ...store.targets,
      async snapshotOf(targetId) {
        const snapshot = await store.targets.snapshotOf(targetId);
        const isDamaged = store.unreadable.has("servers") || store.unreadable.has("sandboxes");
        return isDamaged ? emptySnapshot : snapshot;
      },
    },
  }),
};

export const writesNoGapOfObservation: Mutation = {
  store: (store) => ({
    ...store,
    commitPoll: (targetId, verdict) =>
      store.commitPoll(targetId, { ...verdict, diff: { ...verdict.diff, gaps: [] } }),
  }),
};

/** Takes items of the outbox that it cannot read for delivered: nobody sees a dead letter. */
export const discardsUnreadableItems: Mutation = {
  store: (store) => ({
    ...store,
    outbox: {
      ...store.outbox,
      settleUnreadable: (receiver, itemSeqs, { settledAtMs }, judge) =>
        store.outbox.settleUnreadable(
          receiver,
          itemSeqs,
          { state: "delivered", settledAtMs },
          judge,
        ),
    },
  }),
};
