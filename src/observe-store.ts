import type { Logger } from "./platform/logger.ts";
import type { OpenOptions } from "./store/database.ts";

/** Logs what befalls the store that no commit of its own tells. */
export function observeStore(
  log: Logger,
): Pick<OpenOptions, "onDiskFailure" | "onReplaced" | "onUnreadableRow"> {
  return {
    onDiskFailure: (err) =>
      log.error(
        { event: "store.disk_failed", err },
        "the disk refused what was committed: it does not count before the disk has it",
      ),
    onReplaced: ({ message }) => log.error({ event: "store.replaced" }, message),
    onUnreadableRow: ({ table, id }) =>
      log.error(
        { event: "store.row_unreadable", table, row: id },
        `a row of ${table} in the store cannot be read (${id}): sandwatch goes on without it`,
      ),
  };
}
