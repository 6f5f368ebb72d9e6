import type { AlertOptions } from "../alerts/incident-engine.ts";
import type { JudgeOptions } from "../alerts/judge.ts";
import { restoreSuppressions, type HeldSuppressions } from "../api/suppressions.ts";
import type { Config } from "../config/config.ts";
import { notifiedReceivers } from "../config/notified-receivers.ts";
import { systemClock, type Clock, type LastRuns } from "../lib/clock.ts";
import { createLogger, type Logger } from "../lib/logger.ts";
import { shortId, type Random } from "../lib/random.ts";
import { createCommitLoop, type CommitLoop } from "../polling/commit-loop.ts";
import { unreadableText } from "../store/row-reading.ts";
import type { StoreSettings } from "../store/store-settings.ts";
import { openConfiguredStore, type Store, type StoreOptions } from "../store/store.ts";
import type { DaemonOverrides } from "./daemon-overrides.ts";
import { loopsOf, Watchdog } from "./watchdog.ts";

/** What every part of a daemon is made with. */
export interface DaemonCore extends Pick<DaemonOverrides, "createDispatcher" | "wakeAt"> {
  readonly config: Config;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly store: Store;
  readonly watchdog: Watchdog;
  /** By which the watchdog notices that a loop is silent. */
  readonly runs: LastRuns;
  readonly commits: CommitLoop;
  readonly suppressions: HeldSuppressions;
  /** How observations are judged, but for what suppresses notifications at the moment. */
  readonly judge: Omit<JudgeOptions & AlertOptions, "suppressions">;
  /** Closes what was opened, in reverse order. */
  readonly opening: AsyncDisposableStack;
}

/** @throws {StoreError} when the store cannot be used */
export async function openCore(
  config: Config,
  overrides: DaemonOverrides,
  opening: AsyncDisposableStack,
): Promise<DaemonCore> {
  const { clock = systemClock, random = Math.random, newIncidentId = shortId } = overrides;
  const { createDispatcher, wakeAt, log = createLogger(config.log) } = overrides;
  const store = await openDaemonStore(config.store, { ...overrides, clock, log });
  opening.defer(() => store.close());
  const runs: LastRuns = new Map();
  const watchdog = new Watchdog(clock, log, runs);
  for (const loop of loopsOf(config)) watchdog.watch(...loop);
  return {
    config,
    clock,
    random,
    log,
    store,
    watchdog,
    runs,
    commits: createCommitLoop(log),
    suppressions: await restoreSuppressions(store, config.alerts.maintenance, clock),
    judge: {
      rules: config.alerts.rules,
      goneAfter: config.poll.goneAfter,
      newIncidentId,
      receivers: notifiedReceivers(config),
    },
    opening,
    ...(createDispatcher && { createDispatcher }),
    ...(wakeAt && { wakeAt }),
  };
}

/** A command that reads or writes the store has it for less. */
const longestWaitMs = 5_000;

/**
 * Opens the store of a daemon, which logs what happens to it.
 *
 * @throws {StoreError} when it cannot be used
 */
async function openDaemonStore(
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
