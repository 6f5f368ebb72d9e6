import { describe, expect, it } from "vitest";
import { createOutbox } from "../../src/store/outbox.ts";
import { createPruning } from "../../src/store/pruning.ts";
import { createNotifiedIncidents } from "../../src/store/notified-incidents.ts";
import { startMs } from "../notify/support/items.ts";
import { notificationOf } from "../notify/support/notifications.ts";
import { openTestStore, settle } from "../notify/support/test-store.ts";

const timedOut = { atMs: startMs, failure: { reason: "timeout", detail: "no answer" } };
const times = { nextAttemptAtMs: startMs, giveUpAtMs: startMs + 1 };

describe("the queries of delivery", () => {
  it("are answered from an index, without sorting or scanning a table", async () => {
    const store = openTestStore();
    const notification = notificationOf({ id: "one", receiver: "oncall", createdAtMs: startMs });
    await store.outbox.compose([{ notification, itemSeqs: [], groupNames: [], ...times }]);
    const plans = await store.explain(async (kysely) => {
      const outbox = createOutbox(kysely);
      await outbox.openItems("oncall", 10);
      await outbox.due("oncall", startMs, 4, [1]);
      await outbox.nextAttemptAtMs("oncall", []);
      await outbox.retryLater(1, startMs, timedOut);
      await settle(outbox, 1, { state: "delivered", settledAtMs: startMs });
    });
    expect(plans.length).toBeGreaterThan(6);
    expect(plans.filter((plan) => /SCAN|TEMP B-TREE/.test(plan))).toEqual([]);
  });

  it("find the groups that were notified recently, or long ago, by an index", async () => {
    const store = openTestStore();
    const notification = notificationOf({ id: "one", receiver: "oncall", createdAtMs: startMs });
    const plans = await store.explain(async (kysely) => {
      const outbox = createOutbox(kysely);
      await outbox.groupTimes("oncall", startMs);
      await outbox.compose([{ notification, itemSeqs: [], groupNames: ["group"], ...times }]);
    });
    expect(plans.filter((plan) => plan.includes("group_times"))).toEqual([
      expect.stringContaining("(receiver=? AND notified_at_ms>?)"),
      expect.stringContaining("(receiver=? AND notified_at_ms<?)"),
    ]);
  });

  it("read the figures from indices alone", async () => {
    const store = openTestStore();
    const plans = await store.explain((kysely) => createOutbox(kysely).figures());
    const scans = plans.filter((plan) => /SCAN (notifications|outbox_items)/.test(plan));
    expect(scans.length).toBe(3);
    expect(scans.filter((plan) => !plan.includes("USING COVERING INDEX"))).toEqual([]);
  });

  it("find the incidents that are about the same by indices", async () => {
    const store = openTestStore();
    const plans = await store.explain(async (kysely) => {
      await createNotifiedIncidents(kysely).notifiedTo("am", startMs, ["a"]);
    });
    expect(plans).toContainEqual(expect.stringContaining("USING INDEX incidents_of_server"));
    expect(plans.filter((plan) => /SCAN (alike|incidents)/.test(plan))).toEqual([]);
  });
});

describe("pruning", () => {
  it("finds what is old by indices", async () => {
    const store = openTestStore();
    const plans = await store.explain(async (kysely) => {
      const pruning = createPruning(kysely);
      await pruning.notifications({ deliveredBeforeMs: startMs, deadBeforeMs: startMs });
      await pruning.changes(startMs);
      await pruning.gaps(startMs);
      await pruning.incidents(startMs);
      await pruning.buckets("5m", startMs);
    });
    // Of targets there are few.
    expect(plans.filter((plan) => /SCAN (?!targets|done|dead|\(subquery)/.test(plan))).toEqual([]);
  });
});
