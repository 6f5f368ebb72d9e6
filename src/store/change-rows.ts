import { sql } from "kysely";
import { statusAfter, statusBefore } from "../fleet/diff.ts";
import type { Diff, SandboxDiff, ServerDiff } from "../fleet/diff.ts";
import { batches, paced } from "../lib/iterables.ts";
import { recordedAtMs, type PollDiff } from "./snapshots.ts";
import { noteDeleted } from "./rollups.ts";
import { deleteSome, findOrAdd, prepareRows, rowsPerInsert } from "./sql-helpers.ts";
import { storableText, takeSequence } from "./sql-helpers.ts";
import type { Db } from "./tables.ts";

export const subjectTables = { server: "servers", sandbox: "sandboxes" } as const;

/** The position of a change among all that are stored. As text it is for others to hand back, and for nothing else. */
export interface ChangeCursor {
  readonly atMs: number;
  /** The order in which changes were stored, whatever the clock said. */
  readonly seq: number;
}

export function cursorText({ atMs, seq }: ChangeCursor): string {
  return `${atMs}_${seq}`;
}

const cursorPattern = /^(-?\d{1,15})_(\d{1,15})$/;

export function isChangeCursor(text: string): boolean {
  return cursorPattern.test(text);
}

/** @throws {RangeError} when it is not a cursor */
export function readCursor(text: string): ChangeCursor {
  const [, atMs, seq] = cursorPattern.exec(text) ?? [];
  if (atMs === undefined || seq === undefined) {
    throw new RangeError("a cursor of changes must be one that they gave");
  }
  return { atMs: Number(atMs), seq: Number(seq) };
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
    const rowOf = (diff: SandboxDiff | ServerDiff, ids: readonly string[]): ChangeRow => {
      return [++seq, targetId, atMs, ...ids, ...changeColumns(diff, setOf)];
    };
    const ofSandboxes = sandboxes.values().map((each) => rowOf(each, [each.sandboxId]));
    const ofServers = servers.values().map((each) => {
      return rowOf(each, [each.sandboxId, (each.after ?? each.before)?.id ?? ""]);
    });
    // In this order: their numbers are taken as they are read.
    for (const [insert, rows] of [
      [insertSandboxChanges, ofSandboxes],
      [insertServerChanges, ofServers],
    ] as const) {
      for await (const some of paced(batches(rows, rowsPerInsert))) await insert(trx, some);
    }
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

/** The ids of sets of attributes. */
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
    const isOne = sql<boolean>`(name, benchmark, tags) in (values ${sql.join(values)})`;
    const found = trx.selectFrom("value_sets").selectAll().where(isOne);
    const added = trx.insertInto("value_sets").values(texts);
    const rows = await findOrAdd(
      some.length,
      () => found.execute(),
      () => added.onConflict((conflict) => conflict.doNothing()).execute(),
    );
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

/** @param ids the columns that identify a row of the table within its target */
function prepareChanges(subject: "sandbox" | "server", ids: readonly string[]) {
  const isOne = ids.map((column) => sql` and ${sql.ref(column)} = `);
  return prepareRows(
    (db, rows: readonly ChangeRow[]) => {
      const values = rows.map((row) => {
        const [seq, targetId, atMs] = row;
        const own = isOne.map((is, at) => sql`${is}${row[3 + at]}`);
        return sql`(${seq}, ${targetId}, ${atMs}, (
          select id from ${sql.table(subjectTables[subject])}
          where target_id = ${targetId}${sql.join(own, sql``)}
        ), ${sql.join(row.slice(3 + ids.length))})`;
      });
      const statement = sql`
        insert into changes
          (seq, target_id, at_ms, ${sql.ref(subject)}, from_status, to_status, dwell_ms, observation,
           was_missing, value_set, previous_set)
        values ${sql.join(values)}
      `;
      return { compile: () => statement.compile(db) };
    },
    ([seq, targetId, atMs, ...rest]) => [seq, targetId, atMs, targetId, ...rest],
  );
}

const insertSandboxChanges = prepareChanges("sandbox", ["sandbox_id"]);
const insertServerChanges = prepareChanges("server", ["sandbox_id", "server_id"]);

/**
 * Deletes those that are rolled up. Also deletes sandboxes and servers that are gone and to which no change refers any more,
 * and attributes that no change names any more.
 *
 * @returns whether there may be more
 */
export async function pruneChanges(kysely: Db, beforeMs: number): Promise<boolean> {
  await noteDeleted(kysely, "changes", beforeMs);
  const isOld = sql`at_ms < ${beforeMs}
    and at_ms < (select rolled_up_to_ms from targets where id = changes.target_id) order by at_ms`;
  const pruneUnused = (subject: "sandbox" | "server") => {
    const [table, own] = [subjectTables[subject], sql.ref(`changes.${subject}`)];
    const isUnused = sql`gone_at_ms < ${beforeMs}
      and not exists (select 1 from changes where ${own} = ${sql.ref(`${table}.id`)})
      order by gone_at_ms`;
    return deleteSome(kysely, table, ["id"], isUnused);
  };
  const isUnnamed = sql`used_at_ms < ${beforeMs - dayMs}
    and not exists (select 1 from changes where at_ms < ${beforeMs}) order by used_at_ms`;
  return (
    (await deleteSome(kysely, "changes", ["seq"], isOld)) ||
    (await pruneUnused("server")) ||
    (await pruneUnused("sandbox")) ||
    deleteSome(kysely, "value_sets", ["id"], isUnnamed)
  );
}
