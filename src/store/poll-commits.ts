import type { Kysely, Transaction } from "kysely";
import type { IncidentOutcome } from "../alerts/incident-engine.ts";
import type { Verdict } from "../alerts/judge.ts";
import type { PoolOutcome } from "../alerts/pool-watch.ts";
import { bucketToJson } from "./bucket-json.ts";
import { writeChanges } from "./change-rows.ts";
import { writeGap } from "./gaps.ts";
import { incidentRows, isUneventful, writeIncidents } from "./incident-rows.ts";
import { joinPolls, onePoll } from "./join-polls.ts";
import type { JoinedPolls } from "./join-polls.ts";
import { writeOccupancy } from "./occupancy-rows.ts";
import { prepareUpsert } from "./prepared.ts";
import type { SharedCommits } from "./shared-commits.ts";
import { writeSnapshot } from "./snapshot-rows.ts";
import { StoreError } from "./store-error.ts";
import { progressToRow } from "./target-rows.ts";
import type { Tables } from "./tables.ts";

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

/** The version of each target's row by its id, as this process read it with the target's state, or last committed it. */
export type TargetVersions = Map<number, number>;

export function createPollCommits(commits: SharedCommits, versions: TargetVersions): PollCommits {
  const commit = (targetId: number, polls: JoinedPolls, isPatient: boolean): Promise<void> =>
    commits.add({
      owner: targetId,
      rows: rowsOf(polls),
      isPatient,
      async write(trx) {
        const known = versions.get(targetId) ?? notRead;
        await writeProgress(trx, targetId, known, polls.last);
        for (const { gap } of polls.each) if (gap) await writeGap(trx, targetId, gap);
        await writeOccupancy(trx, targetId, polls.accounting);
        const diffs = polls.each.map(({ at, diff }) => ({ atMs: at.utcMs, diff }));
        await writeSnapshot(trx, targetId, diffs);
        await writeIncidents(trx, targetId, polls.incidents);
        for (const outcome of poolsOf(polls)) await writePools(trx, outcome);
        // Last, as the numbers that it takes hold up other writers until the commit.
        await writeChanges(trx, targetId, diffs);
        return () => versions.set(targetId, known + 1);
      },
    });
  return {
    commitPoll(targetId, verdict) {
      const { diff, incidents, pools } = verdict;
      const isQuiet = isUneventful(incidents) && (!pools || isUneventful(pools.incidents));
      return commit(targetId, onePoll(verdict), diff.changes.length === 0 && isQuiet);
    },
    async importPolls(targetId, verdicts) {
      const polls = joinPolls(verdicts);
      if (polls) await commit(targetId, polls, false);
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
  const { each, incidents, accounting } = polls;
  const outcomes = [incidents, ...poolsOf(polls).map((outcome) => outcome.incidents)];
  const ofDiffs = each.map(({ diff }) => diff.servers.length + diff.sandboxes.length);
  const ofBuckets = accounting.written.map(({ bucket }) => bucket.names.size);
  // The bucket that every poll changes is in the same row as its progress.
  const rows = [1, ...outcomes.map(incidentRows), ...ofDiffs, ...ofBuckets.slice(1)];
  return rows.reduce((sum, more) => sum + more, 0);
}

function poolsOf({ each }: JoinedPolls): readonly PoolOutcome[] {
  return each.flatMap(({ pools }) => pools ?? []);
}

/** No row has this version. */
const notRead = -1;

/** Every poll writes this row. Its version is the fence: of another writer's target nothing is written. */
async function writeProgress(
  trx: Kysely<Tables>,
  targetId: number,
  version: number,
  { progress, accounting }: Verdict,
): Promise<void> {
  const open = accounting.open["5m"];
  const { numUpdatedRows } = await trx
    .updateTable("targets")
    .set({
      ...progressToRow(progress),
      version: version + 1,
      open_bucket: open && bucketToJson(open),
    })
    .where("id", "=", targetId)
    .where("version", "=", version)
    .executeTakeFirst();
  if (numUpdatedRows !== 1n) {
    throw new StoreError(
      `Nothing of the poll was stored: another process has written target ${targetId} since this one read it. Stop the other one, and start this one again.`,
    );
  }
}

const upsertPoolClocks = prepareUpsert("pool_clocks", ["rule", "scope"]);

async function writePools(
  trx: Transaction<Tables>,
  { incidents, clocks }: PoolOutcome,
): Promise<void> {
  await upsertPoolClocks(
    trx,
    clocks.map(({ rule, scope, ms }) => ({ rule, scope, ms })),
  );
  await writeIncidents(trx, null, incidents);
}
