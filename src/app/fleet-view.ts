import type { ProbeView } from "../alerts/probe.ts";
import { subjectName } from "../alerts/probe.ts";
import type { WatchedView } from "../alerts/target-view.ts";
import { targetName, type Target } from "../fleet/model.ts";
import type { WatchedProbe } from "../polling/watched-probe.ts";
import type { WatchedTarget } from "../polling/watched-target.ts";
import { followFleet, type FollowOptions } from "./followed-fleet.ts";

/** Targets and probes, as arrays whose contents change. */
export interface Fleet<T, P> {
  readonly targets: readonly T[];
  readonly probes: readonly P[];
}

/** What this process polls, and what it can show: with other replicas also what they poll, from the store. */
export interface FleetView {
  readonly own: Fleet<WatchedTarget, WatchedProbe>;
  /** One that this process polls. */
  readonly find: (target: Target) => WatchedTarget | undefined;
  /** With other replicas every configured one, always at the same place. Alone the same arrays as `own`. */
  readonly all: Fleet<WatchedView, ProbeView>;
  /** This process polls them from now on. */
  readonly gain: (gained: Fleet<WatchedTarget, WatchedProbe>) => void;
  /** It does not poll those of these keys any more. They stay as they were until they are read. */
  readonly drop: (keys: ReadonlySet<string>) => void;
  /**
   * Reads again what other replicas poll, at most once a second. What could not be read stays as it was, and becomes
   * stale.
   */
  readonly refresh: () => Promise<void>;
}

const refreshMs = 1_000;

/** Reading takes at most a fifth of the time, however much there is. */
const pauseShare = 4;

/** @param following null: no other process polls anything */
export function createFleetView(following: Omit<FollowOptions, "arePolled"> | null): FleetView {
  const own = { targets: [] as WatchedTarget[], probes: [] as WatchedProbe[] };
  const ownByName = new Map<string, WatchedTarget>();
  const find = (target: Target) => ownByName.get(targetName(target));
  const dropOwn = (keys: ReadonlySet<string>): void => {
    for (const [name, { target }] of ownByName) if (keys.has(target.key)) ownByName.delete(name);
    replaceAll(own.targets, [...ownByName.values()]);
    replaceAll(
      own.probes,
      own.probes.filter(({ subject }) => !keys.has(subject.key)),
    );
  };
  const gainOwn = ({ targets, probes }: Fleet<WatchedTarget, WatchedProbe>): void => {
    for (const each of targets) {
      own.targets.push(each);
      ownByName.set(targetName(each.target), each);
    }
    for (const each of probes) own.probes.push(each);
  };
  if (following === null) {
    return { own, find, all: own, gain: gainOwn, drop: dropOwn, refresh: async () => {} };
  }

  const { clock } = following;
  const followed = followFleet({ ...following, arePolled: true });
  const all: { targets: WatchedView[]; probes: ProbeView[] } = {
    targets: [...followed.targets.values()],
    probes: [...followed.probes.values()],
  };
  const places = new Map([...followed.targets.keys()].map((name, place) => [name, place]));
  const probePlaces = new Map([...followed.probes.keys()].map((name, place) => [name, place]));
  let nextMs = -Infinity;
  let reading: Promise<void> | null = null;
  /** Since the last reading began, which did not read them. */
  let wereDropped = false;

  const read = async (): Promise<void> => {
    const startMs = clock.now().monotonicMs;
    wereDropped = false;
    const ownKeys = new Set(own.targets.map(({ target }) => target.key));
    try {
      await followed.read((key) => !ownKeys.has(key));
    } catch {
      // The store is down, which readiness and metrics say. What is shown says how old it is.
    }
    const endMs = clock.now().monotonicMs;
    nextMs = endMs + Math.max(refreshMs, pauseShare * (endMs - startMs));
    reading = null;
  };

  return {
    own,
    find,
    all,
    gain(gained) {
      gainOwn(gained);
      for (const each of gained.targets) {
        const name = targetName(each.target);
        const place = places.get(name);
        if (place !== undefined) all.targets[place] = each;
        followed.forget(name);
      }
      for (const each of gained.probes) {
        const place = probePlaces.get(subjectName(each.subject));
        if (place !== undefined) all.probes[place] = each;
      }
    },
    drop(keys) {
      followed.keep(
        own.targets.filter(({ target }) => keys.has(target.key)),
        own.probes.filter(({ subject }) => keys.has(subject.key)),
      );
      dropOwn(keys);
      for (const [name, view] of followed.targets) {
        const place = places.get(name);
        if (place !== undefined && keys.has(view.target.key)) all.targets[place] = view;
      }
      for (const [name, view] of followed.probes) {
        const place = probePlaces.get(name);
        if (place !== undefined && keys.has(view.subject.key)) all.probes[place] = view;
      }
      wereDropped = true;
    },
    async refresh() {
      const isDue = wereDropped || clock.now().monotonicMs >= nextMs;
      if (reading === null && isDue) reading = read();
      await reading;
    },
  };
}

function replaceAll<Item>(array: Item[], items: readonly Item[]): void {
  array.length = 0;
  for (const each of items) array.push(each);
}
