import { flapKey } from "../alerts/flap-record.ts";
import type { IncidentOutcome } from "../alerts/incident-engine.ts";
import type { Verdict } from "../alerts/judge.ts";
import type { PoolOutcome } from "../alerts/judge-pools.ts";
import { writeChanges } from "./write-changes.ts";
import { writeGaps } from "./gaps.ts";
import { incidentRows, writeIncidents } from "./incidents.ts";
import { countByStatus } from "../fleet/tallies.ts";
import { prepareUpsert } from "./sql-helpers.ts";
import type { SharedCommits } from "./shared-commits.ts";
import { writeSnapshot } from "./snapshots.ts";
import { writeTargets, type PolledTarget } from "./target-rows.ts";
import { progressToRow } from "./targets.ts";
import type { Db } from "./tables.ts";

/** Consecutive polls of a target, to be written together. Rows that several of them write are written once. */
interface JoinedPolls {
  /** From the first to the last, for what each of them adds. */
  readonly each: readonly Verdict[];
  readonly last: Verdict;
  readonly incidents: IncidentOutcome;
}

/** Writes the results of polls, completely or not at all. */
export function createPollCommits(commits: SharedCommits) {
  const commit = (targetId: number, polls: JoinedPolls, canWait: boolean): Promise<void> => {
    const { each, incidents } = polls;
    const pools = each.flatMap((verdict) => verdict.pools ?? []);
    return commits.add({
      owner: targetId,
      rows: rowsOf(polls),
      canWait,
      async write(trx, together) {
        together(writeTargets, [rowOf(targetId, polls.last)]);
        await writeGaps(trx, targetId, each);
        writeSnapshot(together, targetId, each);
      },
      async writeNumbered(trx) {
        await writeIncidents(trx, targetId, incidents);
        for (const ofPoll of pools) await writePools(trx, ofPoll);
        await writeChanges(trx, targetId, each);
      },
    });
  };
  return {
    /**
     * A poll that changed nothing writes one row, and may wait a moment for others to be committed
     * with; one that changed something does not wait.
     */
    commitPoll(targetId: number, verdict: Verdict): Promise<void> {
      const { incidents, pools, diff } = verdict;
      const eventRows = incidentRows(incidents) + (pools ? incidentRows(pools.incidents) : 0);
      const changes = diff.changes.length + diff.sandboxChanges.length;
      const canWait = changes === 0 && eventRows === 0;
      return commit(targetId, { each: [verdict], last: verdict, incidents }, canWait);
    },
    /** Many that followed one another, at once. */
    async importPolls(targetId: number, verdicts: readonly Verdict[]): Promise<void> {
      const last = verdicts.at(-1);
      if (!last) return;
      const incidents = joinIncidents(verdicts);
      await commit(targetId, { each: verdicts, last, incidents }, false);
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
        canWait: false,
        writeNumbered: (trx) => writeIncidents(trx, targetId, incidents),
      }),
    /** No other poll is about to end: those that wait for others are committed now. */
    commitGathered: (): void => commits.commitWaiting(),
  };
}

function rowsOf({ each, incidents }: JoinedPolls): number {
  const ofPolls = each.map(
    ({ diff, pools }) =>
      diff.servers.length + diff.sandboxes.length + (pools ? incidentRows(pools.incidents) : 0),
  );
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

const upsertPoolClocks = prepareUpsert("pool_clocks", ["rule", "region", "key"]);

async function writePools(trx: Db, { clocks, incidents }: PoolOutcome): Promise<void> {
  await upsertPoolClocks(
    trx,
    clocks.map(({ rule, region, key, ms }) => {
      return { rule, region: region ?? "", key: key ?? "", ms };
    }),
  );
  await writeIncidents(trx, null, incidents);
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
