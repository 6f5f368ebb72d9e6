import type { AlertOptions } from "../../../src/alerts/incident-engine.ts";
import type { Incident } from "../../../src/alerts/incident.ts";
import type { OutboxItem } from "../../../src/alerts/notification.ts";
import { summarize } from "../../../src/alerts/notification-summary.ts";
import type { PoolClock } from "../../../src/alerts/judge-pools.ts";
import type { PoolRule } from "../../../src/alerts/rule.ts";
import { noSuppressions } from "../../../src/alerts/silence.ts";
import type { Status, Target } from "../../../src/fleet/model.ts";
import { nextSnapshot } from "../../../src/fleet/next-snapshot.ts";
import { runAtOnce } from "../../../src/fleet/slices.ts";
import { emptySnapshot } from "../../../src/fleet/snapshot.ts";
import { watchPools as watch } from "../../../src/polling/watched-pools.ts";
import type { PoolVerdict } from "../../../src/polling/watched-pools.ts";
import { research, serverError, wantAll } from "../../support/fleet.ts";
import { readListing } from "../../support/listing.ts";
import { listingOf, showing } from "../../alerts/support/watch.ts";

export const us = research;
export const eu: Target = { region: "eu", key: "research" };
export const batch: Target = { region: "us", key: "batch" };

export function poolRule(more: Partial<PoolRule> = {}): PoolRule {
  const { status: _, for: __, flap: ___, ...base } = serverError;
  return {
    ...base,
    name: "pool-full",
    on: "pool",
    of: "servers",
    by: ["region", "key", "server_name"],
    measure: "occupied_ratio",
    side: "above",
    limit: 0.5,
    forMs: 0,
    severity: "warning",
    ...more,
  };
}

/** Statuses by the servers' names: `{ github: "io" }` is one idle and one occupied. A text alone is of `github`. */
type Servers = Readonly<Record<string, string>> | string;

const statusOf = new Map<string, Status>([
  ["i", "idle"],
  ["o", "occupied"],
  ["e", "error"],
]);

function snapshotShowing(servers: Servers) {
  const named = typeof servers === "string" ? { github: servers } : servers;
  const listed = Object.entries(named).flatMap(([name, symbols]) =>
    Array.from(symbols, (letter, index) =>
      showing(statusOf.get(letter) ?? "unknown", `${name}-${index}`, { name }),
    ),
  );
  const observation = { atMs: 1_000, observedMs: 1_000, momentKnown: true, goneAfter: 1 };
  return runAtOnce(nextSnapshot(emptySnapshot, readListing(listingOf(listed)), observation));
}

/** Pools and the polls of their targets, 10 seconds apart. */
export function watchPools(rules: readonly PoolRule[], targets: readonly Target[] = [us]) {
  let ids = 0;
  const options: AlertOptions = {
    receivers: wantAll(),
    suppressions: noSuppressions,
    newIncidentId: () => `incident-${++ids}`,
  };
  const items: OutboxItem[] = [];
  const open = new Map<string, Incident>();
  const clocks = new Map<string, PoolClock>();
  let atMs = 0;
  let startedAtMs = 0;
  let pools = watch({ rules, targets, openIncidents: [], clocks: [] });

  const write = (verdict: PoolVerdict): void => {
    const { incidents, clocks: read } = verdict.outcome;
    for (const incident of [...incidents.written, ...incidents.dropped]) {
      if (incident.phase.name === "resolved") open.delete(incident.id);
      else open.set(incident.id, incident);
    }
    for (const clock of read) clocks.set(`${clock.rule} ${clock.region} ${clock.key}`, clock);
    items.push(...incidents.outbox);
    pools.accept(verdict);
  };
  const judge = (target: Target, servers: Servers | null, whole = servers !== null) => {
    atMs += 10_000;
    const at = { utcMs: atMs, monotonicMs: atMs - startedAtMs };
    const snapshot = snapshotShowing(servers ?? {});
    return pools.judge(pools.observe({ target, at, snapshot, whole }), options);
  };

  return {
    items,
    see: (servers: Servers, target = us) => write(judge(target, servers)),
    seePart: (servers: Servers) => write(judge(us, servers, false)),
    /** Polls that end together: none is committed before all were judged, and the last one first. */
    together: (...polls: readonly (readonly [Target, Servers | null])[]) =>
      polls
        .map((each) => judge(...each))
        .toReversed()
        .forEach(write),
    lose: () => pools.lose(us),
    /** All notifications so far: "firing github". */
    notified: () =>
      items.map(({ type, incident }) => `${type.slice(9)} ${incident.serverName ?? "all"}`),
    /** Without the times. */
    summaries: () =>
      items.map((item) => summarize([item], null).replace(/ since .* UTC$| after \d+ s/, "")),
    restart(changed: readonly PoolRule[] = rules, configured: readonly Target[] = targets) {
      startedAtMs = atMs;
      const known = { openIncidents: [...open.values()], clocks: [...clocks.values()] };
      pools = watch({ rules: changed, targets: configured, ...known });
      write(pools.retire(atMs, options));
      const incidents = pools.retireOthers(atMs, options);
      write({ outcome: { incidents, clocks: [] }, scopes: [] });
    },
  };
}
