import { describe, expect, it } from "vitest";
import { startMs } from "../../notify/support/items.ts";
import { notificationOf } from "../../notify/support/notifications.ts";
import { openOutboxStore } from "../support/outbox-store.ts";
import type { OutboxStore } from "../support/outbox-store.ts";
import { engines } from "../support/engines.ts";

describe.each(engines)("on $name", (engine) => {
  const dayMs = 86_400_000;

  /** Stores a message of these groups. */
  function compose(
    { outbox }: OutboxStore,
    groupNames: readonly string[],
    { createdAtMs = startMs, receiver = "oncall" } = {},
  ): Promise<void> {
    const id = `${receiver} ${createdAtMs} ${groupNames.join(" ")}`;
    const notification = notificationOf({ id, receiver, createdAtMs });
    const times = { nextAttemptAtMs: startMs, giveUpAtMs: startMs + dayMs };
    return outbox.compose([{ notification, itemSeqs: [], groupNames, ...times }]);
  }

  async function timesOf(
    { outbox }: OutboxStore,
    { receiver = "oncall", sinceMs = 0 } = {},
  ): Promise<Readonly<Record<string, number>>> {
    return Object.fromEntries(await outbox.groupTimes(receiver, sinceMs));
  }

  describe("the times of groups", () => {
    it("are those of each group's last message of the receiver since a moment", async () => {
      const store = await openOutboxStore(engine);
      await compose(store, ["first", "both"]);
      await compose(store, ["both"], { createdAtMs: startMs + 5 });
      await compose(store, ["both"], { createdAtMs: startMs + 9, receiver: "other" });
      expect(await timesOf(store)).toEqual({ first: startMs, both: startMs + 5 });
      expect(await timesOf(store, { sinceMs: startMs + 5 })).toEqual({ both: startMs + 5 });
      expect(await timesOf(store, { sinceMs: startMs + 6 })).toEqual({});
    });

    it("are deleted a day later, when the receiver's next message is stored", async () => {
      const store = await openOutboxStore(engine);
      await compose(store, ["older"]);
      await compose(store, ["younger"], { createdAtMs: startMs + 1 });
      await compose(store, ["of another"], { receiver: "other" });
      await compose(store, ["latest"], { createdAtMs: startMs + 1 + dayMs });
      expect(Object.keys(await timesOf(store)).toSorted()).toEqual(["latest", "younger"]);
      expect(await timesOf(store, { receiver: "other" })).toEqual({ "of another": startMs });
    });
  });
});
