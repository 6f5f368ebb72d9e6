import { describe, expect, it } from "vitest";
import { startMs } from "../../notify/support/items.ts";
import { reportOf } from "../../notify/support/notifications.ts";
import { engines } from "../support/engines.ts";
import { dayMs, openOutboxStore } from "../support/outbox-store.ts";

const weekly = { name: "weekly", schedule: "0 8 * * MON UTC" };

const queued = (id: string, receiver = "oncall") => ({
  notification: { ...reportOf(1), id, receiver },
  itemSeqs: [],
  groupNames: [],
  nextAttemptAtMs: startMs,
  giveUpAtMs: startMs + dayMs,
});

describe.each(engines)("scheduled reports on $name", (engine) => {
  it("are done together with their notifications, or not at all, and once", async () => {
    const opened = await openOutboxStore(engine);
    const { scheduledReports: reports } = opened.store;
    await reports.adopt([weekly], startMs);
    const dueMs = startMs + 1;
    // The second one cannot be stored.
    const twice = [queued("msg_1"), queued("msg_1", "other")];
    await expect(reports.enqueue("weekly", dueMs, twice)).rejects.toThrow(/unique/i);
    expect([await reports.doneUntilMs("weekly"), await opened.states()]).toEqual([startMs, []]);
    const both = [queued("msg_1"), queued("msg_2", "other")];
    expect(await reports.enqueue("weekly", dueMs, both)).toBe(2);
    expect(await reports.enqueue("weekly", dueMs, [queued("msg_3")])).toBe(0);
    expect(await reports.doneUntilMs("weekly")).toBe(dueMs);
    const [ready] = await opened.outbox.ready("oncall", 9, []);
    expect(ready?.notification).toEqual(queued("msg_1").notification);
  });

  it("are not sent twice after the clock was set back, and not held back by it", async () => {
    const opened = await openOutboxStore(engine);
    const { scheduledReports: reports } = opened.store;
    await reports.adopt([weekly], startMs);
    await reports.enqueue("weekly", startMs + dayMs, [queued("msg_1")]);
    await reports.adopt([weekly], startMs);
    expect(await reports.doneUntilMs("weekly")).toBe(startMs);
    expect(await reports.enqueue("weekly", startMs + dayMs, [queued("msg_1")])).toBe(0);
    expect(await opened.states()).toEqual(["pending"]);
  });

  it("begin again with another schedule, and are forgotten when they are not configured", async () => {
    const { store } = await openOutboxStore(engine);
    const { scheduledReports: reports } = store;
    await reports.adopt([weekly], startMs);
    await reports.adopt([weekly], startMs + 1);
    expect(await reports.doneUntilMs("weekly")).toBe(startMs);
    await reports.adopt([{ ...weekly, schedule: "0 9 * * MON UTC" }], startMs + 2);
    expect(await reports.doneUntilMs("weekly")).toBe(startMs + 2);
    await reports.adopt([], startMs + 3);
    await reports.forgetOthers(["weekly"]);
    expect(await reports.doneUntilMs("weekly")).toBe(startMs + 2);
    await reports.forgetOthers([]);
    expect(await reports.doneUntilMs("weekly")).toBeNull();
    expect(await reports.enqueue("weekly", startMs + 4, [queued("msg_1")])).toBe(0);
  });
});
