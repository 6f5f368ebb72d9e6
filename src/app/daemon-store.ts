import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { unreadableText } from "../store/row-reading.ts";
import type { StoreSettings } from "../store/store-settings.ts";
import { openConfiguredStore, type Store, type StoreOptions } from "../store/store.ts";
import type { DaemonOverrides } from "./daemon-overrides.ts";

/** A command that reads or writes the store has it for less. */
const longestWaitMs = 5_000;

/**
 * Opens the store of a daemon, which logs what happens to it.
 *
 * @throws {StoreError} when it cannot be used
 */
export async function openDaemonStore(
  settings: StoreSettings,
  deps: Pick<DaemonOverrides, "openStore" | "active"> & {
    readonly clock: Clock;
    readonly log: Logger;
  },
): Promise<Store> {
  const { clock, log, openStore, active } = deps;
  const options: StoreOptions = {
    candidate: active?.candidate,
    waitMs: longestWaitMs,
    onReplaced: ({ message }) => log.error({ event: "store.replaced" }, message),
    onLost: ({ message }) => log.error({ event: "store.lost" }, message),
    onClocksFailed: (err) =>
      log.error(
        { event: "store.clocks_failed", err },
        "the clocks of targets whose polls changed nothing could not be written: each poll is committed by itself until that works",
      ),
    onUnreadableRow: (row) =>
      log.error(
        { event: "store.row_unreadable", table: row.table, row: row.id },
        unreadableText(row),
      ),
  };
  return (
    openStore?.(settings.path, clock, options) ?? openConfiguredStore(settings, clock, options)
  );
}
