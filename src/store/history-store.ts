import type { Kysely } from "kysely";
import { createChangeHistory } from "./change-history.ts";
import { openReader } from "./sqlite/database.ts";
import { createOccupancyHistory } from "./occupancy-history.ts";
import type { OccupancyHistory } from "./occupancy-history.ts";
import { createReportReads } from "./report-reads.ts";
import type { ReportReads } from "./report-reads.ts";
import { createRowReading } from "./row-reading.ts";
import type { RowReading } from "./row-reading.ts";
import type { Tables } from "./tables.ts";

/** What a store tells of the past. */
export interface HistoryStore {
  readonly occupancy: OccupancyHistory;
  readonly changes: ReturnType<typeof createChangeHistory>;
  readonly reports: ReportReads;
  readonly unreadable: RowReading["unreadable"];
  close(): Promise<void>;
}

/**
 * Opens the history of a store read-only, also while a sandwatch runs on it.
 *
 * @throws {StoreError} when there is no such store, or it cannot be read
 */
export function openHistoryStore(path: string): HistoryStore {
  const { reader, close } = openReader(path);
  return { ...readHistory(reader, createRowReading()), close };
}

function readHistory(reader: Kysely<Tables>, reading: RowReading): Omit<HistoryStore, "close"> {
  return {
    occupancy: createOccupancyHistory(reader, reading),
    changes: createChangeHistory(reader, reading),
    unreadable: reading.unreadable,
    reports: createReportReads(reader, reading),
  };
}
