import { flapKey } from "../alerts/flap-record.ts";
import type { IncidentOutcome } from "../alerts/incident-engine.ts";
import { isQuiet, type Verdict } from "../alerts/judge.ts";
import type { PoolOutcome } from "../alerts/judge-pools.ts";
import type { QuietClocks } from "./quiet-clocks.ts";
import { writeChanges } from "./write-changes.ts";
import { writeGaps } from "./gaps.ts";
import { incidentRows, writeIncidents } from "./incidents.ts";
import { countByStatus } from "../fleet/tallies.ts";
import type { SharedCommits } from "./shared-commits.ts";
import { writeSnapshot } from "./snapshots.ts";
import { writeClocks, writePoolClocks, writeTargets, type PolledTarget } from "./target-rows.ts";
import { progressToRow } from "./targets.ts";

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
