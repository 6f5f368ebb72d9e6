import { conditionOfStatus } from "../alerts/incident.ts";
import { counted } from "../fleet/counted.ts";
import { serverText } from "../alerts/incident.ts";
import type { Verdict } from "../alerts/judge.ts";
import { targetName } from "../fleet/model.ts";
import type { Target } from "../fleet/model.ts";
import { statusAfter, statusBefore } from "../fleet/diff.ts";
import type { ServerDiff } from "../fleet/diff.ts";
import { statuses } from "../fleet/status.ts";
import { writePaced } from "../lib/logger.ts";
import type { Logger, LogLine } from "../lib/logger.ts";
import { logIncidents } from "./incident-log.ts";
import { longestBackOffMs } from "./refusal.ts";

/** What the log says of a committed poll beside its verdict. */
export interface PollContext {
  /** Why it failed, for a person; null: there is nothing to say. */
  readonly detail: string | null;
  /** How many polls in a row before it were not stored. */
  readonly lostPolls: number;
}

/** One line for each change, each step of an incident, and each time a target goes down or comes up. */
export async function logPoll(
  log: Logger,
  target: Target,
  verdict: Verdict,
  { detail, lostPolls }: PollContext,
): Promise<void> {
  const name = targetName(target);
  const { diff, incidents, pools, progress, reachability } = verdict;
  if (lostPolls > 0) {
    log.info(
      { event: "poll.recovered", ...target, lost_polls: lostPolls },
      `polls of ${name} are stored again; ${lostPolls} were lost`,
    );
  }
  if (reachability === "lost") {
    log.warn(
      { event: "target.lost", ...target, reason: progress.lastFailure, detail },
      `polls of ${name} fail: ${detail ?? progress.lastFailure}`,
    );
  } else if (reachability === "returned") {
    log.info({ event: "target.returned", ...target }, `polls of ${name} succeed again`);
  }
  if (diff.changes.length > 0) await logChanges(log, target, verdict);
  await logIncidents(log, target, incidents);
  if (pools) await logIncidents(log, null, pools.incidents);
}

/** A poll was not stored. Logged once until one is. */
export function logLostPoll(log: Logger, target: Target, lostPolls: number, err: unknown): void {
  if (lostPolls > 1) return;
  log.error(
    { event: "poll.failed", ...target, err },
    `a poll of ${targetName(target)} was lost; this is logged again only after one was stored`,
  );
}

export function logRefusal(log: Logger, target: Target, retryMs: number): void {
  log.warn(
    { event: "target.refused", ...target, retry_seconds: Math.round(retryMs / 1_000) },
    `the service refuses the key of ${targetName(target)}: check it; it is tried again at the next poll, then less and less often, at least every ${longestBackOffMs / 60_000} minutes`,
  );
}

/** Changes of a first listing are one line with counts; a line for each is for debugging. */
async function logChanges(log: Logger, target: Target, verdict: Verdict): Promise<void> {
  const isFirst = verdict.progress.observed.polls === 1;
  const level = isFirst ? "debug" : "info";
  if (isFirst) logFirstListing(log, target, verdict);
  if (!log.isLevelEnabled(level)) return;
  await writePaced(
    log,
    Iterator.from(verdict.diff.changes).map((change) => changeLine(level, target, change)),
  );
}

function logFirstListing(log: Logger, target: Target, { snapshot, diff }: Verdict): void {
  const counts = snapshot.tallies.servers;
  const present = statuses.filter((status) => counts[status] > 0);
  const inWords = present.map((status) => `${counts[status]} ${conditionOfStatus(status)}`);
  const servers = diff.changes.length;
  log.info(
    { event: "target.first_listing", ...target, servers, ...counts },
    `${targetName(target)} lists ${counted(servers, "server")}: ${inWords.join(", ")}`,
  );
}

function changeLine(level: LogLine["level"], target: Target, change: ServerDiff): LogLine {
  const { region, key } = target;
  const { sandboxId, before, after } = change;
  const serverId = (after ?? before)?.id ?? "";
  const serverName = (after ?? before)?.name ?? null;
  const from = statusBefore(change);
  const to = statusAfter(change);
  return {
    level,
    fields: {
      event: "server.changed",
      region,
      key,
      sandbox_id: sandboxId,
      server_id: serverId,
      server_name: serverName,
      from,
      to,
    },
    msg: `${targetName(target)} ${serverText({ serverId, serverName })}: ${from} -> ${to}`,
  };
}
