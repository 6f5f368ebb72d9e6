import { prepareUpsert } from "./sql-helpers.ts";
import type { Db } from "./tables.ts";

const keptMs = 90 * 24 * 60 * 60 * 1_000;

const upsertThreads = prepareUpsert("message_threads", ["receiver", "rule", "group_name"]);

/** The messages that receivers changed and will change again. */
export function createMessageThreads(kysely: Db, reader: Db) {
  return {
    ofRule: (receiver: string, rule: string) =>
      reader
        .selectFrom("message_threads")
        .select(["group_name as group", "message"])
        .where("receiver", "=", receiver)
        .where("rule", "=", rule)
        .orderBy("group_name")
        .execute(),

    ofReceiver: (receiver: string) =>
      reader
        .selectFrom("message_threads")
        .select(["rule", "group_name as group", "message"])
        .where("receiver", "=", receiver)
        .execute(),

    /** Also removes old ones of the receiver, whose groups were never resolved. */
    save: (
      receiver: string,
      rule: string,
      { group, message }: { readonly group: string; readonly message: string },
      nowMs: number,
    ): Promise<void> =>
      kysely.transaction().execute(async (trx) => {
        await upsertThreads(trx, [{ receiver, rule, group_name: group, message, at_ms: nowMs }]);
        await trx
          .deleteFrom("message_threads")
          .where("receiver", "=", receiver)
          .where("at_ms", "<", nowMs - keptMs)
          .execute();
      }),

    async remove(receiver: string, rule: string, group: string): Promise<void> {
      await kysely
        .deleteFrom("message_threads")
        .where("receiver", "=", receiver)
        .where("rule", "=", rule)
        .where("group_name", "=", group)
        .execute();
    },
  };
}
