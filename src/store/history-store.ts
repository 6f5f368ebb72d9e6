import type { Kysely } from "kysely";
import { createChangeHistory } from "./change-history.ts";
import { openDatabase, openReader } from "./database.ts";
import { createOccupancyHistory } from "./occupancy-history.ts";
import type { OccupancyHistory } from "./occupancy-history.ts";
import { createReportReads } from "./report-reads.ts";
import type { ReportReads } from "./report-reads.ts";
import type { Tables } from "./tables.ts";

/** What a store tells of the past. */
export interface HistoryStore {
  readonly occupancy: OccupancyHistory;
  readonly changes: ReturnType<typeof createChangeHistory>;
  readonly reports: ReportReads;
  close(): Promise<void>;
}

/**
 * Opens what a store tells of the past, also while a sandwatch runs on it. One of an earlier version
 * is brought to this one first.
 *
 * @throws {StoreError} when the file cannot be read
 */
export function openHistoryStore(path: string): HistoryStore {
  const { reader, close } = openReader(path) ?? openDatabase(path);
  return { ...readHistory(reader), close };
}

function readHistory(reader: Kysely<Tables>): Omit<HistoryStore, "close"> {
  return {
    occupancy: createOccupancyHistory(reader),
    changes: createChangeHistory(reader),
    reports: createReportReads(reader),
  };
}
