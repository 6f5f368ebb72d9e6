import { DatabaseSync, type SQLOutputValue, type StatementSync } from "node:sqlite";
import { allTime } from "../../../src/reports/time-range.ts";
import { openStore, type Store } from "../../../src/store/store.ts";
import { collect } from "../../support/collect.ts";
import type { Moment, Recorded, StoredHistory } from "../history.ts";
import type { StoredIncident, StoredPoll, StoredRun } from "../history.ts";
import type { Scenario, ScenarioTarget } from "../scenario.ts";
import type { WorldTime } from "./world-time.ts";

/** How the store counts the polls of targets, with the time of the last, and the runs of probes with their time. */
const countPolls = `select id, region || '/' || key as target, attempted_polls as count, last_poll_at_ms as ms from targets`;
const countRuns = `select id, probe, region || '/' || key as target, attempted_runs as count, attempted_ms as ms from probes`;

/** How many rows a connection has written until now. */
const countWrites = "select total_changes() as count";

const openIncidents = `select incidents.*, coalesce(incidents.region, targets.region) as region,
    targets.region || '/' || targets.key as target, trim(sandbox_id || ' ' || coalesce(server_id, '')) as server,
    (select json_group_array(receiver) from incident_receivers where incident_id = incidents.id) as receivers
  from incidents left join targets on targets.id = target_id
  where subject in ('server', 'sandbox', 'target', 'region') and phase in ('pending', 'firing')`;

interface Connection {
  readonly writes: StatementSync;
  readonly polls: StatementSync;
  readonly incidents: StatementSync;
  readonly runs: StatementSync;
  /** How many rows it had written at the last commit that was noted. */
  noted: number;
}

/** Notes which polls and runs were taken over, and at each commit which of them it wrote. */
export function createStoredWrites(time: WorldTime, hasProbes: boolean) {
  const polls: StoredPoll[] = [];
  /** Those of polls that are in memory only, as they changed nothing. */
  const waiting = new Set<StoredPoll>();
  /** Those that a process took over, and that were lost at its end. */
  const unsaved: StoredPoll[] = [];
  const names = new Map<number, string>();
  const backOffs: StoredPoll[] = [];
  const incidents = new Map<string, StoredIncident[]>();
  const runs: StoredRun[] = [];
  const faults: string[] = [];
  const connections = new WeakMap<DatabaseSync, Connection>();
  const before = new Map<string, { readonly count: number; readonly ms: number }>();

  /** The rows of a query whose counts are others than at the last commit. */
  const changedRows = (query: StatementSync, table: "targets" | "probes") =>
    query.all().flatMap((row) => {
      const [probe, target] = [String(row["probe"]), String(row["target"])];
      const [count, ms] = [Number(row["count"]), Number(row["ms"] ?? 0)];
      const last = before.get(`${probe} ${target}`) ?? { count: 0, ms: 0 };
      before.set(`${probe} ${target}`, { count, ms });
      if (table === "targets") names.set(Number(row["id"]), target);
      const added = count - last.count;
      return added === 0 && ms === last.ms ? [] : [{ probe, target, added }];
    });

  const noteIncidents = (query: StatementSync): void => {
    const now = time.now();
    const open = query.all().map(incidentOf);
    const ids = new Set(open.map(({ id }) => id));
    const over = Array.from(incidents.values(), (versions) => versions.at(-1))
      .filter((last) => last !== undefined)
      .filter(({ id, phase }) => phase !== "over" && !ids.has(id))
      .map((last) => ({ ...last, phase: "over" }) as const);
    for (const incident of [...open, ...over]) {
      const versions = incidents.get(incident.id) ?? [];
      const last = versions.at(-1);
      const version = { ...incident, ...now };
      const isSame = last && JSON.stringify({ ...last, ...now }) === JSON.stringify(version);
      if (!isSame) incidents.set(incident.id, [...versions, version]);
    }
  };

  const connect = (database: DatabaseSync): Connection | null => {
    // A store that is just being made has no tables yet.
    if (!database.prepare("select 1 from sqlite_schema where name = 'incidents'").get())
      return null;
    const connection = {
      writes: database.prepare(countWrites),
      polls: database.prepare(countPolls),
      incidents: database.prepare(openIncidents),
      runs: database.prepare(countRuns),
      noted: -1,
    };
    connections.set(database, connection);
    return connection;
  };

  const noteSaved = (target: string, added: number, poll: StoredPoll): void => {
    const own = [...waiting].filter((each) => each.target === target);
    for (const saved of own.slice(0, added)) waiting.delete(saved);
    const more = added - own.length;
    if (more === 1) polls.push(poll);
    else if (more > 1) faults.push(`${target}: one commit added ${more} polls`);
  };

  return {
    /** Those that are stored, and those that would be lost if the process were killed now. */
    takenOver: () => ({
      storedPolls: polls.filter((poll) => !waiting.has(poll)),
      unsavedPolls: [...unsaved, ...waiting],
    }),
    backOffs,
    incidents,
    runs,
    faults,
    /** Whether the last poll of a target sent nothing: what it passed is only judged with the next one that does. */
    isBackingOff: (): boolean =>
      backOffs.some(
        ({ target, moment }) =>
          moment > (polls.findLast((poll) => poll.target === target)?.moment ?? -1),
      ),
    /** The daemon goes on with a poll. If no commit wrote it, its clocks wait in memory. */
    onPollTaken(id: number, count: number, life: number): void {
      const target = names.get(id);
      if (target === undefined || count <= (before.get(`undefined ${target}`)?.count ?? 0)) return;
      const poll = { target, life, ...time.now() };
      polls.push(poll);
      waiting.add(poll);
    },
    /** What waits in memory is lost. */
    onEnding(): void {
      for (const poll of waiting) polls.splice(polls.indexOf(poll), 1);
      unsaved.push(...waiting);
      waiting.clear();
    },
    onCommit(database: DatabaseSync, life: number): void {
      const now = time.now();
      const connection = connections.get(database) ?? connect(database);
      if (!connection) return;
      // Most commits of the store's upkeep write nothing.
      const writes = Number(connection.writes.get()?.["count"]);
      if (writes === connection.noted) return;
      connection.noted = writes;
      for (const { target, added } of changedRows(connection.polls, "targets")) {
        if (added === 0) backOffs.push({ target, life, ...now });
        else noteSaved(target, added, { target, life, ...now });
      }
      noteIncidents(connection.incidents);
      if (!hasProbes) return;
      for (const { probe, target, added } of changedRows(connection.runs, "probes")) {
        runs.push({ probe, target, life, isCounted: added > 0, ...now });
      }
    },
  };
}

function incidentOf(
  row: Readonly<Record<string, SQLOutputValue>>,
): Omit<StoredIncident, keyof Moment> {
  const text = (name: string): string | null => (row[name] === null ? null : String(row[name]));
  const receivers: readonly string[] = JSON.parse(text("receivers") ?? "[]");
  return {
    id: text("id") ?? "",
    rule: text("rule") ?? "",
    region: text("region") ?? "",
    target: text("target"),
    server: text("server"),
    startedUtcMs: Number(row["started_at_ms"]),
    phase: text("phase") === "pending" ? "pending" : "firing",
    isClearing: row["clear_since_ms"] !== null,
    isFlapping: row["flapping"] === 1,
    isNotified: row["notified_at_clock_ms"] !== null,
    receivers,
    inhibitedBy: text("inhibited_by"),
  };
}

const gapsOf = `select from_at_ms as fromMs, coalesce(to_at_ms, recorded_to_ms) as toMs from gaps
  join targets on targets.id = gaps.target_id where region = ? and key = ? order by from_at_ms`;

/**
 * What the last process left.
 *
 * @param waitingUtcMs what was caused later may still wait
 */
export async function readStored(
  path: string,
  { targets, stages, pagerduty }: Scenario,
  waitingUtcMs: number,
): Promise<Pick<Recorded, "left" | "stored">> {
  try {
    const store = openStore(path);
    // What is due to a receiver that is not configured waits for it.
    const receivers = new Set(stages.at(-1)?.receivers);
    if (pagerduty) receivers.add(pagerduty.name);
    const left = await readLeft(store, receivers, waitingUtcMs);
    const stored = new Map<string, StoredHistory>();
    for (const target of targets) stored.set(target.name, await readHistory(store, path, target));
    await store.close();
    return { left, stored };
  } catch (error) {
    return { left: [`a store that cannot be read: ${String(error)}`], stored: new Map() };
  }
}

/** What the product says that it has of a target; the gaps of observation as they are stored. */
async function readHistory(
  store: Store,
  path: string,
  { region, key }: ScenarioTarget,
): Promise<StoredHistory> {
  const query = { ...allTime, region: [region], key: [key] };
  const inOrder = { ...query, direction: "asc", observations: true } as const;
  const changes = await collect(store.changes.ofSubjects(inOrder));
  using database = new DatabaseSync(path, { readOnly: true });
  const rows = database.prepare(gapsOf).all(region, key);
  const gaps = rows.map(({ fromMs, toMs }) => ({ fromMs: Number(fromMs), toMs: Number(toMs) }));
  return { gaps, changes };
}

async function readLeft(
  store: Store,
  receivers: ReadonlySet<string>,
  waitingUtcMs: number,
): Promise<readonly string[]> {
  const figures = await store.outbox.figures();
  return [...receivers].flatMap((receiver) => {
    const own = figures.find((each) => each.receiver === receiver);
    const { openItems = 0, pending = 0, dead = 0, oldestCausedAtMs = null } = own ?? {};
    const isDone = pending === 0 && dead === 0;
    if (isDone && (oldestCausedAtMs ?? Infinity) > waitingUtcMs) return [];
    return [`${receiver}: ${openItems} items, ${pending} pending and ${dead} dead notifications`];
  });
}
