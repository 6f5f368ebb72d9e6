import type { NewNotification } from "../alerts/notification.ts";
import { insertNotifications } from "./outbox-items.ts";
import type { Db } from "./tables.ts";

/** A configured report: with another schedule, also of the same name, it is like a new one. */
interface Scheduled {
  readonly name: string;
  readonly schedule: string;
}

/** Until when reports were sent. Times are UTC milliseconds. */
export function createScheduledReports(kysely: Db) {
  return {
    /** Adopts the configured reports: what was due before a report was configured is not sent. */
    adopt: (reports: readonly Scheduled[], nowMs: number): Promise<void> =>
      kysely.transaction().execute(async (trx) => {
        const stored = await trx.selectFrom("scheduled_reports").selectAll().execute();
        const known = new Map(stored.map((row) => [row.name, row]));
        for (const { name, schedule } of reports) {
          const row = known.get(name);
          // A clock that was ahead must not hold reports back.
          const until = row?.schedule === schedule ? Math.min(row.done_until_ms, nowMs) : nowMs;
          const values = { schedule, done_until_ms: until };
          await trx
            .insertInto("scheduled_reports")
            .values({ name, ...values })
            .onConflict((conflict) => conflict.column("name").doUpdateSet(values))
            .execute();
        }
      }),

    /** Forgets the reports that are not configured any more: configured again, they are new ones. */
    async forgetOthers(names: readonly string[]): Promise<void> {
      const all = kysely.deleteFrom("scheduled_reports");
      await (names.length === 0 ? all : all.where("name", "not in", names)).execute();
    },

    /** Null: the report is not configured. */
    async doneUntilMs(name: string): Promise<number | null> {
      const row = await kysely
        .selectFrom("scheduled_reports")
        .select("done_until_ms")
        .where("name", "=", name)
        .executeTakeFirst();
      return row?.done_until_ms ?? null;
    },

    /**
     * Stores the notifications of a report that was due, in one transaction with the fact that it was.
     *
     * @returns how many were stored: none if the report was sent before
     */
    enqueue: (
      name: string,
      dueMs: number,
      notifications: readonly NewNotification[],
    ): Promise<number> =>
      kysely.transaction().execute(async (trx) => {
        const { numUpdatedRows } = await trx
          .updateTable("scheduled_reports")
          .set({ done_until_ms: dueMs })
          .where("name", "=", name)
          .where("done_until_ms", "<", dueMs)
          .executeTakeFirst();
        if (numUpdatedRows === 0n) return 0;
        const ids = notifications.map(({ notification }) => notification.id);
        // After the clock was set back the same moment comes again.
        const sent = await trx
          .selectFrom("notifications")
          .select("id")
          .where("id", "in", ids)
          .execute();
        const added = notifications.filter(
          ({ notification }) => !sent.some(({ id }) => id === notification.id),
        );
        await insertNotifications(trx, added);
        return added.length;
      }),
  };
}
