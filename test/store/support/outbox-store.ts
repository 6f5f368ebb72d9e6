import type { Kysely } from "kysely";
import { createStore } from "../../../src/store/store.ts";
import type { Store } from "../../../src/store/store.ts";
import type { Tables } from "../../../src/store/tables.ts";
import type { Engine } from "./engines.ts";

export interface OutboxStore extends Pick<Store, "outbox" | "notifications"> {
  readonly kysely: Kysely<Tables>;
  readonly store: Store;
  /** Of all notifications, the earliest first. */
  readonly states: () => Promise<readonly string[]>;
}

export async function openOutboxStore(engine: Engine): Promise<OutboxStore> {
  const { kysely, close } = await engine.open();
  const store = createStore(kysely, close);
  return {
    kysely,
    store,
    outbox: store.outbox,
    notifications: store.notifications,
    async states() {
      const rows = await kysely
        .selectFrom("notifications")
        .select("state")
        .orderBy("seq")
        .execute();
      return rows.map(({ state }) => state);
    },
  };
}
