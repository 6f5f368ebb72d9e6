import { groupItems } from "../../alerts/grouping.ts";
import { currentItem, type Incident } from "../../alerts/incident.ts";
import { messageLinks, runbookUrl } from "../../alerts/links.ts";
import { headlineOf } from "../../alerts/notification-summary.ts";
import { namesOfServers } from "../../alerts/notification.ts";
import type { NotifiedIncident, StoredOutboxItem } from "../../alerts/notification.ts";
import { countPools, poolCondition, poolKey } from "../../alerts/pool.ts";
import type { PoolCount, PoolCounts } from "../../alerts/pool.ts";
import { clearedCondition, isUnobserved, presentSubject } from "../../alerts/present-subject.ts";
import type { PresentSubject } from "../../alerts/present-subject.ts";
import { matchesTarget, severities } from "../../alerts/rule.ts";
import type { PoolRule, Rule, Severity } from "../../alerts/rule.ts";
import { silenceFacts, silences as isSilencedBy } from "../../alerts/silence.ts";
import { failureOf, type WatchedView } from "../../alerts/target-view.ts";
import { fillUrlTemplate } from "../../alerts/template.ts";
import type { ProbeView } from "../../alerts/probe.ts";
import { addTimes, noneByStatus } from "../../fleet/tallies.ts";
import { eachInSlices, type Slices } from "../../fleet/slices.ts";
import { findSandbox } from "../../fleet/snapshot.ts";
import { totalsOf } from "./fleet-totals.ts";
import type { QuietView } from "./quiet-cards.ts";

export interface FiringView {
  readonly targets: readonly WatchedView[];
  readonly probes: readonly ProbeView[];
  /** The open incidents that belong to no target. */
  readonly incidentsWithoutTarget: readonly Incident[];
  readonly rules: readonly Rule[];
  /** Who acknowledged an open incident, by its id. */
  readonly acknowledgedBy: ReadonlyMap<string, string>;
  /** Receivers that do not have a message about an incident yet; failing is 1 if an attempt failed. */
  readonly undelivered: readonly {
    readonly receiver: string;
    readonly incidentId: string;
    readonly failing: number;
  }[];
}

/** Firing incidents that are shown as one, as they are notified together. Times are UTC milliseconds. */
export interface FiringGroup {
  /** The same as long as the group is shown. */
  readonly id: string;
  readonly severity: Severity;
  readonly headline: string;
  readonly detail: string | null;
  readonly unmonitored: number;
  readonly incidents: readonly NotifiedIncident[];
  readonly startedAtMs: number;
  readonly firedAtMs: number | null;
  /** That were notified of all of them. */
  readonly receivers: readonly string[];
  /** Whose messages wait, and those whose deliveries fail. */
  readonly waitingFor: readonly string[];
  readonly failingTo: readonly string[];
  readonly acknowledgedBy: readonly string[];
  readonly isAcknowledged: boolean;
  /** The silences in force for the first of them. */
  readonly silenceIds: readonly string[];
  /** How many of them flap. */
  readonly flapping: number;
  /** Since when what is "now idle" is so; null: its condition holds, or that is not known. */
  readonly nowSinceMs: number | null;
  readonly runbookUrl: string | null;
  /** The pages that show them, acknowledge them and silence them, relative to the overview. */
  readonly links: readonly { readonly text: string; readonly url: string }[];
}

export interface Firing {
  /** Of which receivers were notified, worst first. */
  readonly groups: readonly FiringGroup[];
  readonly silenced: readonly FiringGroup[];
  /** Receivers were notified of them, and their condition does not hold at present: they flap, or `keep_firing_for` runs. */
  readonly cleared: readonly FiringGroup[];
  /** Of servers, sandboxes and pools that are not observed at present. */
  readonly unobserved: readonly FiringGroup[];
  /** How many are a consequence of another one. */
  readonly inhibited: number;
  readonly pending: number;
}

interface Item extends StoredOutboxItem {
  readonly of: Incident;
  readonly now: PresentSubject | null;
  readonly silenceIds: readonly string[];
  readonly undelivered: FiringView["undelivered"];
}

/** As `group_by` and `group_limit` of receivers are by default. */
const grouping = {
  groupBy: ["rule", "region", "key"],
  groupLimit: 5,
  groupWaitMs: 0,
  groupIntervalMs: 0,
} as const;

const incidentsPerSlice = 128;

export function* findFiring(view: FiringView & Pick<QuietView, "silences">): Slices<Firing> {
  const silencesOf = (watched: WatchedView | null, incident: Incident): readonly string[] => {
    const { rule: name, severity, subject } = incident;
    const facts = silenceFacts({ name, severity }, watched?.target ?? null, subject);
    return view.silences.flatMap(({ id, match }) =>
      id !== null && isSilencedBy(match, facts) ? id : [],
    );
  };
  const { acknowledgedBy } = view;
  const poolsOf = countPoolsOnce(view.targets);
  const notified: Item[] = [];
  const silenced: Item[] = [];
  const cleared: Item[] = [];
  const unobserved: Item[] = [];
  const undelivered = Map.groupBy(view.undelivered, ({ incidentId }) => incidentId);
  let inhibited = 0;
  let pending = 0;
  const add = (watched: WatchedView | null, incident: Incident): void => {
    const { phase, inhibitedBy } = incident;
    if (phase.name === "pending") pending += 1;
    if (phase.name !== "firing") return;
    if (phase.notifiedAtMs === null && inhibitedBy !== null) {
      inhibited += 1;
      return;
    }
    const isLost = isUnobserved(watched, incident, view.targets);
    const now = presentSubject(watched, incident, view.targets);
    const list =
      phase.notifiedAtMs === null ? silenced : isLost ? unobserved : now ? cleared : notified;
    const author = acknowledgedBy.get(incident.id) ?? null;
    const text = textOf(view, poolsOf, watched, incident);
    const item = currentItem(watched?.target ?? null, incident, author, text);
    const condition = now ? clearedCondition(incident, now) : item.condition;
    const missing = undelivered.get(incident.id) ?? [];
    list.push({
      ...item,
      condition,
      now,
      silenceIds: phase.notifiedAtMs === null ? silencesOf(watched, incident) : [],
      of: incident,
      undelivered: missing,
      seq: list.length,
    });
  };
  for (const watched of view.targets) {
    yield* eachInSlices(watched.state.incidents.values(), incidentsPerSlice, (incident) =>
      add(watched, incident),
    );
  }
  for (const incident of view.incidentsWithoutTarget) add(null, incident);
  return {
    groups: yield* groupAll(notified),
    silenced: yield* groupAll(silenced),
    cleared: yield* groupCleared(cleared),
    unobserved: yield* groupAll(unobserved),
    inhibited,
    pending,
  };
}

/** Those that are the same now. */
function* groupCleared(items: readonly Item[]): Slices<readonly FiringGroup[]> {
  const groups: FiringGroup[] = [];
  for (const some of Map.groupBy(items, ({ condition }) => condition).values()) {
    groups.push(...(yield* groupAll(some)));
  }
  return groups;
}

function* groupAll(items: readonly Item[]): Slices<readonly FiringGroup[]> {
  const byId = new Map(items.map((each) => [each.of.id, each]));
  const { due, waiting } = yield* groupItems(items, grouping, Infinity, new Map());
  const groups = [...due, ...waiting].map(({ items: some }) => viewGroup(some, byId));
  return groups.toSorted(
    (one, other) =>
      Number(one.isAcknowledged) - Number(other.isAcknowledged) ||
      severities.indexOf(one.severity) - severities.indexOf(other.severity) ||
      Number(other.unmonitored > 0) - Number(one.unmonitored > 0) ||
      other.incidents.length - one.incidents.length ||
      one.startedAtMs - other.startedAtMs,
  );
}

function viewGroup(
  items: readonly StoredOutboxItem[],
  byId: ReadonlyMap<string, Item>,
): FiringGroup {
  const [first] = items;
  if (!first) throw new RangeError("a group has an item");
  const { rule, severity } = first;
  const incidents = items.map(({ incident }) => incident);
  const found = incidents.flatMap(({ id }) => byId.get(id) ?? []);
  const own = found.map(({ of }) => of);
  const missing = found.flatMap(({ undelivered }) => undelivered);
  const failingTo = new Set(missing.flatMap((each) => (each.failing > 0 ? each.receiver : [])));
  const waitingFor = new Set(missing.map(({ receiver }) => receiver)).difference(failingTo);
  const receivers = new Set(own.flatMap((each) => each.receivers));
  const region = same(incidents, (incident) => incident.region);
  const key = same(incidents, (incident) => incident.key);
  const authors = incidents.map(({ acknowledgedBy }) => acknowledgedBy);
  const fired = own.flatMap(({ firedAtMs }) => firedAtMs ?? []);
  const now = found[0]?.now;
  const isAcknowledged = !authors.includes(null);
  const type = isAcknowledged ? "incident.acknowledged" : "incident.firing";
  const message = { type, rule, group: {}, incidents, truncated: 0 } as const;
  return {
    id: [now?.status ?? "firing", rule, severity, region ?? "", key ?? ""].join("-"),
    nowSinceMs: now?.sinceMs ?? null,
    silenceIds: found[0]?.silenceIds ?? [],
    severity,
    headline: headlineOf(items),
    detail: same(items, ({ detail }) => detail),
    unmonitored: items.reduce((sum, item) => sum + (item.unmonitored ?? 0), 0),
    incidents,
    startedAtMs: incidents.reduce((least, each) => Math.min(least, each.startedAtMs), Infinity),
    firedAtMs: fired.length === 0 ? null : fired.reduce((most, each) => Math.max(most, each)),
    receivers: [...receivers.difference(waitingFor).difference(failingTo)],
    waitingFor: [...waitingFor],
    failingTo: [...failingTo],
    acknowledgedBy: [...new Set(authors.filter((author) => author !== null))],
    isAcknowledged,
    flapping: incidents.filter(({ flapping }) => flapping).length,
    runbookUrl: runbookUrl(
      first.runbookUrlTemplate && fillUrlTemplate(first.runbookUrlTemplate, items),
      first.incident,
      ".",
    ),
    links: messageLinks(".", message),
  };
}

/** The value that all share; null: they differ. */
function same<Each, Value>(items: readonly Each[], valueOf: (item: Each) => Value): Value | null {
  const [value, ...others] = new Set(items.map(valueOf));
  return value === undefined || others.length > 0 ? null : value;
}

/** What is known of an incident beyond what is stored of it, from the present state of what it is about. */
function textOf(
  view: FiringView,
  poolsOf: (rule: PoolRule) => PoolCounts,
  watched: WatchedView | null,
  incident: Incident,
) {
  const rule = view.rules.find(({ name }) => name === incident.rule);
  const { summaryTemplate = null, runbookUrlTemplate = null } = rule ?? {};
  return {
    summaryTemplate,
    runbookUrlTemplate,
    ...presentText(view, poolsOf, rule, watched, incident),
  };
}

function presentText(
  { targets, probes }: FiringView,
  poolsOf: (rule: PoolRule) => PoolCounts,
  rule: Rule | undefined,
  watched: WatchedView | null,
  { subject }: Incident,
) {
  switch (subject.kind) {
    case "target":
      return watched === null
        ? {}
        : {
            detail: failureOf(watched),
            unmonitored: totalsOf(watched).unobserved,
          };
    case "region": {
      const all = targets.filter(({ target }) => target.region === subject.region);
      const down = all.filter(({ up }) => !up);
      const reasons = new Set(down.flatMap((each) => failureOf(each) ?? []));
      const keys =
        down.length === all.length ? "every key" : `${down.length} of ${all.length} keys`;
      return {
        condition: `down for ${keys}`,
        detail: reasons.size === 0 ? null : [...reasons].toSorted().slice(0, 3).join(", "),
        unmonitored: down.reduce((sum, each) => sum + totalsOf(each).unobserved, 0),
      };
    }
    case "pool":
    case "sandbox_pool": {
      if (rule?.on !== "pool") return {};
      const pools = poolsOf(rule).get(poolKey(subject));
      return pools ? { condition: poolCondition(rule, pools) } : {};
    }
    case "probe": {
      const probe = probes.find(
        ({ subject: { probe: name, region, key } }) =>
          name === subject.probe && region === subject.region && key === subject.key,
      );
      const last = probe?.progress.last;
      return { detail: last?.detail ?? last?.reason ?? null };
    }
    case "sandbox": {
      const sandbox = watched && findSandbox(watched.state.snapshot, subject.sandboxId);
      return { servers: sandbox ? namesOfServers(sandbox.servers) : null };
    }
    case "server":
    case "receiver":
      return {};
  }
}

/** The pools of a rule over all targets that are observed. */
function countPoolsOnce(targets: readonly WatchedView[]): (rule: PoolRule) => PoolCounts {
  const known = new Map<PoolRule, Map<string, PoolCount>>();
  return (rule) => {
    const found = known.get(rule);
    if (found) return found;
    const pools = new Map<string, PoolCount>();
    known.set(rule, pools);
    for (const { target, state, withheld } of targets) {
      if (withheld || !matchesTarget(rule.match, target)) continue;
      for (const [key, { subject, counts }] of countPools(rule, target, state.snapshot)) {
        const others = pools.get(key)?.counts ?? noneByStatus;
        pools.set(key, { subject, counts: addTimes(others, counts, 1) });
      }
    }
    return pools;
  };
}
