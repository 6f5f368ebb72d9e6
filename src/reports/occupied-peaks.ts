import { targetName } from "../fleet/model.ts";
import type { RecordedTarget, TargetFilter } from "../store/occupancy-history.ts";
import type { ReportSources } from "./report-sources.ts";
import { readTargetTimes, type ReportedTarget, type TargetTime } from "./reported-targets.ts";
import { keptRange, serverKey, statesAt, type PresentTarget } from "./server-report.ts";
import type { TimeRange } from "./time-range.ts";

/** The occupied servers of a target, by the group of rows that they are in. */
interface TargetLevel<Group> {
  readonly occupied: Map<Group, number>;
  isObserved: boolean;
}

/**
 * The most servers of each group that were occupied at one moment, whatever their targets. Each target counts while it was
 * observed. What there was in between, where several changed at once, lasted for no time and does not count.
 *
 * @returns null: not all changes in the range are kept
 */
export async function readOccupiedPeaks<Group>(
  query: {
    readonly range: TimeRange;
    readonly targets: readonly ReportedTarget[];
    readonly recorded: readonly RecordedTarget[];
    readonly filter: TargetFilter;
    readonly sources: ReportSources;
  },
  groupOf: (target: string, serverName: string | null) => Group,
): Promise<ReadonlyMap<Group, number> | null> {
  const { range, recorded, filter, sources } = query;
  if ((await keptRange(range, sources)).fromMs > range.fromMs) return null;
  const targets: PresentTarget[] = [];
  for (const each of query.targets) {
    const { lastPollAtMs, servers } = await sources.present(each.target);
    const occupied = Iterator.from(servers).filter(({ server }) => server.status === "occupied");
    targets.push({ ...each, lastPollAtMs, servers: occupied.toArray() });
  }
  const times = await readTargetTimes(sources, range, targets, recorded);
  const read = (direction: "asc" | "desc") => (within: typeof range) =>
    sources.changes.between({
      ...within,
      direction,
      ...filter,
      observations: true,
      status: ["occupied"],
    });
  const peaks = new Map<Group, number>();
  const sums = new Map<Group, number>();
  const changed = new Set<Group>();
  const levels = new Map<string, TargetLevel<Group>>();
  for (const name of times.keys()) levels.set(name, { occupied: new Map(), isObserved: true });

  const add = (group: Group, by: number): void => {
    sums.set(group, (sums.get(group) ?? 0) + by);
    changed.add(group);
  };
  let nowMs = range.fromMs;
  const moveTo = (atMs: number): void => {
    if (atMs <= nowMs) return;
    for (const group of changed) {
      peaks.set(group, Math.max(peaks.get(group) ?? 0, sums.get(group) ?? 0));
    }
    changed.clear();
    nowMs = atMs;
  };
  const observe = (level: TargetLevel<Group>, isObserved: boolean): void => {
    if (level.isObserved === isObserved) return;
    level.isObserved = isObserved;
    for (const [group, count] of level.occupied) add(group, isObserved ? count : -count);
  };
  const count = (target: string, serverName: string | null, by: number): void => {
    const level = levels.get(target);
    if (!level) return;
    const group = groupOf(target, serverName);
    level.occupied.set(group, (level.occupied.get(group) ?? 0) + by);
    if (level.isObserved) add(group, by);
  };

  const edges = edgesOf(times);
  let edge = edges.next();
  const passEdges = (untilMs: number): void => {
    for (; !edge.done && edge.value.atMs <= untilMs; edge = edges.next()) {
      moveTo(edge.value.atMs);
      const level = levels.get(edge.value.target);
      if (level) observe(level, edge.value.isObserved);
    }
  };

  /** The names of the servers that are occupied, by their keys. */
  const occupied = new Map<string, string | null>();
  const begin = (key: string, target: string, serverName: string | null): void => {
    occupied.set(key, serverName);
    count(target, serverName, 1);
  };
  for (const [key, { target, serverName, isMissing }] of await statesAt(
    range.fromMs,
    targets,
    read("desc"),
    "occupied",
  )) {
    if (!isMissing) begin(key, targetName(target), serverName);
  }
  for await (const { atMs, target, to, observation, ...server } of read("asc")(range)) {
    passEdges(atMs);
    moveTo(atMs);
    const name = targetName(target);
    const key = serverKey(target, server);
    const before = occupied.get(key);
    if (before !== undefined) {
      count(name, before, -1);
      occupied.delete(key);
    }
    if (to === "occupied" && observation !== "missing") begin(key, name, server.serverName);
  }
  passEdges(range.toMs);
  moveTo(range.toMs);
  return peaks;
}

/** When targets begin and cease to be observed, in order of time. */
function edgesOf(times: ReadonlyMap<string, TargetTime>) {
  return [...times]
    .flatMap(([target, { gaps, toMs }]) => [
      ...gaps.flatMap((gap) => [
        { target, atMs: gap.fromMs, isObserved: false },
        { target, atMs: gap.toMs, isObserved: true },
      ]),
      { target, atMs: toMs, isObserved: false },
    ])
    .toSorted((one, other) => one.atMs - other.atMs)
    .values();
}
