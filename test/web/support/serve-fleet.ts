import { createApi, type CallApi } from "../../../src/api/operation.ts";
import type { FleetContext } from "../../../src/api/context.ts";
import { restoreSnapshot, type Server } from "../../../src/fleet/snapshot.ts";
import { runAtOnce } from "../../../src/fleet/slices.ts";
import type { Status } from "../../../src/fleet/model.ts";
import { nothingKnown } from "../../../src/alerts/target-state.ts";
import { watchTarget } from "../../../src/polling/watched-target.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { serveWeb } from "./serve-web.ts";

export interface PlainServer {
  readonly id: string;
  readonly name?: string | null;
  readonly status?: Status;
  readonly tags?: readonly string[];
  readonly benchmark?: string | null;
  /** How long it has been in its status. */
  readonly forMs?: number;
}

/** Servers of one target, each in a sandbox of its own. */
export function watchServers(
  servers: readonly PlainServer[],
  { region = "us", key = "research", stale = false } = {},
) {
  const nowUtcMs = createFakeClock().now().utcMs;
  const sandboxes = servers.map(({ id, name = "github", forMs = 60_000, ...given }) => {
    const since = { atMs: nowUtcMs - forMs, observedMs: 0, momentKnown: true };
    const usual = { status: "idle", tags: [], benchmark: null, missing: 0 } as const;
    const server: Server = { ...usual, id, name, hasStated: true, since, ...given };
    const stated = { statedStatus: usual.status, createdAt: null, since };
    return { ...usual, ...stated, id: `box-${id}`, servers: [server] };
  });
  const target = { region, key };
  const lastSuccessAtMs = stale ? nowUtcMs - 2 : nowUtcMs;
  const progress = { ...nothingKnown.progress, lastSuccessAtMs };
  return watchTarget(
    { id: 1, target, ...nothingKnown, progress },
    runAtOnce(restoreSnapshot(sandboxes)),
    { staleAfter: 3, restoredForMs: 1, nowUtcMs },
  );
}

/** Serves pages of these targets, with nothing stored. */
export async function serveFleet(targets: FleetContext["targets"]) {
  const call: CallApi<FleetContext> = createApi({ targets, rules: [], receivers: [], probes: [] });
  return serveWeb({ targets, api: { call, events: () => Promise.resolve(noEvents) } });
}

const noEvents = { events: [], after: "", hasMore: false };
