import { sql, type RawBuilder } from "kysely";
import { statusAfter, statusBefore, type SandboxDiff, type ServerDiff } from "../fleet/diff.ts";
import { batches, paced } from "../lib/iterables.ts";
import type { ChangeSubject } from "./changes.ts";
import type { PollDiff } from "./snapshots.ts";
import { prepareRows, rowsPerInsert, takeSequence } from "./sql-helpers.ts";
import type { Db } from "./tables.ts";

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
  const ofPolls = polls.map(({ at, diff }) => ({
    atMs: at.utcMs,
    sandboxes: [...diff.sandboxChanges, ...diff.sandboxInterruptions],
    servers: [...diff.changes, ...diff.interruptions],
  }));
  const count = ofPolls.reduce((sum, each) => sum + each.sandboxes.length + each.servers.length, 0);
  if (count === 0) return;
  const last = await takeSequence(trx, count);
  let seq = last - count;
  for (const { atMs, sandboxes, servers } of ofPolls) {
    const ofSandboxes = sandboxes
      .values()
      .map((each) => [++seq, atMs, targetId, each.sandboxId, ...changeColumns(each)]);
    await insert(trx, insertSandboxChanges, ofSandboxes);
    const ofServers = servers.values().map((each) => {
      const serverId = (each.after ?? each.before)?.id ?? "";
      return [++seq, atMs, targetId, each.sandboxId, serverId, ...changeColumns(each)];
    });
    await insert(trx, insertServerChanges, ofServers);
  }
}

type ChangeRow = readonly (string | number | null)[];

function changeColumns(diff: SandboxDiff | ServerDiff): ChangeRow {
  const { kind, dwellMs } = diff;
  const observation = kind === "missing" || kind === "seen" ? kind : null;
  return [statusBefore(diff), statusAfter(diff), dwellMs, observation];
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
      ([seq, atMs, targetId, sandboxId, ...change]) => sql`(${seq}, ${atMs}, (
        select id from sandboxes where target_id = ${targetId} and sandbox_id = ${sandboxId}
      ), ${sql.join(change)})`,
    );
    return insertInto(db, "sandbox", values);
  },
  (row) => row,
);

const insertServerChanges = prepareRows(
  (db, rows: readonly ChangeRow[]) => {
    const values = rows.map(
      ([seq, atMs, targetId, sandboxId, serverId, ...change]) => sql`(${seq}, ${atMs}, (
        select id from servers
        where target_id = ${targetId} and sandbox_id = ${sandboxId} and server_id = ${serverId}
      ), ${sql.join(change)})`,
    );
    return insertInto(db, "server", values);
  },
  (row) => row,
);

function insertInto(db: Db, subject: ChangeSubject, values: readonly RawBuilder<unknown>[]) {
  const statement = sql`
    insert into changes
      (seq, at_ms, ${sql.ref(subject)}, from_status, to_status, dwell_ms, observation)
    values ${sql.join(values)}
  `;
  return { compile: () => statement.compile(db) };
}
