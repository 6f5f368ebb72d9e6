import type { Target } from "../fleet/model.ts";
import type { Presence, Status } from "../fleet/status.ts";
import type { StoredChange } from "../store/change-history.ts";
import type { OccupancyHistory } from "../store/occupancy-history.ts";
import type { ServerIncidentTimes } from "../store/report-reads.ts";
import type { TimeRange } from "./time-range.ts";

export type { BucketExtent, OccupancyHistory, TargetBucket } from "../store/occupancy-history.ts";

/** What a report is made of: the history as it is kept. Times are UTC milliseconds. */
export interface ReportSources {
  readonly occupancy: OccupancyHistory;
  readonly changes: ChangesSource;
  /** Incidents of servers that began to fire, or were over, within a range. In any order. */
  incidents(range: TimeRange): AsyncIterable<ServerIncidentTimes>;
  /** All that were ever watched, and those that are to be. */
  targets(): Promise<readonly WatchedTarget[]>;
  /** The servers that there are, and when a target was last polled, of the same moment. */
  present(target: Target): Promise<PresentServers>;
}

export interface ChangesSource {
  between(
    query: TimeRange & {
      readonly direction: "asc" | "desc";
      readonly region?: readonly string[];
      readonly key?: readonly string[];
      readonly observations: true;
      /** Only from one of these, or to one. */
      readonly status?: readonly Presence[];
    },
  ): AsyncIterable<ServerChange>;
}

/** A change of a server, or a observation: it was missing from a listing, or seen again as it was. */
export type ServerChange = Omit<StoredChange, "cursor">;

export interface WatchedTarget {
  readonly target: Target;
  readonly isConfigured: boolean;
  readonly lastPollAtMs: number | null;
}

export interface PresentServer {
  readonly sandboxId: string;
  readonly serverId: string;
  readonly serverName: string | null;
  readonly status: Status;
  /** Whether the last complete listing lacked it. */
  readonly isMissing: boolean;
  /** When its status was first seen, and whether it began then. UTC milliseconds. */
  readonly sinceMs: number;
  readonly isWitnessed: boolean;
}

export interface PresentServers {
  readonly lastPollAtMs: number | null;
  readonly servers: Iterable<PresentServer>;
}
