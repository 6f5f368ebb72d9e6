import type { Verdict } from "../core/judge.ts";
import type { IncidentOutcome } from "../core/incident-ledger.ts";
import type { IncidentStep } from "../core/incident-phase.ts";
import { poolText, serverText } from "../core/incident.ts";
import type { Incident } from "../core/incident.ts";
import { targetName } from "../core/model.ts";
import type { Target } from "../core/model.ts";
import { subjectName } from "../core/probe.ts";
import { writeLines, writePaced } from "../platform/logger.ts";
import type { Logger, LogLine } from "../platform/logger.ts";
import { logChanges } from "./change-log.ts";
import { createListingLog } from "./listing-log.ts";
import type { PollingObserver } from "./polling.ts";
import { longestBackOffMs } from "./refusal-watch.ts";

const levelOfStep = {
  opened: "info",
  dropped: "info",
  fired: "warn",
  muted: "info",
  reminded: "warn",
  flapping: "warn",
  settled: "warn",
  resolved: "info",
} as const satisfies Record<IncidentStep, "info" | "warn">;

/** One line for each change, each step of an incident, and each loss or return of sight. */
export function createPollingLog(log: Logger): PollingObserver {
  const lastDetail = new Map<string, string>();
  const lostTurns = new Map<string, number>();
  return {
    polled(target, failure) {
      if (failure) lastDetail.set(targetName(target), failure.detail);
    },
    listed: createListingLog(log),
    async committed({ target }, verdict) {
      const name = targetName(target);
      const lost = lostTurns.get(name);
      lostTurns.delete(name);
      if (lost !== undefined) {
        log.info(
          { event: "poll.recovered", ...target, lost_polls: lost },
          `polls of ${name} are kept again; ${lost} came to nothing`,
        );
      }
      logSight(log, target, verdict, lastDetail.get(name) ?? null);
      lastDetail.delete(name);
      const { diff, incidents } = verdict;
      if (diff.changes.length > 0) await logChanges(log, target, verdict);
      if (incidents.steps.length > 0) await writePaced(log, incidentLines(target, incidents));
      if (verdict.pools) logIncidents(log, null, verdict.pools.incidents);
    },
    refused(target, retryMs) {
      log.warn(
        { event: "target.refused", ...target, retry_seconds: Math.round(retryMs / 1_000) },
        `the service refuses the key of ${targetName(target)}: check it; asking again at the next poll, then less and less often, at least every ${longestBackOffMs / 60_000} minutes`,
      );
    },
    turnFailed(target, error) {
      const name = targetName(target);
      lastDetail.delete(name);
      const lost = lostTurns.get(name) ?? 0;
      lostTurns.set(name, lost + 1);
      if (lost > 0) return;
      log.error(
        { event: "poll.failed", ...target, err: error },
        `a poll of ${name} came to nothing, and this is not said again until one is kept`,
      );
    },
  };
}

/**
 * One line for each step of an incident.
 *
 * @param target whose they are; null: those of pools, probes or receivers
 */
export function logIncidents(log: Logger, target: Target | null, outcome: IncidentOutcome): void {
  writeLines(log, incidentLines(target, outcome));
}

function* incidentLines(target: Target | null, { steps }: IncidentOutcome): Iterator<LogLine> {
  for (const { step, incident } of steps) {
    const about = [target === null ? "" : targetName(target), subjectText(incident)];
    yield {
      level: levelOfStep[step],
      fields: { event: `incident.${step}`, ...target, ...describe(incident) },
      msg: `${incident.rule} ${step}: ${about.filter((text) => text !== "").join(" ")}`,
    };
  }
}

function logSight(
  log: Logger,
  target: Target,
  { sight, progress }: Verdict,
  detail: string | null,
): void {
  if (sight === "lost") {
    log.warn(
      { event: "target.lost", ...target, reason: progress.lastFailure, detail },
      `${targetName(target)} cannot be seen: ${detail ?? progress.lastFailure}`,
    );
  } else if (sight === "returned") {
    log.info({ event: "target.returned", ...target }, `${targetName(target)} can be seen again`);
  }
}

function describe(incident: Incident): Record<string, string | null> {
  const { phase } = incident;
  return {
    incident_id: incident.id,
    rule: incident.rule,
    severity: incident.severity,
    ...describeSubject(incident),
    ...(phase.name === "resolved" && { reason: phase.reason }),
  };
}

function describeSubject({ subject, status }: Incident): Record<string, string | null> {
  switch (subject.kind) {
    case "target":
      return {};
    case "server":
      return {
        sandbox_id: subject.sandboxId,
        server_id: subject.serverId,
        server_name: subject.serverName,
        status,
      };
    case "pool":
      return { region: subject.region, key: subject.key, server_name: subject.serverName };
    case "probe":
      return { probe: subject.probe, region: subject.region, key: subject.key };
    case "receiver":
      return { receiver: subject.receiver };
  }
}

function subjectText({ subject, status }: Incident): string {
  switch (subject.kind) {
    case "target":
      return "";
    case "server":
      return `${serverText(subject)} ${status ?? ""}`.trimEnd();
    case "pool":
      return poolText(subject);
    case "probe":
      return `probe ${subjectName(subject)}`;
    case "receiver":
      return subject.receiver;
  }
}

export function logLateTick(log: Pick<Logger, "warn">): () => void {
  return () =>
    log.warn({ event: "clock.late" }, "a schedule fell silent; watching goes on without it");
}
