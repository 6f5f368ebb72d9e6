import { conditionOfStatus } from "../core/condition.ts";
import { counted } from "../core/counted.ts";
import { serverText } from "../core/incident.ts";
import type { Verdict } from "../core/judge.ts";
import { targetName } from "../core/model.ts";
import type { Target } from "../core/model.ts";
import { statusAfter, statusBefore } from "../fleet/diff.ts";
import type { ServerDiff } from "../fleet/diff.ts";
import { statuses } from "../fleet/status.ts";
import { writeLines, writePaced } from "../platform/logger.ts";
import type { Logger, LogLine } from "../platform/logger.ts";

/** Writes one line for each change. A first listing is one line with counts; its single lines are for debugging. */
export async function logChanges(log: Logger, target: Target, verdict: Verdict): Promise<void> {
  const isFirst = verdict.progress.observed.polls === 1;
  const level = isFirst ? "debug" : "info";
  const { changes } = verdict.diff;
  if (isFirst) writeLines(log, [firstListingLine(target, verdict)].values());
  if (!log.isLevelEnabled(level)) return;
  await writePaced(
    log,
    Iterator.from(changes).map((change) => changeLine(level, target, change)),
  );
}

function firstListingLine(target: Target, { snapshot, diff }: Verdict): LogLine {
  const { region, key } = target;
  const counts = snapshot.tallies.servers;
  const present = statuses.filter((status) => counts[status] > 0);
  const inWords = present.map((status) => `${counts[status]} ${conditionOfStatus(status)}`);
  const servers = diff.changes.length;
  return {
    level: "info",
    fields: { event: "target.first_listing", region, key, servers, ...counts },
    msg: `${targetName(target)} lists ${counted(servers, "server")}: ${inWords.join(", ")}`,
  };
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
