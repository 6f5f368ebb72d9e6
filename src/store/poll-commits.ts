import { flapKey } from "../alerts/flap-record.ts";
import type { IncidentOutcome } from "../alerts/incident-engine.ts";
import { isQuiet, type Verdict } from "../alerts/judge.ts";
import type { PoolOutcome } from "../alerts/judge-pools.ts";
import type { QuietClocks } from "./quiet-clocks.ts";
import { writeGaps } from "./gaps.ts";
import { incidentRows, writeIncidents } from "./incidents.ts";
import { countByStatus } from "../fleet/tallies.ts";
import type { SharedCommits } from "./shared-commits.ts";
import { writeSnapshot, recordedAtMs, type PollDiff } from "./snapshots.ts";
import {
  writeClocks,
  writePoolClocks,
  writeTargets,
  type PolledTarget,
  progressToRow,
} from "./targets.ts";
import { sql, type RawBuilder } from "kysely";
import {
  statusAfter,
  statusBefore,
  type Diff,
  type SandboxDiff,
  type ServerDiff,
} from "../fleet/diff.ts";
import { batches, paced } from "../lib/iterables.ts";
import type { ChangeSubject } from "./changes.ts";
import { prepareRows, rowsPerInsert, storableText, takeSequence } from "./sql-helpers.ts";
import type { Db } from "./tables.ts";

/** Consecutive polls of a target, to be written together. Rows that several of them write are written once. */
interface JoinedPolls {
  /** From the first to the last, for what each of them adds. */
  readonly each: readonly Verdict[];
  readonly last: Verdict;
  readonly incidents: IncidentOutcome;
}

/** Writes the results of polls, completely or not at all. */
export function createPollCommits(commits: SharedCommits, quiet: QuietClocks) {
  const commit = (targetId: number, polls: JoinedPolls): Promise<void> => {
    const { each, incidents } = polls;
    quiet.supersede(targetId);
    return commits.add({
      owner: targetId,
      rows: rowsOf(polls),
      async write(trx, together) {
        together(writeTargets, [rowOf(targetId, polls.last)]);
        await writeGaps(trx, targetId, each);
        writeSnapshot(together, targetId, each);
      },
      async writeNumbered(trx) {
        await writeIncidents(trx, targetId, incidents);
        await writeChanges(trx, targetId, each);
      },
    });
  };
  return {
    /** A poll that changed nothing writes nothing of its own: its clocks are written with those of others. */
    async commitPoll(targetId: number, verdict: Verdict): Promise<void> {
      const { incidents } = verdict;
      if (isQuiet(verdict) && quiet.take(rowOf(targetId, verdict))) return;
      await commit(targetId, { each: [verdict], last: verdict, incidents });
    },
    /** Many that followed one another, at once. */
    async importPolls(targetId: number, verdicts: readonly Verdict[]): Promise<void> {
      const last = verdicts.at(-1);
      if (!last) return;
      const incidents = joinIncidents(verdicts);
      await commit(targetId, { each: verdicts, last, incidents });
    },
    /** What a poll means for the pools that its target adds to, with the clocks of that target. */
    async commitPools(targetId: number, { clocks, incidents }: PoolOutcome): Promise<void> {
      const rows = incidentRows(incidents);
      if (rows === 0 && (clocks.length === 0 || quiet.takePools(clocks))) return;
      quiet.supersedePools(clocks);
      const ofTarget = quiet.waitingOf(targetId);
      await commits.add({
        owner: "pools",
        rows: rows + clocks.length,
        async writeNumbered(trx) {
          await writeClocks(trx, ofTarget);
          await writePoolClocks(trx, clocks);
          await writeIncidents(trx, null, incidents);
        },
      });
    },
    /**
     * What a changed configuration does to incidents, outside any poll.
     *
     * @param targetId whose they are; null: those of pools, probes or receivers
     */
    commitIncidents: (targetId: number | null, incidents: IncidentOutcome): Promise<void> =>
      commits.add({
        owner: targetId,
        rows: incidentRows(incidents),
        writeNumbered: (trx) => writeIncidents(trx, targetId, incidents),
      }),
  };
}

function rowsOf({ each, incidents }: JoinedPolls): number {
  const ofPolls = each.map(({ diff }) => diff.servers.length + diff.sandboxes.length);
  return [1, incidentRows(incidents), ...ofPolls].reduce((sum, more) => sum + more);
}

/** What polls write into the row of their target. */
function rowOf(id: number, { progress, snapshot }: Verdict): PolledTarget {
  return {
    id,
    ...progressToRow(progress),
    servers: countByStatus(snapshot.tallies.servers),
  };
}

/** Each incident as it was last, but for those that were dropped. */
function joinIncidents(verdicts: readonly Verdict[]): IncidentOutcome {
  const outcomes = verdicts.map(({ incidents }) => incidents);
  const dropped = new Map(
    outcomes.flatMap((each) => each.dropped).map((incident) => [incident.id, incident]),
  );
  const written = new Map(
    outcomes
      .flatMap((each) => each.written)
      .filter(({ id }) => !dropped.has(id))
      .map((incident) => [incident.id, incident]),
  );
  const flaps = new Map(
    outcomes.flatMap((each) => each.flaps).map((record) => [flapKey(record), record]),
  );
  return {
    written: [...written.values()],
    dropped: [...dropped.values()],
    flaps: [...flaps.values()],
    steps: [],
    outbox: outcomes.flatMap(({ outbox }) => outbox),
  };
}

/**
 * Within the transaction of the polls, after their snapshots were written: each change refers to the row of its sandbox or
 * server, which the statement looks up, so that no map of row ids has to be kept.
 *
 * @param polls in their order
 */
export async function writeChanges(
  trx: Db,
  targetId: number,
  polls: readonly PollDiff[],
): Promise<void> {
  const ofPolls = polls.map((poll) => ({ atMs: recordedAtMs(poll), ...changesOf(poll.diff) }));
  const all = ofPolls.flatMap(({ sandboxes, servers }) => [...sandboxes, ...servers]);
  if (all.length === 0) return;
  const setOf = await valueSets(trx, all, ofPolls.at(-1)?.atMs ?? 0);
  let seq = (await takeSequence(trx, all.length)) - all.length;
  for (const { atMs, sandboxes, servers } of ofPolls) {
    const ofSandboxes = sandboxes
      .values()
      .map((each) => [++seq, targetId, atMs, each.sandboxId, ...changeColumns(each, setOf)]);
    await insert(trx, insertSandboxChanges, ofSandboxes);
    const ofServers = servers.values().map((each) => {
      const serverId = (each.after ?? each.before)?.id ?? "";
      return [++seq, targetId, atMs, each.sandboxId, serverId, ...changeColumns(each, setOf)];
    });
    await insert(trx, insertServerChanges, ofServers);
  }
}

/** What is stored of a diff: also that attributes changed, as servers and sandboxes are counted by them. */
export function changesOf({ sandboxes, servers }: Diff): Pick<Diff, "sandboxes" | "servers"> {
  return { sandboxes: sandboxes.filter(isStored), servers: servers.filter(isStored) };
}

function isStored({ kind, before, after }: SandboxDiff | ServerDiff): boolean {
  if (kind === "updated") return setKey(before) !== setKey(after);
  return kind !== "still_missing";
}

type Subject = SandboxDiff["after"] | ServerDiff["after"];

/** The attributes by which it is counted, as one text. */
function setKey(subject: Subject): string {
  const { name = null, tags = [] } = subject && "tags" in subject ? subject : {};
  const texts = [name ?? "", subject?.benchmark ?? "", JSON.stringify(tags)];
  return JSON.stringify(texts.map(storableText));
}

type SetOf = (subject: Subject) => number | null;

/**
 * The ids of sets of attributes. Always looked up: a transaction that adds some may be rolled back, so ids that it saw must
 * not outlive it.
 */
async function valueSets(
  trx: Db,
  diffs: readonly (SandboxDiff | ServerDiff)[],
  atMs: number,
): Promise<SetOf> {
  const subjects = diffs.flatMap(({ before, after }) =>
    [before, after].filter((each) => each !== null),
  );
  const keys = new Set(subjects.map(setKey));
  const ids = new Map<string, number>();
  for (const some of batches(keys, setsAtOnce)) {
    const texts = some.map((key) => {
      const [name = "", benchmark = "", tags = ""]: string[] = JSON.parse(key);
      return { name, benchmark, tags, used_at_ms: atMs };
    });
    const values = texts.map(({ name, benchmark, tags }) => sql`(${name}, ${benchmark}, ${tags})`);
    const select = () =>
      trx
        .selectFrom("value_sets")
        .selectAll()
        .where(sql<boolean>`(name, benchmark, tags) in (values ${sql.join(values)})`)
        .execute();
    let rows = await select();
    if (rows.length < some.length) {
      await trx
        .insertInto("value_sets")
        .values(texts)
        .onConflict((conflict) => conflict.doNothing())
        .execute();
      rows = await select();
    }
    const renewed = rows.filter((row) => row.used_at_ms < atMs - dayMs).map(({ id }) => id);
    if (renewed.length > 0) {
      const renew = trx.updateTable("value_sets").set({ used_at_ms: atMs });
      await renew.where("id", "in", renewed).execute();
    }
    for (const { id, name, benchmark, tags } of rows) {
      ids.set(JSON.stringify([name, benchmark, tags]), id);
    }
  }
  return (subject) => ids.get(setKey(subject)) ?? null;
}

const setsAtOnce = 200;
/** So seldom is it written that a set is in use. */
const dayMs = 24 * 60 * 60_000;

type ChangeRow = readonly (string | number | null)[];

function changeColumns(diff: SandboxDiff | ServerDiff, setOf: SetOf): ChangeRow {
  const { kind, before, after, dwellMs } = diff;
  const isObservation = kind === "missing" || kind === "seen" || kind === "updated";
  const set = setOf(after ?? before);
  const previous = before && setOf(before);
  return [
    statusBefore(diff),
    statusAfter(diff),
    dwellMs,
    isObservation ? kind : null,
    Number(before !== null && before.missing > 0),
    set,
    previous === set ? null : previous,
  ];
}

async function insert(
  trx: Db,
  insertRows: typeof insertServerChanges,
  rows: Iterable<ChangeRow>,
): Promise<void> {
  for await (const some of paced(batches(rows, rowsPerInsert))) await insertRows(trx, some);
}

const insertSandboxChanges = prepareRows(
  (db, rows: readonly ChangeRow[]) => {
    const values = rows.map(
      ([seq, targetId, atMs, sandboxId, ...change]) => sql`(${seq}, ${targetId}, ${atMs}, (
        select id from sandboxes where target_id = ${targetId} and sandbox_id = ${sandboxId}
      ), ${sql.join(change)})`,
    );
    return insertInto(db, "sandbox", values);
  },
  ([seq, targetId, atMs, ...rest]) => [seq, targetId, atMs, targetId, ...rest],
);

const insertServerChanges = prepareRows(
  (db, rows: readonly ChangeRow[]) => {
    const values = rows.map(
      ([
        seq,
        targetId,
        atMs,
        sandboxId,
        serverId,
        ...change
      ]) => sql`(${seq}, ${targetId}, ${atMs}, (
        select id from servers
        where target_id = ${targetId} and sandbox_id = ${sandboxId} and server_id = ${serverId}
      ), ${sql.join(change)})`,
    );
    return insertInto(db, "server", values);
  },
  ([seq, targetId, atMs, ...rest]) => [seq, targetId, atMs, targetId, ...rest],
);

function insertInto(db: Db, subject: ChangeSubject, values: readonly RawBuilder<unknown>[]) {
  const statement = sql`
    insert into changes
      (seq, target_id, at_ms, ${sql.ref(subject)}, from_status, to_status, dwell_ms, observation,
       was_missing, value_set, previous_set)
    values ${sql.join(values)}
  `;
  return { compile: () => statement.compile(db) };
}
