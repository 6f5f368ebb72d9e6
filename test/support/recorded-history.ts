import { batches } from "../../src/lib/iterables.ts";
import type { TargetFilter } from "../../src/store/occupancy-history.ts";
import type { ServerIncidentTimes } from "../../src/store/report-queries.ts";
import { targetName } from "../../src/fleet/model.ts";
import type { Presence, Status, Target } from "../../src/fleet/model.ts";
import { noOpenBuckets, recordTime } from "../../src/fleet/accounting.ts";
import type { EndedDwells, OpenBuckets } from "../../src/fleet/accounting.ts";
import { mergeNames, resolutions } from "../../src/fleet/buckets.ts";
import type { Bucket, Resolution } from "../../src/fleet/buckets.ts";
import { noneByStatus } from "../../src/fleet/tallies.ts";
import type { NameTally } from "../../src/fleet/tallies.ts";
import type {
  PresentServer,
  ReportSources,
  ServerChange,
} from "../../src/reports/report-sources.ts";
import { endedDwells } from "./ended-dwells.ts";
import type { EndedDwell } from "./ended-dwells.ts";
import { createWrittenBuckets } from "./history/written-buckets.ts";
import type { TimeRange } from "../../src/reports/time-range.ts";

export interface ListedServer {
  readonly id: string;
  readonly name?: string;
  readonly sandbox?: string;
  readonly status: Status;
}

/** What a poll gave: all servers, those of a partial listing, or nothing. */
export type Seen =
  | { readonly kind: "all" | "some"; readonly servers: readonly ListedServer[] }
  | { readonly kind: "failed" };

interface Known {
  readonly server: ListedServer;
  readonly sinceMs: number;
  readonly isMomentKnown: boolean;
  readonly missing: number;
}

const goneAfter = 2;

/** A target whose polls are booked as the core books them, with nothing else of it. */
export interface RecordedTarget {
  readonly target: Target;
  /** Times only grow. */
  poll(atMs: number, seen: Seen): void;
  /** The time until the next poll is watched by nobody. */
  restart(): void;
  /** Takes what begins earlier out of a resolution. */
  prune(resolution: Resolution, beforeMs: number): void;
  readonly lastPollAtMs: number | null;
  isConfigured: boolean;
}

/** A history in memory, in the form in which reports read it. */
export interface RecordedHistory extends ReportSources {
  add(target: Target): RecordedTarget;
  readonly spans: ServerIncidentTimes[];
}

interface Recording extends RecordedTarget {
  readonly gaps: readonly TimeRange[];
  readonly changes: readonly ServerChange[];
  present(): readonly PresentServer[];
  whole(resolution: Resolution): readonly Bucket[];
}

export function recordHistory(): RecordedHistory {
  const recordings: Recording[] = [];
  const spans: ServerIncidentTimes[] = [];
  const find = (target: Target): Recording | undefined =>
    recordings.find((each) => targetName(each.target) === targetName(target));
  const chosen = (query: TargetFilter) =>
    recordings.filter(
      ({ target }) =>
        (query.region?.includes(target.region) ?? true) &&
        (query.key?.includes(target.key) ?? true),
    );
  const history: RecordedHistory = {
    spans,
    add(target) {
      const recording = recordTarget(target);
      recordings.push(recording);
      return recording;
    },
    occupancy: {
      open: async (filter = {}) => ({
        async *buckets({ resolution, fromMs, toMs }, byName = true) {
          const found = chosen(filter).flatMap((recording) =>
            recording
              .whole(resolution)
              .filter(({ startMs }) => startMs >= fromMs && startMs < toMs)
              .map((bucket) => ({
                target: recording.target,
                bucket: byName ? bucket : mergeNames(bucket),
              })),
          );
          yield* batches(
            found.toSorted((one, other) => one.bucket.startMs - other.bucket.startMs),
            3,
          );
        },
        extents: chosen(filter).flatMap((recording) =>
          resolutions.flatMap((resolution) => {
            const { target } = recording;
            const starts = recording.whole(resolution).map(({ startMs }) => startMs);
            const [firstMs, lastMs] = [starts[0], starts.at(-1)];
            if (firstMs === undefined || lastMs === undefined) return [];
            return [{ target, resolution, firstMs, lastMs }];
          }),
        ),
      }),
      async *gaps({ target, fromMs, toMs }) {
        for (const gap of find(target)?.gaps ?? []) {
          const clipped = { fromMs: Math.max(gap.fromMs, fromMs), toMs: Math.min(gap.toMs, toMs) };
          if (clipped.toMs > clipped.fromMs) yield clipped;
        }
      },
    },
    changes: {
      async *between({ fromMs, toMs, direction, ...filter }) {
        const found = chosen(filter)
          .flatMap(({ changes }) => changes)
          .filter(({ atMs }) => atMs >= fromMs && atMs < toMs)
          .toSorted((one, other) => one.atMs - other.atMs);
        yield* direction === "asc" ? found : found.toReversed();
      },
    },
    async *incidents() {
      yield* spans;
    },
    targets: async () => recordings,
    present: async (target) => ({
      lastPollAtMs: find(target)?.lastPollAtMs ?? null,
      servers: find(target)?.present() ?? [],
    }),
  };
  return history;
}

function recordTarget(target: Target): Recording {
  const known = new Map<string, Known>();
  const buckets = createWrittenBuckets();
  const gaps: { fromMs: number; toMs: number }[] = [];
  const changes: ServerChange[] = [];
  let open: OpenBuckets = noOpenBuckets;
  let lastPollAtMs: number | null = null;
  let isWhole = false;

  const tallies = (): ReadonlyMap<string, NameTally> => {
    const byName = Map.groupBy(known.values(), ({ server }) => server.name ?? "");
    const counted = new Map<string, NameTally>();
    for (const [name, servers] of byName) {
      const tally = { name, servers: { ...noneByStatus }, listed: { ...noneByStatus } };
      for (const { server, missing } of servers) {
        tally.servers[server.status] += 1;
        if (missing === 0) tally.listed[server.status] += 1;
      }
      counted.set(name, tally);
    }
    return counted;
  };

  const change = (
    atMs: number,
    server: ListedServer,
    from: Presence,
    to: Presence,
    more: Partial<Pick<ServerChange, "dwellMs" | "observation">> = {},
  ): void => {
    changes.push({
      atMs,
      target,
      sandboxId: server.sandbox ?? "",
      serverId: server.id,
      serverName: server.name ?? null,
      from,
      to,
      dwellMs: null,
      observation: null,
      ...more,
    });
  };

  const see = (
    atMs: number,
    seen: Exclude<Seen, { kind: "failed" }>,
    momentKnown: boolean,
  ): EndedDwells => {
    const dwells: EndedDwell[] = [];
    const dwellOf = ({ server, sinceMs, isMomentKnown, missing }: Known): number | null => {
      if (!momentKnown || !isMomentKnown || missing > 0) return null;
      dwells.push({ serverName: server.name ?? "", status: server.status, ms: atMs - sinceMs });
      return atMs - sinceMs;
    };
    const ids = new Set(seen.servers.map(({ id }) => id));
    for (const server of seen.servers) {
      const before = known.get(server.id);
      const isSame = before?.server.status === server.status;
      if (before && isSame) {
        if (before.missing > 0)
          change(atMs, server, server.status, server.status, { observation: "seen" });
        known.set(server.id, { ...before, missing: 0 });
        continue;
      }
      const dwellMs = before ? dwellOf(before) : null;
      change(atMs, server, before?.server.status ?? "absent", server.status, { dwellMs });
      known.set(server.id, { server, sinceMs: atMs, isMomentKnown: momentKnown, missing: 0 });
    }
    for (const [id, before] of seen.kind === "all" ? [...known] : []) {
      if (ids.has(id)) continue;
      const { server, missing } = before;
      if (missing + 1 >= goneAfter) {
        change(atMs, server, server.status, "absent", { dwellMs: dwellOf(before) });
        known.delete(id);
        continue;
      }
      change(atMs, server, server.status, server.status, { observation: "missing" });
      known.set(id, { ...before, missing: missing + 1 });
    }
    return endedDwells(dwells);
  };

  return {
    target,
    isConfigured: true,
    get lastPollAtMs() {
      return lastPollAtMs;
    },
    gaps,
    changes,
    present: () =>
      Array.from(
        known.values(),
        ({ server, missing, sinceMs: atMs, isMomentKnown: momentKnown }) => {
          const { id, name = null, sandbox = "", status } = server;
          const since = { atMs, observedMs: 0, momentKnown };
          return { sandbox: { id: sandbox }, server: { id, name, status, since, missing } };
        },
      ),
    poll(atMs, seen) {
      const fromMs = lastPollAtMs ?? atMs;
      const observed = isWhole && seen.kind === "all";
      const stretch = { elapsedMs: atMs - fromMs, observed, tallies: tallies() };
      const last = gaps.at(-1);
      if (!observed && last?.toMs === fromMs) last.toMs = atMs;
      else if (!observed && atMs > fromMs) gaps.push({ fromMs, toMs: atMs });
      const dwells = seen.kind === "failed" ? new Map() : see(atMs, seen, observed);
      const step = recordTime(open, stretch, atMs, dwells);
      open = step.open;
      buckets.write(step.written);
      lastPollAtMs = atMs;
      isWhole = seen.kind === "all";
    },
    restart() {
      isWhole = false;
    },
    prune: (resolution, beforeMs) => buckets.prune(resolution, beforeMs),
    whole: (resolution) => buckets.whole(resolution),
  };
}
