import { DatabaseSync, type SQLOutputValue, type StatementSync } from "node:sqlite";
import { allTime } from "../../../src/reports/time-range.ts";
import { openStore, type Store } from "../../../src/store/store.ts";
import { collect } from "../../support/collect.ts";
import type { Moment, Recorded, StoredHistory } from "../history.ts";
import type { StoredIncident, StoredPoll, StoredRun } from "../history.ts";
import type { Scenario, ScenarioTarget } from "../scenario.ts";
import type { WorldTime } from "./world-time.ts";

/** As the API shows it of targets and probes. Where a key was refused without an answer, nothing was sent. */
const targetsShown = `select id, region || '/' || key as target, last_poll_at_ms as ms, failures_in_a_row as failures,
    coalesce(last_failure = 'auth' and last_status is null, false) as was_silent from targets`;
const probesShown = `select probe, region || '/' || key as target,
    (select count(*) from probe_results where probe_id = id) as results from probes`;

/** How many rows a connection has written until now. */
const countWrites = "select total_changes() as count";

/** As the API shows them: whether one is muted, and when one fired that another incident inhibits. */
const openIncidents = `select incidents.id, rule, coalesce(incidents.region, targets.region) as region,
    targets.region || '/' || targets.key as target, trim(sandbox_id || ' ' || coalesce(server_id, '')) as server,
    case when inhibited_by is null then notified_at_clock_ms else fired_at_ms end is not null as is_notified,
    started_at_ms, phase, clear_since_ms is not null as is_clearing, flapping, inhibited_by,
    (select json_group_array(receiver) from incident_receivers where incident_id = incidents.id and notified = 1) as receivers
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
  /** Those that are in memory only, as they changed nothing, with the time that the API shows of them. */
  const waiting = new Map<StoredPoll, number>();
  /** Those that a process took over, and that were lost at its end. */
  const unsaved: StoredPoll[] = [];
  const names = new Map<number, string>();
  const backOffs: StoredPoll[] = [];
  const incidents = new Map<string, readonly StoredIncident[]>();
  /** The open ones, as they were read. */
  const texts = new Map<string, string>();
  const runs: StoredRun[] = [];
  const faults: string[] = [];
  const connections = new WeakMap<DatabaseSync, Connection>();
  /** What the store had of each target, and how many results of each probe, at the last commit that was noted. */
  const shown = new Map<string, { readonly ms: number; readonly failures: number }>();
  const results = new Map<string, number>();

  const notePolls = (query: StatementSync, life: number): void => {
    for (const row of query.all()) {
      const target = String(row["target"]);
      const [ms, failures] = [Number(row["ms"]), Number(row["failures"])];
      names.set(Number(row["id"]), target);
      const last = shown.get(target) ?? { ms: 0, failures: 0 };
      if (ms === last.ms) continue;
      shown.set(target, { ms, failures });
      const poll = { target, life, ...time.now() };
      const isBackOff = failures > 0 && (failures === last.failures || row["was_silent"] === 1);
      if (isBackOff) backOffs.push(poll);
      else noteSaved(poll, ms);
      if (failures > last.failures + 1)
        faults.push(`${target}: one commit added more than one poll`);
    }
  };

  const noteRuns = (query: StatementSync, life: number): void => {
    for (const row of query.all()) {
      const [probe, target] = [String(row["probe"]), String(row["target"])];
      const count = Number(row["results"]);
      const before = results.get(`${probe} ${target}`) ?? 0;
      if (count !== before) runs.push({ probe, target, life, ...time.now() });
      results.set(`${probe} ${target}`, count);
    }
  };

  const noteIncidents = (query: StatementSync): void => {
    const now = time.now();
    const open = new Set<string>();
    for (const row of query.all()) {
      const [id, text] = [String(row["id"]), JSON.stringify(row)];
      open.add(id);
      if (texts.get(id) === text) continue;
      texts.set(id, text);
      incidents.set(id, [...(incidents.get(id) ?? []), { ...incidentOf(row), ...now }]);
    }
    for (const id of texts.keys().filter((each) => !open.has(each))) {
      texts.delete(id);
      const versions = incidents.get(id) ?? [];
      const last = versions.at(-1);
      if (last) incidents.set(id, [...versions, { ...last, ...now, phase: "over" }]);
    }
  };

  const connect = (database: DatabaseSync): Connection | null => {
    // A store that is just being made has no tables yet.
    if (!database.prepare("select 1 from sqlite_schema where name = 'incidents'").get())
      return null;
    const connection = {
      writes: database.prepare(countWrites),
      polls: database.prepare(targetsShown),
      incidents: database.prepare(openIncidents),
      runs: database.prepare(probesShown),
      noted: -1,
    };
    connections.set(database, connection);
    return connection;
  };

  /** With a poll, those of the same target before it are written. */
  const noteSaved = (poll: StoredPoll, shownMs: number): void => {
    const own = [...waiting].filter(([{ target }]) => target === poll.target);
    const at = own.findIndex(([, ms]) => ms === shownMs);
    for (const [saved] of at < 0 ? own : own.slice(0, at + 1)) waiting.delete(saved);
    if (at < 0) polls.push(poll);
  };

  return {
    /** Those that are stored, and those that would be lost if the process were killed now. */
    takenOver: () => ({
      storedPolls: polls.filter((poll) => !waiting.has(poll)),
      unsavedPolls: [...unsaved, ...waiting.keys()],
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
    onPollTaken(id: number, shownMs: number, life: number): void {
      const target = names.get(id);
      if (target === undefined || shown.get(target)?.ms === shownMs) return;
      const poll = { target, life, ...time.now() };
      polls.push(poll);
      waiting.set(poll, shownMs);
    },
    /** What waits in memory is lost. */
    onEnding(): void {
      for (const poll of waiting.keys()) polls.splice(polls.indexOf(poll), 1);
      unsaved.push(...waiting.keys());
      waiting.clear();
    },
    onCommit(database: DatabaseSync, life: number): void {
      const connection = connections.get(database) ?? connect(database);
      if (!connection) return;
      // Most commits of the store's upkeep write nothing.
      const writes = Number(connection.writes.get()?.["count"]);
      if (writes === connection.noted) return;
      connection.noted = writes;
      notePolls(connection.polls, life);
      noteIncidents(connection.incidents);
      if (hasProbes) noteRuns(connection.runs, life);
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
    isClearing: row["is_clearing"] === 1,
    isFlapping: row["flapping"] === 1,
    isNotified: row["is_notified"] === 1,
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
