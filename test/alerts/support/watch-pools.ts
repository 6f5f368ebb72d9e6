import { nextSnapshot } from "../../../src/fleet/next-snapshot.ts";
import { runAtOnce } from "../../../src/fleet/slices.ts";
import { emptySnapshot } from "../../../src/fleet/snapshot.ts";
import { readListing } from "../../support/listing.ts";
import { listedServer, listingOf } from "./samples.ts";
import { noInterventions } from "../../../src/alerts/silence.ts";
import type { Status, Target } from "../../../src/fleet/model.ts";
import type { OutboxItem } from "../../../src/alerts/notification.ts";
import { summarize } from "../../../src/alerts/notification-summary.ts";
import { createPoolWatch } from "../../../src/alerts/pool-watch.ts";
import type { AlertOptions } from "../../../src/alerts/incident-engine.ts";
import type { PoolClock, PoolWatch } from "../../../src/alerts/pool-watch.ts";
import type { Incident } from "../../../src/alerts/incident.ts";
import type { PoolRule } from "../../../src/alerts/rule.ts";

export const usResearch: Target = { region: "us", key: "research" };
export const euResearch: Target = { region: "eu", key: "research" };
export const usBatch: Target = { region: "us", key: "batch" };

export function poolRule(more: Partial<PoolRule> = {}): PoolRule {
  return {
    name: "pool-full",
    on: "pool",
    by: ["region", "key", "server_name"],
    measure: "occupied_ratio",
    side: "above",
    limit: 0.5,
    forMs: 0,
    severity: "warning",
    keepFiringForMs: 0,
    remindEveryMs: null,
    receivers: ["oncall"],
    match: {},
    summaryTemplate: null,
    runbookUrlTemplate: null,
    ...more,
  };
}

/** Statuses by the servers' names: `{ github: "io" }` is one idle and one occupied. */
type Servers = Readonly<Record<string, string>>;

const statusOf = new Map<string, Status>([
  ["i", "idle"],
  ["o", "occupied"],
  ["e", "error"],
]);

function snapshotShowing(servers: Servers) {
  const listed = Object.entries(servers).flatMap(([name, statuses]) =>
    Array.from(statuses, (letter, index) =>
      listedServer(`${name}-${index}`, statusOf.get(letter) ?? "unknown", { name }),
    ),
  );
  const listing = readListing(listingOf(...listed));
  const observation = { atMs: 1_000, observedMs: 1_000, witnessed: true, goneAfter: 1 };
  return runAtOnce(nextSnapshot(emptySnapshot, listing, observation));
}

/** Pools being watched, on paper: what is committed is written down and can be restored. */
export function watchPools(
  rules: readonly PoolRule[],
  targets: readonly Target[] = [usResearch],
  more: Partial<AlertOptions> = {},
) {
  let ids = 0;
  const options: AlertOptions = {
    notifies: () => true,
    interventions: noInterventions,
    newIncidentId: () => `incident-${++ids}`,
    ...more,
  };
  const told: OutboxItem[] = [];
  const open = new Map<string, Incident>();
  const clocks = new Map<string, PoolClock>();
  let atMs = 0;
  let startedAtMs = 0;
  let pools: PoolWatch = createPoolWatch({ rules, targets, openIncidents: [], clocks: [] });

  const write = (verdict: ReturnType<PoolWatch["judge"]>): void => {
    const { incidents, clocks: read } = verdict.outcome;
    for (const incident of incidents.written) {
      if (incident.phase.name === "resolved") open.delete(incident.id);
      else open.set(incident.id, incident);
    }
    for (const { id } of incidents.dropped) open.delete(id);
    for (const clock of read) clocks.set(`${clock.rule} ${clock.scope}`, clock);
    told.push(...incidents.outbox);
    verdict.accept();
  };
  const judge = (target: Target, servers: Servers | null, whole = servers !== null) => {
    atMs += 10_000;
    const at = { utcMs: atMs, monotonicMs: atMs - startedAtMs };
    const snapshot = snapshotShowing(servers ?? {});
    return pools.judge({ target, at, snapshot, whole }, options);
  };
  const poll = (...sight: Parameters<typeof judge>): void => write(judge(...sight));

  return {
    see: (servers: Servers, target = usResearch) => poll(target, servers),
    seePart: (servers: Servers, target = usResearch) => poll(target, servers, false),
    fail: (target = usResearch) => poll(target, null),
    /** Polls that end together: none is committed before all were judged, and the last one first. */
    together: (...polls: readonly Parameters<typeof judge>[]) =>
      polls
        .map((each) => judge(...each))
        .toReversed()
        .forEach(write),
    wait: (ms: number) => (atMs += ms),
    lose: (target = usResearch) => pools.lose(target),
    told: () => told.map(({ type, incident }) => `${type} ${incident.serverName ?? "all"}`),
    summaries: () => told.map((item) => summarize([item])),
    items: told,
    restart(changed: readonly PoolRule[] = rules, configured: readonly Target[] = targets) {
      startedAtMs = atMs;
      pools = createPoolWatch({
        rules: changed,
        targets: configured,
        openIncidents: [...open.values()],
        clocks: [...clocks.values()],
      });
      write(pools.retire(atMs, options));
    },
  };
}
