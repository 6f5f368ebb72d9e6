import { targetName } from "../../fleet/model.ts";
import type { Target } from "../../fleet/model.ts";
import { firstChangeMs } from "../kept.ts";
import { lookBackMs, stateKey } from "../server-states.ts";
import type { BucketExtent, PresentServer, ReportSources, ServerChange } from "../sources.ts";
import { readTargetTimes } from "../target-times.ts";
import type { TargetTime } from "../target-times.ts";
import type { ReportedTarget, TargetFilter } from "../targets.ts";
import type { TimeRange } from "../time-range.ts";

/** A server that was in error. */
export interface ErrantServer extends Target {
  readonly sandboxId: string;
  readonly serverId: string;
  readonly serverName: string | null;
  /** How often it entered error. */
  readonly errors: number;
  /** For how long it was seen to be in error. */
  readonly errorMs: number;
}

/** Time in error of which the beginning is looked for. */
interface Stretch {
  readonly toMs: number;
  /** Whether listings lacked the server at its end; null: what came before has to tell. */
  readonly isMissing: boolean | null;
}

interface Followed extends ErrantServer {
  errors: number;
  errorMs: number;
  stretch: Stretch | null;
}

/** A server that is in error now. */
export interface InError {
  readonly target: Target;
  readonly server: PresentServer;
}

export interface ErrorQuery {
  readonly range: TimeRange;
  readonly targets: readonly ReportedTarget[];
  /** Of these targets, and when each was last polled. */
  readonly inError: readonly InError[];
  readonly lastPolls: readonly (number | null)[];
  readonly filter: TargetFilter;
  readonly extents: readonly BucketExtent[];
  readonly sources: Pick<ReportSources, "changes" | "occupancy">;
}

/**
 * The servers that were in error, with the time that a report by server has of them. From what there
 * is now they are followed back: so only those are held that were in error at any time.
 */
export async function readErrantServers(query: ErrorQuery): Promise<readonly ErrantServer[]> {
  const { range, targets, inError, lastPolls, filter, sources } = query;
  const read = (within: TimeRange) =>
    sources.changes.between({
      ...within,
      direction: "desc",
      ...filter,
      observations: true,
      status: ["error"],
    });
  const times = await readTargetTimes(query);
  const polls = new Map(
    targets.map(({ target }, index) => [targetName(target), lastPolls[index] ?? -Infinity]),
  );
  const walk = followBack(range, times);
  for (const { target, server } of inError) walk.begin(target, server);
  const latestMs = Math.max(range.toMs, ...polls.values()) + 1;
  for await (const change of read({ fromMs: range.fromMs, toMs: latestMs })) {
    // What was committed after the present was looked at is left out.
    if (change.atMs <= (polls.get(targetName(change.target)) ?? -Infinity)) walk.follow(change);
  }
  if (walk.isOpen()) {
    const unsure = walk.unsure();
    if (unsure.size > 0) {
      const before = read({ fromMs: range.fromMs - lookBackMs, toMs: range.fromMs });
      for await (const change of before) {
        const key = stateKey(change.target, change);
        if (unsure.delete(key) && change.observation === "missing") walk.leaveOut(key);
        if (unsure.size === 0) break;
      }
    }
    walk.end(await firstChangeMs(sources, filter));
  }
  return walk.servers();
}

/** Those with the most first. */
export function most(
  servers: readonly ErrantServer[],
  by: "errors" | "errorMs",
  limit: number,
): readonly ErrantServer[] {
  return servers
    .filter((server) => server[by] > 0)
    .toSorted((one, other) => other[by] - one[by])
    .slice(0, limit);
}

function followBack({ fromMs, toMs }: TimeRange, times: ReadonlyMap<string, TargetTime>) {
  const followed = new Map<string, Followed>();
  const serverOf = (
    { region, key }: Target,
    server: Pick<ServerChange, "sandboxId" | "serverId" | "serverName">,
  ): Followed => {
    const { sandboxId, serverId, serverName } = server;
    const id = stateKey({ region, key }, server);
    let known = followed.get(id);
    if (!known) {
      const nothing = { errors: 0, errorMs: 0, stretch: null };
      known = { region, key, sandboxId, serverId, serverName, ...nothing };
      followed.set(id, known);
    }
    return known;
  };
  const close = (server: Followed, sinceMs: number, isMissing: boolean): void => {
    const endMs = server.stretch?.toMs ?? -Infinity;
    server.stretch = null;
    const time = times.get(targetName(server));
    if (isMissing || endMs <= sinceMs || !time) return;
    server.errorMs += endMs - sinceMs - time.gapMs(sinceMs, endMs);
  };
  const clip = (target: Target, atMs: number): number =>
    Math.min(atMs, times.get(targetName(target))?.toMs ?? toMs);

  return {
    /** With what is in error now. */
    begin(target: Target, server: PresentServer): void {
      const { isMissing } = server;
      serverOf(target, server).stretch = { toMs: clip(target, Infinity), isMissing };
    },
    /** The latest first. */
    follow(change: ServerChange): void {
      const { atMs, target, from, to, observation, dwellMs } = change;
      if (from !== "error" && to !== "error") return;
      const server = serverOf(target, change);
      if (to === "error") {
        close(server, Math.max(atMs, fromMs), observation === "missing");
        if (observation === null && atMs < toMs) server.errors += 1;
      }
      if (from !== "error") return;
      // The stay of one that was missing is not known.
      const isMissing = observation === null && dwellMs === null ? null : observation === "seen";
      server.stretch = { toMs: clip(target, atMs), isMissing };
    },
    isOpen: () => followed.values().some(({ stretch }) => stretch !== null),
    /** Those that were in error when the range began, but perhaps missing. */
    unsure: () =>
      new Set(
        followed
          .entries()
          .filter(([, { stretch }]) => stretch?.isMissing === null)
          .map(([key]) => key),
      ),
    leaveOut(key: string): void {
      const server = followed.get(key);
      if (server) server.stretch = null;
    },
    /** With what was in error when the range began. */
    end(keptFromMs: number): void {
      for (const server of followed.values()) {
        const isMissing = server.stretch?.isMissing ?? false;
        if (server.stretch) close(server, Math.max(fromMs, keptFromMs), isMissing);
      }
    },
    servers: (): readonly ErrantServer[] => [...followed.values()],
  };
}
