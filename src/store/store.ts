import type { Kysely } from "kysely";
import { sql } from "kysely";
import type { Clock } from "../lib/clock.ts";
import { createStoredAcknowledgements } from "./acknowledgements.ts";
import { createChangeHistory } from "./change-history.ts";
import { openDatabase, openReader } from "./sqlite/database.ts";
import type { OpenDatabase, OpenOptions } from "./sqlite/database.ts";
import { createNotifications } from "./dead-letters.ts";
import type { Notifications } from "./dead-letters.ts";
import { createOutbox } from "./outbox.ts";
import { createPollCommits } from "./poll-commits.ts";
import type { PollCommits, TargetVersions } from "./poll-commits.ts";
import { createPruning } from "./prune-history.ts";
import type { Pruning } from "./prune-history.ts";
import { createUntargetedIncidents } from "./untargeted-incidents.ts";
import type { UntargetedIncidents } from "./untargeted-incidents.ts";
import { createIncidentHistory } from "./incident-history.ts";
import { createOccupancyHistory } from "./occupancy-history.ts";
import type { OccupancyHistory } from "./occupancy-history.ts";
import { createRowReading } from "./row-reading.ts";
import type { RowReading } from "./row-reading.ts";
import { createSharedCommits } from "./shared-commits.ts";
import { createStoredProbes } from "./stored-probes.ts";
import type { StoredProbes } from "./stored-probes.ts";
import { createReportReads } from "./report-reads.ts";
import type { ReportReads } from "./report-reads.ts";
import { createStoredSilences } from "./silences.ts";
import { createStoredDrift } from "./stored-drift.ts";
import { createStoredTargets } from "./stored-targets.ts";
import type { StoredTargets } from "./stored-targets.ts";
import { createNotificationHistory } from "./notification-history.ts";
import type { Tables } from "./tables.ts";
import { createNotifiedIncidents } from "./notified-incidents.ts";

/** All that sandwatch keeps, behind one door. */
export interface Store extends PollCommits {
  readonly targets: StoredTargets;
  readonly probes: StoredProbes;
  readonly outbox: ReturnType<typeof createOutbox>;
  readonly notifications: Notifications;
  readonly untargeted: UntargetedIncidents;
  readonly prune: Pruning;
  readonly silences: ReturnType<typeof createStoredSilences>;
  readonly acknowledgements: ReturnType<typeof createStoredAcknowledgements>;
  readonly incidents: ReturnType<typeof createIncidentHistory>;
  readonly changes: ReturnType<typeof createChangeHistory>;
  readonly occupancy: OccupancyHistory;
  readonly reports: ReportReads;
  readonly notificationHistory: ReturnType<typeof createNotificationHistory>;
  readonly notified: ReturnType<typeof createNotifiedIncidents>;
  readonly drift: ReturnType<typeof createStoredDrift>;
  /** The rows that could not be read until now. */
  readonly unreadable: RowReading["unreadable"];
  /** Rejects when the database does not answer or its files were replaced. */
  check(): Promise<void>;
  /** Rejects when it takes no commit. Nothing is changed by it. */
  tryCommit(): Promise<void>;
  close(): Promise<void>;
}

/**
 * @param clock measures how long polls wait to be committed together; without it they do not wait
 * @throws {StoreError} when the file cannot be used
 */
export function openStore(path: string, clock?: Clock, options?: OpenOptions): Store {
  const { kysely, close, ...readers } = openDatabase(path, options);
  const reading = createRowReading(options?.onUnreadableRow);
  return createStore(kysely, close, { ...readers, clock, reading });
}

/**
 * Opens what is stored read-only, also while a daemon runs on it: whatever would write rejects.
 *
 * @throws {StoreError} when there is no such store, or it cannot be read
 */
export function openStoreReadOnly(path: string): Store {
  const { reader, close } = openReader(path);
  return createStore(reader, close);
}

export function createStore(
  kysely: Kysely<Tables>,
  close: () => Promise<void>,
  {
    reader = kysely,
    check,
    clock,
    reading = createRowReading(),
  }: Partial<Pick<OpenDatabase, "reader" | "check">> & {
    readonly clock?: Clock | undefined;
    readonly reading?: RowReading;
  } = {},
): Store {
  const commits = createSharedCommits(kysely, clock);
  const versions: TargetVersions = new Map();
  return {
    ...createPollCommits(commits, versions),
    probes: createStoredProbes(kysely, reader, commits, reading),
    targets: createStoredTargets(kysely, reader, versions, reading),
    outbox: createOutbox(kysely, reader, reading),
    notifications: createNotifications(kysely, reader, reading),
    untargeted: createUntargetedIncidents(kysely, reader, reading),
    prune: createPruning(kysely),
    silences: createStoredSilences(kysely, reader, reading),
    acknowledgements: createStoredAcknowledgements(kysely, reading),
    incidents: createIncidentHistory(reader, reading),
    changes: createChangeHistory(reader, reading),
    occupancy: createOccupancyHistory(reader, reading),
    reports: createReportReads(reader, reading),
    notificationHistory: createNotificationHistory(reader, reading),
    notified: createNotifiedIncidents(reader, reading),
    drift: createStoredDrift(kysely, reading),
    unreadable: reading.unreadable,
    async check() {
      check?.();
      await sql`select 1`.execute(reader);
    },
    async tryCommit() {
      check?.();
      await kysely.transaction().execute(async (trx) => {
        await sql`update commit_sequence set value = value`.execute(trx);
      });
    },
    async close() {
      await commits.end();
      await close();
    },
  };
}
