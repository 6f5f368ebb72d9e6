import type { keyLabels } from "../alerts/notification.ts";
import { targetName, type Target } from "../fleet/model.ts";
import { eachServer, type Server, type Snapshot } from "../fleet/snapshot.ts";
import type { ServerIncidentTimes } from "../store/incident-history.ts";
import type { Store } from "../store/store.ts";
import type { Unit } from "../store/unit-history.ts";
import type { ReportedKind } from "./report-fields.ts";
import type { TimeRange } from "./time-range.ts";

export type LabelsOf = ReturnType<typeof keyLabels>;

/** What reports are made of. Times are UTC milliseconds. */
export interface ReportSources {
  readonly occupancy: Store["occupancy"];
  readonly changes: Pick<Store["changes"], "ofSubjects">;
  /** Incidents that began to fire, or were over, within a range. In any order. */
  incidents(range: TimeRange, of: ReportedKind): AsyncIterable<ServerIncidentTimes>;
  /** All that were ever watched, and those that are configured. */
  targets(): Promise<readonly WatchedTarget[]>;
  /** The servers or sandboxes that there are, and when a target was last polled, of the same moment. */
  present(target: Target, of: ReportedKind): Promise<Present>;
  readonly labelsOf: LabelsOf;
}

/** Of a server or, without its id, of a sandbox. */
export type UnitIds = Pick<Unit, "sandboxId" | "serverId">;

export interface WatchedTarget {
  readonly target: Target;
  readonly isConfigured: boolean;
  readonly lastPollAtMs: number | null;
  /** Whether this process knows that its last poll succeeded. */
  readonly isUp: boolean;
}

export interface PresentUnit extends Unit, Pick<Server, "status" | "since" | "missing"> {
  /** The name of a server, or the benchmark of a sandbox. */
  readonly value: string;
}

export interface Present {
  readonly lastPollAtMs: number | null;
  readonly units: Iterable<PresentUnit>;
}

/** A target as this process knows it. */
export interface PresentTargetState {
  readonly up: boolean;
  readonly withheld: boolean;
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
  { occupancy, changes, ...store }: Pick<Store, "occupancy" | "changes" | "incidents" | "targets">,
  configured: readonly Target[],
  find: (target: Target) => PresentTargetState | undefined = () => undefined,
  labelsOf: LabelsOf = () => ({}),
): ReportSources {
  return {
    labelsOf,
    occupancy,
    changes,
    incidents: (range, of) => store.incidents.times(range, of === "servers" ? "server" : "sandbox"),
    async targets() {
      const known = await store.targets.polled();
      const wanted = new Map(configured.map((target) => [targetName(target), target]));
      const watched = known.map((each) => {
        const { up = false, withheld = false } = find(each.target) ?? {};
        const isConfigured = wanted.delete(targetName(each.target));
        return { ...each, isConfigured, isUp: up && !withheld };
      });
      const never = { isConfigured: true, lastPollAtMs: null, isUp: false };
      return [...watched, ...Array.from(wanted.values(), (target) => ({ target, ...never }))];
    },
    async present(target, of) {
      const state = find(target)?.state;
      const { lastPollAtMs, snapshot } = state
        ? { ...state.progress, snapshot: state.snapshot }
        : ((await store.targets.present(target)) ?? { lastPollAtMs: null, snapshot: null });
      return { lastPollAtMs, units: snapshot ? unitsOf(snapshot, of) : [] };
    },
  };
}

function* unitsOf(snapshot: Snapshot, of: ReportedKind): Iterable<PresentUnit> {
  if (of === "sandboxes") {
    for (const { id: sandboxId, benchmark, status, since, missing } of snapshot.sandboxes) {
      const unit = { sandboxId, serverId: null, serverName: null, value: benchmark ?? "" };
      yield { ...unit, status, since, missing };
    }
    return;
  }
  for (const { sandbox, server } of eachServer(snapshot)) {
    const { id: serverId, name: serverName, status, since, missing } = server;
    const unit = { sandboxId: sandbox.id, serverId, serverName, value: serverName ?? "" };
    yield { ...unit, status, since, missing };
  }
}
