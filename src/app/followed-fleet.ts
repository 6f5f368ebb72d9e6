import { initialProbeProgress, noReadings, subjectName, subjectsOf } from "../alerts/probe.ts";
import type { ProbeView } from "../alerts/probe.ts";
import { holdIncidents } from "../alerts/open-incidents.ts";
import { initialProgress } from "../alerts/target-state.ts";
import type { TargetProgress, TargetState } from "../alerts/target-state.ts";
import type { PollDetail, WatchedView } from "../alerts/target-view.ts";
import type { Config } from "../config/config.ts";
import { configuredTargets } from "../config/configured-targets.ts";
import { noOpenBuckets } from "../fleet/accounting.ts";
import { targetName, type Instant, type Target } from "../fleet/model.ts";
import { emptySnapshot, type Snapshot } from "../fleet/snapshot.ts";
import type { Clock } from "../lib/clock.ts";
import { intervalOf } from "../polling/ticker.ts";
import type { Store } from "../store/store.ts";
import type { FollowedTarget } from "../store/targets.ts";

export interface FollowOptions {
  readonly config: Pick<Config, "keys" | "poll" | "probes">;
  readonly store: {
    readonly targets: Pick<Store["targets"], "versions" | "follow" | "snapshotsOf">;
    readonly probes: Pick<Store["probes"], "all">;
  };
  readonly clock: Clock;
  /** Whether other processes poll them at present, as far as what they store shows it. */
  readonly arePolled: boolean;
}

export type FollowedFleet = ReturnType<typeof followFleet>;

/** The configured targets and probes as they are stored. One that is not stored was never polled. */
export function followFleet({ config, store, clock, arePolled }: FollowOptions) {
  const { staleAfter, schedule } = config.poll;
  const options = { clock, arePolled, staleAfter, staleMs: staleAfter * intervalOf(schedule) };
  const targets = new Map(
    configuredTargets(config).map((target) => [targetName(target), followTarget(target, options)]),
  );
  const probes = new Map(
    config.probes.flatMap((probe) =>
      subjectsOf(probe).map((subject) => {
        const { operation } = probe;
        const view = { id: 0, subject, operation, readings: noReadings };
        return [subjectName(subject), { ...view, progress: initialProbeProgress }] as const;
      }),
    ),
  );
  const byId = new Map<number, ReturnType<typeof followTarget>>();
  const notConfigured = new Set<number>();

  const readTargets = async (isRead: (key: string) => boolean): Promise<void> => {
    const versions = await store.targets.versions();
    for (const [id, view] of byId) {
      if (versions.has(id)) continue;
      view.forget();
      byId.delete(id);
    }
    const isMoved = ([id, version]: readonly [number, number]): boolean => {
      const view = byId.get(id);
      if (view) return view.version !== version && isRead(view.target.key);
      return !notConfigured.has(id);
    };
    const moved = Array.from(versions).filter(isMoved);
    const withSnapshot = new Map<number, FollowedTarget>();
    for await (const some of store.targets.follow(moved.map(([id]) => id))) {
      for (const stored of some) {
        const view = targets.get(targetName(stored.target));
        if (!view) {
          notConfigured.add(stored.id);
          continue;
        }
        byId.set(stored.id, view);
        if (!isRead(stored.target.key)) continue;
        if (view.hasSnapshotOf(stored)) view.show(stored);
        else withSnapshot.set(stored.id, stored);
      }
    }
    for await (const [id, snapshot] of store.targets.snapshotsOf(withSnapshot.values())) {
      const stored = withSnapshot.get(id);
      if (stored) byId.get(id)?.show(stored, snapshot);
    }
    for (const view of targets.values()) if (isRead(view.target.key)) view.read();
  };

  const showProbe = ({ id, subject, progress }: StoredProbe): void => {
    const view = probes.get(subjectName(subject));
    if (view) Object.assign(view, { id, progress });
  };

  return {
    /** By their names. The views are the same objects throughout. */
    targets: targets as ReadonlyMap<string, WatchedView>,
    probes: probes as ReadonlyMap<string, ProbeView>,
    /** Reads what changed since it was last read. @param isRead whether those of a key are read. Default: of all */
    async read(isRead: (key: string) => boolean = () => true): Promise<void> {
      await readTargets(isRead);
      if (probes.size === 0) return;
      for (const each of await store.probes.all()) showProbe(each);
    },
    /** Shows what this process knew of these until they are read. */
    keep(known: readonly WatchedView[], knownProbes: readonly StoredProbe[]): void {
      for (const { target, state } of known) targets.get(targetName(target))?.keep(state);
      for (const each of knownProbes) showProbe(each);
    },
    /** Keeps nothing of a target that is not read for some time. */
    forget(name: string): void {
      targets.get(name)?.forget();
    },
  };
}

type StoredProbe = Pick<ProbeView, "id" | "subject" | "progress">;

interface AgeOptions extends Pick<FollowOptions, "clock" | "arePolled"> {
  readonly staleAfter: number;
  /** State that is older is not shown as the present one. Milliseconds. */
  readonly staleMs: number;
}

function followTarget(target: Target, { clock, arePolled, staleAfter, staleMs }: AgeOptions) {
  const unknown: TargetState = {
    target,
    progress: initialProgress,
    lastPollMonotonicMs: null,
    rulesApplied: false,
    snapshot: emptySnapshot,
    incidents: new Map(),
    flaps: new Map(),
    buckets: noOpenBuckets,
  };
  const state: { -readonly [Field in keyof TargetState]: TargetState[Field] } = { ...unknown };
  let stored: Pick<FollowedTarget, "id" | "version" | "snapshotVersion"> | null = null;
  let readMs: number | null = null;
  let polledMs = -Infinity;
  let succeededMs = -Infinity;

  /**
   * When something happened, on the monotonic clock of this process. Clocks of processes may differ: their timestamps
   * are used only for what happened while they were not read.
   */
  const momentOf = (atMs: number | null, { utcMs, monotonicMs }: Instant): number => {
    const wasRead = readMs !== null && monotonicMs - readMs <= staleMs;
    return atMs === null || wasRead ? monotonicMs : monotonicMs - Math.max(0, utcMs - atMs);
  };
  const isRecent = (atMs: number): boolean => clock.now().monotonicMs - atMs <= staleMs;
  const showProgress = (next: TargetProgress): void => {
    const now = clock.now();
    const { lastPollAtMs, lastSuccessAtMs } = next;
    if (lastPollAtMs !== state.progress.lastPollAtMs) polledMs = momentOf(lastPollAtMs, now);
    if (lastSuccessAtMs !== state.progress.lastSuccessAtMs) {
      succeededMs = momentOf(lastSuccessAtMs, now);
    }
    state.progress = next;
  };
  const forget = (): void => {
    Object.assign(state, unknown);
    stored = null;
    readMs = null;
    polledMs = -Infinity;
    succeededMs = -Infinity;
  };

  return {
    target,
    state,
    get version(): number | null {
      return stored?.version ?? null;
    },
    get polled(): boolean {
      return arePolled && isRecent(polledMs);
    },
    get up(): boolean {
      return state.progress.failuresInARow === 0 && (!arePolled || isRecent(polledMs));
    },
    get withheld(): boolean {
      const { lastSuccessAtMs, failuresInARow } = state.progress;
      return failuresInARow >= staleAfter || (lastSuccessAtMs !== null && !isRecent(succeededMs));
    },
    get detail(): PollDetail | null {
      const { lastPollAtMs, lastComplete, failuresInARow } = state.progress;
      const isPartial = lastPollAtMs !== null && failuresInARow === 0 && !lastComplete;
      return isPartial
        ? { text: "its last listing was partial", status: null, problem: null }
        : null;
    },
    hasSnapshotOf: ({ id, snapshotVersion }: FollowedTarget): boolean =>
      id === stored?.id && snapshotVersion === stored.snapshotVersion,
    /** @param snapshot default: it did not change */
    show(next: FollowedTarget, snapshot: Snapshot = state.snapshot): void {
      showProgress(next.progress);
      stored = next;
      state.snapshot = snapshot;
      state.incidents = holdIncidents(next.openIncidents).incidents;
    },
    /** All that is stored of it is shown. */
    read(): void {
      readMs = clock.now().monotonicMs;
    },
    /** Shows what this process knew, as if it had not been read. */
    keep({ progress, snapshot, incidents }: TargetState): void {
      forget();
      showProgress(progress);
      Object.assign(state, { snapshot, incidents });
    },
    forget,
  };
}
