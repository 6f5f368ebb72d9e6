import { targetName, type Target } from "../fleet/model.ts";
import { eachServer, type Sandbox, type Server, type Snapshot } from "../fleet/snapshot.ts";
import type { Presence } from "../fleet/status.ts";
import type { StoredChange } from "../store/changes.ts";
import type { GapQuery } from "../store/gaps.ts";
import type { OccupancyReader, TargetFilter } from "../store/occupancy-history.ts";
import type { ServerIncidentTimes } from "../store/report-queries.ts";
import type { Store } from "../store/store.ts";
import type { ReportedKind } from "./report-fields.ts";
import type { TimeRange } from "./time-range.ts";

/** What reports are made of. Times are UTC milliseconds. */
export interface ReportSources {
  readonly occupancy: {
    open(filter?: TargetFilter): Promise<OccupancyReader>;
    gaps(query: GapQuery): Promise<readonly TimeRange[]>;
  };
  readonly changes: {
    between(
      query: TimeRange &
        TargetFilter & {
          readonly direction: "asc" | "desc";
          /** Only from one of these, or to one. */
          readonly status: readonly Presence[];
        },
    ): AsyncIterable<ServerChange>;
  };
  /** Incidents that began to fire, or were over, within a range. In any order. */
  incidents(range: TimeRange, of: ReportedKind): AsyncIterable<ServerIncidentTimes>;
  /** All that were ever watched, and those that are configured. */
  targets(): Promise<readonly WatchedTarget[]>;
  /** The servers that there are, and when a target was last polled, of the same moment. */
  present(target: Target): Promise<PresentServers>;
}

export type ServerChange = Omit<StoredChange, "cursor">;

export interface WatchedTarget {
  readonly target: Target;
  readonly isConfigured: boolean;
  readonly lastPollAtMs: number | null;
}

export interface PresentServer {
  readonly sandbox: Pick<Sandbox, "id">;
  readonly server: Pick<Server, "id" | "name" | "status" | "since" | "missing">;
}

export interface PresentServers {
  readonly lastPollAtMs: number | null;
  readonly servers: Iterable<PresentServer>;
}

/** A target as this process knows it. */
export interface PresentTargetState {
  readonly state: {
    readonly snapshot: Snapshot;
    readonly progress: { readonly lastPollAtMs: number | null };
  };
}

/**
 * @param configured the targets that are to be watched
 * @param find those whose present state this process holds, so that it need not be read
 */
export function storedSources(
  { occupancy, changes, reports }: Pick<Store, "occupancy" | "changes" | "reports">,
  configured: readonly Target[],
  find: (target: Target) => PresentTargetState | undefined = () => undefined,
): ReportSources {
  return {
    occupancy,
    changes,
    incidents: (range, of) => reports.incidents(range, of === "servers" ? "server" : "sandbox"),
    async targets() {
      const known = await reports.targets();
      const wanted = new Map(configured.map((target) => [targetName(target), target]));
      const watched = known.map((each) => ({
        ...each,
        isConfigured: wanted.delete(targetName(each.target)),
      }));
      const never = { isConfigured: true, lastPollAtMs: null };
      return [...watched, ...Array.from(wanted.values(), (target) => ({ target, ...never }))];
    },
    async present(target) {
      const state = find(target)?.state;
      const { lastPollAtMs, snapshot } = state
        ? { ...state.progress, snapshot: state.snapshot }
        : ((await reports.present(target)) ?? { lastPollAtMs: null, snapshot: null });
      return { lastPollAtMs, servers: snapshot ? eachServer(snapshot) : [] };
    },
  };
}
