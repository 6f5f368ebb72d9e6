import type { Logger } from "./platform/logger.ts";
import type { OpenOptions } from "./store/database.ts";

/** Logs what befalls the store that no commit of its own tells. */
export function observeStore(log: Logger): Pick<OpenOptions, "onDiskFailure"> {
  return {
    onDiskFailure: (err) =>
      log.error(
        { event: "store.disk_failed", err },
        "the disk refused what was committed: it does not count before the disk has it",
      ),
  };
}
