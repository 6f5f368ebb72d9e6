import type { Logger } from "../lib/logger.ts";
import type { OpenOptions } from "../store/sqlite/database.ts";

/** Logs what happens in the store that no commit reports. */
export function observeStore(log: Logger): Pick<OpenOptions, "onReplaced" | "onUnreadableRow"> {
  return {
    onReplaced: ({ message }) => log.error({ event: "store.replaced" }, message),
    onUnreadableRow: ({ table, id }) =>
      log.error(
        { event: "store.row_unreadable", table, row: id },
        `row ${id} of the table ${table} is damaged; sandwatch continues without it`,
      ),
  };
}
