import { existsSync } from "node:fs";
import type { Config } from "../config/config.ts";
import { configuredTargets } from "../config/configured-targets.ts";
import type { ReportSources } from "../reports/sources.ts";
import { storedSources } from "../reports/stored-sources.ts";
import { openStoreReadOnly } from "../store/store.ts";
import { localAddress } from "../platform/listen-address.ts";
import { unreadableNotes } from "../store/row-reading.ts";
import { checkWatches } from "./check-watches.ts";
import { asCommandError, checkAddress, noStore, readGivenConfig, tellNotes } from "./reach-desk.ts";
import type { DeskOptions } from "./reach-desk.ts";
import type { Terminal } from "./terminal.ts";

/** The two ways to what is kept. */
export interface HistoryWays {
  /** Beside the sandwatch that runs on the store: it is left in peace by what may be large. */
  readonly byStore: (sources: ReportSources) => Promise<void>;
  /** Null: a daemon does not answer that. */
  readonly byDaemon: ((address: string) => Promise<void>) | null;
}

/**
 * Reads the history where the store is at hand; otherwise the sandwatch that runs is asked.
 *
 * @throws {CommandError} when it cannot be read
 */
export async function atHistory(
  { config: file, url }: DeskOptions,
  terminal: Terminal,
  { byStore, byDaemon }: HistoryWays,
): Promise<void> {
  try {
    if (url !== undefined && byDaemon) {
      await byDaemon(checkAddress(url));
      return;
    }
    const config = readGivenConfig(file, terminal);
    if (existsSync(config.store.path)) {
      await readStore(config, byStore, terminal);
    } else if (config.http.port !== 0 && byDaemon) {
      const address = localAddress(config.http);
      await checkWatches(config, address);
      await byDaemon(address);
    } else {
      throw noStore(config);
    }
  } catch (error) {
    throw asCommandError(error);
  }
}

async function readStore(
  config: Config,
  read: HistoryWays["byStore"],
  terminal: Terminal,
): Promise<void> {
  const store = openStoreReadOnly(config.store.path);
  try {
    await read(storedSources(store, configuredTargets(config), []));
    tellNotes(unreadableNotes(store.unreadable), terminal);
  } finally {
    await store.close();
  }
}
