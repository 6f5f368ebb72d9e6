import type { Insertable, Kysely, Transaction } from "kysely";
import type { IncidentOutcome } from "../core/incident-ledger.ts";
import type { Verdict } from "../core/judge.ts";
import type { PoolOutcome } from "../core/pool-watch.ts";
import { changesPerPiece } from "../core/snapshot/changes.ts";
import type { Changes } from "../core/snapshot/changes.ts";
import type { PackedChanges } from "../core/snapshot/packed-changes.ts";
import { createBucketWriter, noneOpen } from "./bucket-rows.ts";
import { changesToRow } from "./change-rows.ts";
import { writeFlaps } from "./flap-rows.ts";
import { createGapWriter } from "./gaps.ts";
import { nextRevision } from "./incident-place.ts";
import { incidentToRow } from "./incident-rows.ts";
import { joinPolls, onePoll } from "./join-polls.ts";
import type { JoinedPolls } from "./join-polls.ts";
import { insertOutboxItems } from "./outbox-items.ts";
import { batches, paced } from "../platform/paced.ts";
import { initialProgress } from "../core/target-state.ts";
import type { TargetProgress } from "../core/target-state.ts";
import { prepare, prepareRows } from "./prepared.ts";
import type { SharedCommits } from "./shared-commits.ts";
import type { SnapshotPages } from "./snapshot-pages.ts";
import { progressToRow } from "./target-rows.ts";
import type { OpenBucketColumns, OpenBucketTimes } from "./target-rows.ts";
import type { ChangesTable, IncidentsTable, Tables } from "./tables.ts";

/** Writes what a poll decided, all of it or nothing. */
export interface PollCommits {
  /**
   * A poll that changed nothing writes one row, and may wait a moment for others to be committed
   * with; one that changed something does not wait.
   */
  commitPoll(targetId: number, verdict: Verdict): Promise<void>;
  /** Many that followed one another, at once: for polls of which nobody waits for a single one. */
  importPolls(targetId: number, verdicts: readonly Verdict[]): Promise<void>;
  /**
   * What a changed configuration does to incidents, outside any poll.
   *
   * @param targetId whose they are; null: those of pools, probes or receivers
   */
  commitIncidents(targetId: number | null, incidents: IncidentOutcome): Promise<void>;
  /** No other poll is about to end: those that wait for others are committed now. */
  commitGathered(): void;
}

const incidentsAtOnce = 50;

export interface PollCommitsParts {
  readonly kysely: Kysely<Tables>;
  readonly pages: SnapshotPages;
  readonly commits: SharedCommits;
}

export function createPollCommits({ kysely, pages, commits }: PollCommitsParts): PollCommits {
  const writeProgress = prepareProgress(kysely);
  const buckets = createBucketWriter(kysely);
  const gaps = createGapWriter();
  const commit = (targetId: number, polls: JoinedPolls, isPatient: boolean): Promise<void> =>
    commits.add({
      owner: targetId,
      rows: rowsOf(polls),
      isPatient,
      async write(trx) {
        const { each, last, accounting } = polls;
        const gapsWritten = await gaps.write(trx, targetId, each);
        const booked = await buckets.write(trx, targetId, accounting);
        await writeProgress(trx, targetId, last.progress, booked.open);
        const written = polls.pages && (await pages.write(trx, targetId, polls.pages));
        await writeChanges(trx, targetId, each);
        await writeIncidents(trx, targetId, polls.incidents);
        for (const outcome of poolsOf(polls)) await writePools(trx, outcome);
        return () => {
          gapsWritten();
          booked.committed();
          written?.();
        };
      },
    });
  return {
    commitPoll(targetId, verdict) {
      const { changes, incidents, pools } = verdict;
      const isQuiet = isUneventful(incidents) && (!pools || isUneventful(pools.incidents));
      return commit(targetId, onePoll(verdict), changes.length === 0 && isQuiet);
    },
    async importPolls(targetId, verdicts) {
      const polls = joinPolls(verdicts);
      try {
        if (polls) await commit(targetId, polls, false);
      } finally {
        for (const { changes } of verdicts) changes.forgetPieces();
      }
    },
    commitIncidents: (targetId, incidents) =>
      commits.add({
        owner: targetId,
        rows: incidentRows(incidents),
        isPatient: false,
        async write(trx) {
          await writeIncidents(trx, targetId, incidents);
          return null;
        },
      }),
    commitGathered: () => commits.release(),
  };
}

function rowsOf(polls: JoinedPolls): number {
  const { each, pages, incidents, accounting } = polls;
  const pageRows = pages ? pages.replaced.length + pages.removed.length : 0;
  const ofIncidents = [incidents, ...poolsOf(polls).map((outcome) => outcome.incidents)];
  const changeRows = each.map(({ changes }) =>
    Math.ceil((changes.length + changes.lapseCount) / changesPerPiece),
  );
  // The open bucket that every poll writes is in the same row as its progress.
  const bucketRows = Math.max(1, accounting.written.length);
  const rows = [...ofIncidents.map(incidentRows), ...changeRows];
  return rows.reduce((sum, more) => sum + more, bucketRows + pageRows);
}

function poolsOf({ each }: JoinedPolls): readonly PoolOutcome[] {
  return each.flatMap(({ pools }) => pools ?? []);
}

/** About how many rows an outcome writes. */
export function incidentRows({ written, dropped, flaps, outbox }: IncidentOutcome): number {
  return written.length + dropped.length + flaps.length + outbox.length;
}

function isUneventful(incidents: IncidentOutcome): boolean {
  return incidentRows(incidents) === 0;
}

/** Every poll writes this row. */
function prepareProgress(kysely: Kysely<Tables>) {
  const updating = (open: OpenBucketColumns | OpenBucketTimes) =>
    prepare(
      kysely
        .updateTable("targets")
        .set({ ...progressToRow(initialProgress), ...open })
        .where("id", "=", 0),
    );
  const update = updating(noneOpen);
  const updateTimes = updating({ open_booked_ms: null, open_unobserved_ms: null });
  return (
    trx: Kysely<Tables>,
    targetId: number,
    progress: TargetProgress,
    open: OpenBucketColumns | OpenBucketTimes,
  ): Promise<unknown> => {
    const columns = [...Object.values(progressToRow(progress)), ...Object.values(open), targetId];
    return "open_body" in open ? update(trx, columns) : updateTimes(trx, columns);
  };
}

const insertChanges = prepareRows((db, rows: readonly Insertable<ChangesTable>[]) =>
  db.insertInto("changes").values(rows),
);

async function writeChanges(
  trx: Transaction<Tables>,
  targetId: number,
  polls: readonly Verdict[],
): Promise<void> {
  // Those of one poll can be very many, and long: each row has a statement of its own.
  const rowsAtOnce = polls.length === 1 ? 1 : 100;
  if (polls.every(({ changes }) => changes.length + changes.lapseCount === 0)) return;
  for await (const some of paced(batches(eachPiece(polls), rowsAtOnce))) {
    await insertChanges(
      trx,
      some.map(({ atMs, piece }) => changesToRow(targetId, atMs, piece)),
    );
    for (const { changes, piece } of some) changes.leave(piece);
  }
}

interface PieceOfPoll {
  readonly atMs: number;
  readonly changes: Changes;
  readonly piece: PackedChanges;
}

function* eachPiece(polls: readonly Verdict[]): Iterable<PieceOfPoll> {
  for (const { at, changes } of polls) {
    for (const piece of changes.pieces()) yield { atMs: at.utcMs, changes, piece };
  }
}

async function writePools(
  trx: Transaction<Tables>,
  { incidents, clocks }: PoolOutcome,
): Promise<void> {
  for (const { rule, scope, ms } of clocks) {
    await trx
      .insertInto("pool_clocks")
      .values({ rule, scope, ms })
      .onConflict((conflict) => conflict.doUpdateSet({ ms }))
      .execute();
  }
  await writeIncidents(trx, null, incidents);
}

const upsertIncidents = prepareRows((db, rows: readonly Insertable<IncidentsTable>[]) =>
  db
    .insertInto("incidents")
    .values(rows)
    .onConflict((conflict) =>
      conflict.column("id").doUpdateSet((row) => ({
        severity: row.ref("excluded.severity"),
        receivers: row.ref("excluded.receivers"),
        status: row.ref("excluded.status"),
        previous_status: row.ref("excluded.previous_status"),
        phase: row.ref("excluded.phase"),
        held_since_ms: row.ref("excluded.held_since_ms"),
        held_since_polls: row.ref("excluded.held_since_polls"),
        clear_since_ms: row.ref("excluded.clear_since_ms"),
        told_at_clock_ms: row.ref("excluded.told_at_clock_ms"),
        flapping: row.ref("excluded.flapping"),
        fired_at_ms: row.ref("excluded.fired_at_ms"),
        resolved_at_ms: row.ref("excluded.resolved_at_ms"),
        resolved_reason: row.ref("excluded.resolved_reason"),
        revision: row.ref("excluded.revision"),
      })),
    ),
);

// The outbox rows must be written in the same transaction as the incidents that cause them:
// a crash between the two would either lose the alert or send it twice.
export async function writeIncidents(
  trx: Transaction<Tables>,
  targetId: number | null,
  incidents: IncidentOutcome,
): Promise<void> {
  if (isUneventful(incidents)) return;
  const { written, dropped, flaps, outbox } = incidents;
  const revision = written.length > 0 ? await nextRevision(trx) : 0;
  for await (const some of paced(batches(written, incidentsAtOnce))) {
    await upsertIncidents(
      trx,
      some.map((incident) => ({ ...incidentToRow(targetId, incident), revision })),
    );
  }
  for await (const some of paced(batches(dropped, incidentsAtOnce))) {
    const ids = some.map(({ id }) => id);
    await trx.deleteFrom("incidents").where("id", "in", ids).execute();
  }
  if (targetId !== null) await writeFlaps(trx, targetId, flaps);
  await insertOutboxItems(trx, outbox);
}
