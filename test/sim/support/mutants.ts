import type { IncidentOutcome } from "../../../src/core/incident-ledger.ts";
import type { Mutation } from "./host.ts";

const nothing: IncidentOutcome = { written: [], dropped: [], flaps: [], steps: [], outbox: [] };

/** What the oracle must catch: the product with one of its promises broken. */

/** Sends after it has noted that it has sent. */
export const acknowledgesBeforeSending: Mutation = (store) => ({
  ...store,
  outbox: {
    ...store.outbox,
    async due(receiver, nowMs, limit, inFlight) {
      const due = await store.outbox.due(receiver, nowMs, limit, inFlight);
      for (const { seq } of due) {
        const settlement = { state: "delivered", settledAtMs: nowMs } as const;
        await store.outbox.settle(seq, settlement, { atMs: nowMs, failure: null }, () => nothing);
      }
      return due;
    },
  },
});

/** Writes what is to be told in a transaction after that of the poll. */
export const writesTheOutboxAfterThePoll: Mutation = (store) => ({
  ...store,
  async commitPoll(targetId, verdict) {
    const { incidents } = verdict;
    await store.commitPoll(targetId, { ...verdict, incidents: { ...incidents, outbox: [] } });
    const { outbox } = incidents;
    await store.commitIncidents(targetId, { ...nothing, outbox });
  },
});

/** Has no message wait for an earlier one about the same subject. */
export const keepsNoOrder: Mutation = (store, databases) => ({
  ...store,
  outbox: {
    ...store.outbox,
    async due(receiver, nowMs, limit, inFlight) {
      for (const database of databases) {
        if (database.isOpen && !database.isTransaction) {
          database.exec("update notifications set waits_for = null");
        }
      }
      return store.outbox.due(receiver, nowMs, limit, inFlight);
    },
  },
});
