import { sql } from "kysely";
import type { RolledUp } from "../fleet/buckets.ts";
import type { Clock } from "../lib/clock.ts";
import {
  createAcknowledgements,
  createSilences,
  createStoredSuppressions,
  pruneSilences,
} from "./suppressions.ts";
import { createChangeHistory } from "./changes.ts";
import { createStoredDrift } from "./drift.ts";
import { createForgetting } from "./forgetting.ts";
import { createIncidentHistory } from "./incident-history.ts";
import { createIncidentsWithoutTarget, pruneIncidents } from "./incidents.ts";
import { pruneChanges } from "./change-rows.ts";
import { pruneGaps } from "./gaps.ts";
import { pruneOwedItems } from "./outbox-items.ts";
import { pruneRollups } from "./rollups.ts";
import {
  createMessageThreads,
  createNotifiedIncidents,
  createReceiverEvents,
} from "./receiver-state.ts";
import { createNotifications, pruneNotifications, type PruneBounds } from "./notifications.ts";
import { createOccupancyHistory } from "./occupancy-history.ts";
import { createOutbox } from "./outbox.ts";
import { createPollCommits, QuietClocks } from "./poll-commits.ts";
import { createStoredProbes } from "./probes.ts";
import { rollUp, type RollUpOptions } from "./roll-up.ts";
import { createStoredRegions } from "./regions.ts";
import type { PostgresOptions } from "./postgres/database.ts";
import type { Process } from "./postgres/processes.ts";
import { createRowReading } from "./row-reading.ts";
import { createScheduledReports } from "./scheduled-reports.ts";
import { createSharedCommits } from "./shared-commits.ts";
import {
  openDatabase,
  openReader,
  type OpenDatabase,
  type OpenOptions,
  type StoredOptions,
} from "./sqlite/database.ts";
import type { StoreSettings } from "./store-settings.ts";
import { createStoredTargets } from "./targets.ts";
import type { Db } from "./tables.ts";
import { isStoreInUse } from "./sqlite/file-lock.ts";

/** All that sandwatch keeps. */
export type Store = ReturnType<typeof createStore>;

/**
 * @param clock says when the clocks of targets whose polls changed nothing are written; without it each poll writes its own
 * @throws {StoreError} when the file cannot be used
 */
export function openStore(path: string, clock?: Clock, options: OpenOptions = {}): Store {
  const { kysely, close, ...database } = openDatabase(path, options);
  return createStore(kysely, close, { ...options, ...database, clock });
}

/** What is said of a store of either engine while it is open. */
export type StoreOptions = OpenOptions & Pick<PostgresOptions, "onLost" | "candidate">;

/**
 * Opens the store that is configured.
 *
 * @throws {StoreError} when it cannot be used
 */
export async function openConfiguredStore(
  { path, postgres }: StoreSettings,
  clock?: Clock,
  options: StoreOptions = {},
): Promise<Store> {
  if (postgres === null) return openStore(path, clock, options);
  const { openPostgres } = await import("./postgres/database.ts");
  const { kysely, close, ...database } = await openPostgres(postgres, { ...options, clock });
  return createStore(kysely, close, { ...options, ...database, clock });
}

/**
 * The same read-only, also while a daemon runs on it: writing rejects.
 *
 * @throws {StoreError} when there is no such store, or it cannot be read
 */
export async function openConfiguredReadOnly(
  { path, postgres }: StoreSettings,
  options: Pick<StoreOptions, "onUnreadableRow"> = {},
): Promise<Store> {
  if (postgres === null) return openStoreReadOnly(path, options);
  const { openPostgresReader } = await import("./postgres/database.ts");
  const { reader, close, processes } = await openPostgresReader(postgres);
  return createStore(reader, close, { ...options, processes });
}

/**
 * Opens what is stored read-only, also while a daemon runs on it: writing rejects.
 *
 * @throws {StoreError} when there is no such store, or it cannot be read
 */
export function openStoreReadOnly(
  path: string,
  options: StoredOptions & Pick<StoreOptions, "onUnreadableRow"> = {},
): Store {
  const { reader, close } = openReader(path, options);
  return createStore(reader, close, options);
}

/** How long this process may send requests. */
export interface Leadership {
  /** To be asked right before each request. */
  mayAct(): boolean;
  remainingMs(): number;
}

/** A store on SQLite belongs to one process. */
const unlimited: Leadership = { mayAct: () => true, remainingMs: () => Infinity };

export function createStore(
  kysely: Db,
  close: () => Promise<void>,
  {
    reader = kysely,
    check,
    leadership = unlimited,
    processes = async () => [],
    clock,
    onUnreadableRow,
    onClocksFailed,
  }: Partial<Pick<OpenDatabase, "reader" | "check">> &
    Pick<OpenOptions, "onUnreadableRow" | "onClocksFailed"> & {
      readonly leadership?: Leadership;
      readonly processes?: () => Promise<readonly Process[]>;
      readonly clock?: Clock | undefined;
    } = {},
) {
  const reading = createRowReading(onUnreadableRow);
  const commits = createSharedCommits(kysely);
  const quiet = new QuietClocks(kysely, clock ?? null, onClocksFailed);
  return {
    ...createPollCommits(commits, quiet),
    probes: createStoredProbes(kysely, reader, commits, reading),
    regions: createStoredRegions(reader, commits, reading),
    targets: createStoredTargets(kysely, reader, reading),
    outbox: createOutbox(kysely, reader, reading),
    notifications: createNotifications(kysely, reader, reading),
    scheduledReports: createScheduledReports(kysely),
    incidentsWithoutTarget: createIncidentsWithoutTarget(kysely, reader, reading),
    /** Deletes old rows, a few with each call. All give whether there may be more. */
    prune: {
      notifications: (bounds: PruneBounds) => pruneNotifications(kysely, bounds),
      owedItems: (beforeMs: number, configured: readonly string[]) =>
        pruneOwedItems(kysely, beforeMs, configured),
      changes: (beforeMs: number) => pruneChanges(kysely, beforeMs),
      gaps: (beforeMs: number) => pruneGaps(kysely, beforeMs),
      incidents: (beforeMs: number) => pruneIncidents(kysely, beforeMs),
      silences: (beforeMs: number) => pruneSilences(kysely, beforeMs),
      rollups: (resolution: RolledUp, beforeMs: number, nowMs: number) =>
        pruneRollups(kysely, resolution, beforeMs, nowMs),
    },
    forgetting: createForgetting(kysely),
    silences: createSilences(kysely, reader, reading),
    acknowledgements: createAcknowledgements(kysely, reading),
    suppressions: createStoredSuppressions(reader, reading),
    incidents: createIncidentHistory(reader, reading),
    changes: createChangeHistory(reader, reading),
    occupancy: createOccupancyHistory(reader, reading),
    /** Rolls up some of what is over. Gives whether there may be more. */
    rollUp: (options: RollUpOptions = { isByQuarter: false }): Promise<boolean> =>
      rollUp(kysely, reading, options),
    notified: createNotifiedIncidents(reader, reading),
    messageThreads: createMessageThreads(kysely, reader),
    receiverEvents: createReceiverEvents(kysely, reader),
    drift: createStoredDrift(kysely, reader, reading),
    /** Whether this process may act. */
    leadership,
    /** Those that run on a store that several can, the active one first. */
    processes,
    /** The rows that could not be read until now. */
    unreadable: reading.unreadable,
    /** Rejects when the database does not answer or its files were replaced. */
    async check(): Promise<void> {
      check?.();
      await sql`select 1`.execute(reader);
    },
    /** Rejects when it takes no commit. Nothing is changed by it. */
    async tryCommit(): Promise<void> {
      check?.();
      await kysely.transaction().execute(async (trx) => {
        await sql`update commit_sequence set value = value`.execute(trx);
      });
    },
    async close(): Promise<void> {
      await quiet.end();
      await commits.end();
      await close();
    },
  };
}

/**
 * Whether a process runs on it. Only looks.
 *
 * @throws {StoreError} when that cannot be found out
 */
export async function isConfiguredInUse({ path, postgres }: StoreSettings): Promise<boolean> {
  if (postgres === null) return isStoreInUse(path);
  const { isPostgresStoreInUse } = await import("./postgres/database.ts");
  return isPostgresStoreInUse(postgres);
}
