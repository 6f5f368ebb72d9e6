import { sql } from "kysely";
import { expect, it } from "vitest";
import { composeDue } from "../../src/notify/compose.ts";
import { insertOutboxItems } from "../../src/store/outbox.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { oneByOne } from "./support/delivery.ts";
import { outboxItem, startMs } from "./support/items.ts";
import { openTestStore } from "./support/test-store.ts";

const dayMs = 86_400_000;

it("tells what comes after very much that waits for its group's next message", async () => {
  const { kysely, outbox, notifications } = openTestStore();
  await sql`pragma synchronous = off`.execute(kysely);
  const settings = { ...oneByOne, groupIntervalMs: dayMs };
  const insert = (sandboxId: string, from: number, count: number): Promise<void> =>
    kysely.transaction().execute((trx) =>
      insertOutboxItems(
        trx,
        Array.from({ length: count }, (_, n) =>
          outboxItem({ incident: { id: `${sandboxId} ${from + n}`, sandboxId } }),
        ),
      ),
    );
  const compose = (nowMs: number): Promise<number | null> => {
    const nothing = () => Promise.resolve();
    return composeDue("oncall", settings, {
      outbox,
      clock: createFakeClock(nowMs),
      deliveryClock: () => nowMs,
      onStored: nothing,
      onUnreadable: nothing,
    });
  };

  await insert("large", 0, 1);
  await compose(startMs);
  await insert("large", 1, 9_999);
  expect(await compose(startMs + 1)).toBe(startMs + dayMs);
  await insert("large", 10_000, 1);
  await insert("other", 0, 1);
  expect(await compose(startMs + 2)).toBeNull();
  const told = await notifications.list({ limit: 9 });
  expect(told.map(({ summary }) => summary)).toEqual([
    "1 server in error in us (research): github",
    "10000 servers in error in us (research)",
    "1 server in error in us (research): github",
  ]);
});
