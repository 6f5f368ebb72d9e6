import type { OutboxItem } from "../../../src/alerts/notification.ts";
import { insertOutboxItems } from "../../../src/store/outbox-items.ts";
import { createStore } from "../../../src/store/store.ts";
import { outboxItem, startMs } from "../../notify/support/items.ts";
import { notificationOf } from "../../notify/support/notifications.ts";
import type { Engine, Opened } from "./engines.ts";

export interface OutboxStore extends ReturnType<typeof helpersOf> {
  /** As the next process finds it: nothing in memory is left. */
  readonly restarted: () => OutboxStore;
}

export const noOutcome = {
  written: [],
  dropped: [],
  flaps: [],
  steps: [],
  outbox: [],
} as const;
export const dayMs = 86_400_000;

export async function openOutboxStore(engine: Engine): Promise<OutboxStore> {
  return outboxStoreOn(await engine.open());
}

export function outboxStoreOn(opened: Opened): OutboxStore {
  return { ...helpersOf(opened), restarted: () => outboxStoreOn(opened) };
}

function helpersOf({ kysely, close }: Opened) {
  const store = createStore(kysely, close);
  const { outbox, notifications } = store;
  return {
    kysely,
    store,
    outbox,
    notifications,
    /** Of all notifications, the earliest first. */
    async states(): Promise<readonly string[]> {
      const query = kysely.selectFrom("notifications").select("state").orderBy("seq");
      return (await query.execute()).map(({ state }) => state);
    },
    /**
     * Stores items and one notification of them, as delivery does.
     *
     * @returns its number
     */
    notify: async (
      id: string,
      items: readonly OutboxItem[] = [outboxItem()],
      { dueMs = startMs, createdAtMs = startMs, groupNames = [] as readonly string[] } = {},
    ): Promise<number> => {
      await insertOutboxItems(kysely, items);
      const receiver = items[0]?.receiver ?? "oncall";
      const open = await kysely
        .selectFrom("outbox_items")
        .select("seq")
        .where("receiver", "=", receiver)
        .where("notification_seq", "is", null)
        .execute();
      const summary = `about ${id}`;
      await outbox.compose([
        {
          notification: notificationOf({ id, receiver, createdAtMs, summary }),
          itemSeqs: open.map(({ seq }) => seq),
          groupNames,
          nextAttemptAtMs: dueMs,
          giveUpAtMs: startMs + dayMs,
        },
      ]);
      const query = kysely.selectFrom("notifications").select("seq").where("id", "=", id);
      return (await query.executeTakeFirstOrThrow()).seq;
    },
    /** Ends a notification by its one attempt. */
    settle: (seq: number, state: "delivered" | "dead", settledAtMs = startMs) => {
      const failure = state === "dead" ? { reason: "rejected", detail: "HTTP 400" } : null;
      const settlement = { state, settledAtMs, ...(failure && { reason: failure.reason }) };
      return outbox.settle(seq, settlement, { atMs: settledAtMs, failure }, () => noOutcome);
    },
  };
}

/** Items about these incidents. `a` and `a again` are two incidents of one server. */
export function itemsAbout(
  incidents: readonly string[],
  receiver = "oncall",
): readonly OutboxItem[] {
  return incidents.map((id) =>
    outboxItem({ receiver, incident: { id, serverId: id.replace(" again", "") } }),
  );
}
