import type { Db } from "./tables.ts";

const keptMs = 90 * 24 * 60 * 60 * 1_000;

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

    /** Also removes old ones of the receiver, whose groups were never resolved. */
    save: (
      receiver: string,
      rule: string,
      { group, message }: { readonly group: string; readonly message: string },
      nowMs: number,
    ): Promise<void> =>
      kysely.transaction().execute(async (trx) => {
        await trx
          .deleteFrom("message_threads")
          .where("receiver", "=", receiver)
          .where((eb) =>
            eb.or([
              eb("at_ms", "<", nowMs - keptMs),
              eb.and([eb("rule", "=", rule), eb("group_name", "=", group)]),
            ]),
          )
          .execute();
        await trx
          .insertInto("message_threads")
          .values({ receiver, rule, group_name: group, message, at_ms: nowMs })
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
