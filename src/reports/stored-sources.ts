import { targetName } from "../fleet/model.ts";
import type { Target } from "../fleet/model.ts";
import { eachServer } from "../fleet/snapshot.ts";
import type { Snapshot } from "../fleet/snapshot.ts";
import type { ReportReads } from "../store/report-reads.ts";
import type { PresentServer, ReportSources } from "./sources.ts";

/** What of a store reports are made of. */
export interface ReportStore extends Pick<ReportSources, "occupancy" | "changes"> {
  readonly reports: ReportReads;
}

/** A target as this process knows it. */
export interface PresentTargetState {
  readonly target: Target;
  readonly state: {
    readonly snapshot: Snapshot;
    readonly progress: { readonly lastPollAtMs: number | null };
  };
}

/**
 * @param configured the targets that are to be watched
 * @param held those of which this process holds what there is, so that it need not be read
 */
export function storedSources(
  store: ReportStore,
  configured: readonly Target[],
  held: readonly PresentTargetState[],
): ReportSources {
  const { occupancy, changes, reports } = store;
  const heldByName = new Map(held.map((each) => [targetName(each.target), each]));
  return {
    occupancy,
    changes,
    incidents: (range) => reports.incidents(range),
    async targets() {
      const known = await reports.targets();
      const wanted = new Set(configured.map(targetName));
      const names = new Set(known.map(({ target }) => targetName(target)));
      return [
        ...known.map((each) => ({ ...each, isConfigured: wanted.has(targetName(each.target)) })),
        ...configured
          .filter((target) => !names.has(targetName(target)))
          .map((target) => ({ target, isConfigured: true, lastPollAtMs: null })),
      ];
    },
    async present(target) {
      const state = heldByName.get(targetName(target))?.state;
      if (state) {
        const { snapshot, progress } = state;
        return { lastPollAtMs: progress.lastPollAtMs, servers: serversOf(snapshot) };
      }
      const read = await reports.present(target);
      if (!read) return { lastPollAtMs: null, servers: [] };
      return { lastPollAtMs: read.lastPollAtMs, servers: serversOf(read.snapshot) };
    },
  };
}

function* serversOf(snapshot: Snapshot): Iterable<PresentServer> {
  for (const { sandbox, server } of eachServer(snapshot)) {
    yield {
      sandboxId: sandbox.id,
      serverId: server.id,
      serverName: server.name,
      status: server.status,
      isMissing: server.missing > 0,
      sinceMs: server.since.atMs,
      isWitnessed: server.since.witnessed,
    };
  }
}
