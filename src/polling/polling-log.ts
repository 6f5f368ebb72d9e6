import { setImmediate } from "node:timers/promises";
import type { Verdict } from "../core/judge.ts";
import type { IncidentOutcome } from "../core/incident-ledger.ts";
import type { IncidentStep } from "../core/incident-phase.ts";
import { poolText, serverText } from "../core/incident.ts";
import type { Incident } from "../core/incident.ts";
import { presences, targetName } from "../core/model.ts";
import type { Target } from "../core/model.ts";
import { subjectName } from "../core/probe.ts";
import { changeIn } from "../core/snapshot/changes.ts";
import type { Change, Changes } from "../core/snapshot/changes.ts";
import { changeWords, sandboxIdAt } from "../core/snapshot/packed-changes.ts";
import type { PackedChanges } from "../core/snapshot/packed-changes.ts";
import { streamOf, writeLines } from "../platform/logger.ts";
import type { Logger, LogLine } from "../platform/logger.ts";
import { linesPress, StampedLines } from "../platform/stamped-lines.ts";
import type { LineStamp, RecordLayout } from "../platform/stamped-lines.ts";
import { PressPool } from "../platform/stamping/press-pool.ts";
import type { PollingObserver } from "./polling.ts";

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

const linesAtOnce = 250;
const stampedAtOnce = 512;
const recordLayout: RecordLayout = { sandbox: sandboxIdAt, words: changeWords };
/** Of fewer changes too few are alike. */
const fewestStamped = 4_000;
/** With more the names tell servers apart, and no two lines are alike. */
const mostNames = 500;
const maxLinesOfFirstListing = 1_000;

/** One line for each change, each step of an incident, and each loss or return of sight. */
export function createPollingLog(log: Logger): PollingObserver {
  const lastDetail = new Map<string, string>();
  const lostTurns = new Map<string, number>();
  const presses = new PressPool(linesPress);
  return {
    polled(target, failure) {
      if (failure) lastDetail.set(targetName(target), failure.detail);
    },
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
      const { changes, incidents } = verdict;
      if (changes.length > 0 && log.isLevelEnabled("info")) {
        await logChanges(log, target, verdict, presses);
      }
      if (incidents.steps.length > 0) await writePaced(log, incidentLines(target, incidents));
      if (verdict.pools) logIncidents(log, null, verdict.pools.incidents);
    },
    refused(target, retryMs) {
      log.warn(
        { event: "target.refused", ...target, retry_seconds: retryMs / 1_000 },
        `the service refuses the key of ${targetName(target)}: check it; asking again every ${retryMs / 60_000} minutes`,
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

async function logChanges(
  log: Logger,
  target: Target,
  verdict: Verdict,
  presses: PressPool,
): Promise<void> {
  const { changes } = verdict;
  const stream = streamOf(log);
  if (stream && changes.length >= fewestStamped && !isFirstListing(verdict)) {
    const press = presses.take();
    await stampChanges(new StampedLines(stream, press, recordLayout), target, changes);
    presses.giveBack(press);
  } else await writePaced(log, changeLines(target, verdict));
}

/** Of very many changes nearly all lines are alike but for ids: each such line is made once. */
async function stampChanges(lines: StampedLines, target: Target, changes: Changes): Promise<void> {
  const stamps = new ChangeStamps(lines, target);
  let left = changes.length;
  for (const piece of changes.pieces()) {
    // Behind them come lapses.
    const count = Math.min(left, piece.length);
    left -= count;
    for (let first = 0; first < count; first += stampedAtOnce) {
      lines.begin();
      stamps.put(piece, first, Math.min(count, first + stampedAtOnce));
      lines.write();
      if (first + stampedAtOnce < count || left > 0) await setImmediate();
    }
    changes.leave(piece);
    if (left === 0) return;
  }
}

/** By `from` and `to`; null where there is none. */
type StampsOfName = (LineStamp | null | undefined)[];

/** The stamps of changes' lines, each made once for all that are alike, as far as there are not too many. */
class ChangeStamps {
  private readonly lines: StampedLines;
  private readonly target: Target;
  private readonly byName = new Map<string | null, StampsOfName>();

  constructor(lines: StampedLines, target: Target) {
    this.lines = lines;
    this.target = target;
  }

  /** Puts the lines of some changes of a piece. */
  put(piece: PackedChanges, first: number, end: number): void {
    const { lines, target } = this;
    const ofNames: (StampsOfName | null | undefined)[] = [];
    for (let change = first; change < end; change++) {
      const ofName = (ofNames[piece.nameNumber(change)] ??= this.ofName(piece.serverName(change)));
      const stamp = ofName && piece.hasUuids(change) ? this.stampOf(ofName, piece, change) : null;
      if (stamp) lines.putStamped(stamp, piece.words, change * changeWords);
      else lines.put(changeLine(target, changeIn(piece, change)));
    }
  }

  private stampOf(ofName: StampsOfName, piece: PackedChanges, change: number): LineStamp | null {
    const transition = piece.fromNumber(change) * presences.length + piece.toNumber(change);
    const known = ofName[transition];
    if (known !== undefined) return known;
    const told = changeIn(piece, change);
    const stamp = this.lines.layOut((ids) => changeLine(this.target, { ...told, ...ids }));
    return (ofName[transition] = stamp);
  }

  private ofName(serverName: string | null): StampsOfName | null {
    const ofName = this.byName.get(serverName) ?? (this.byName.size < mostNames ? [] : null);
    if (ofName) this.byName.set(serverName, ofName);
    return ofName;
  }
}

/** A few at a time: there may be very many. */
async function writePaced(log: Logger, lines: Iterator<LogLine>): Promise<void> {
  while (writeLines(log, lines, linesAtOnce)) await setImmediate();
}

/**
 * One line for each change. What a first listing shows did not change under watch, and past a number
 * of lines the rest of it is counted in one.
 */
function* changeLines(target: Target, verdict: Verdict): Iterator<LogLine> {
  const { changes } = verdict;
  let lines = 0;
  for (const change of changes) {
    if (lines === maxLinesOfFirstListing && isFirstListing(verdict)) {
      const { region, key } = target;
      yield {
        level: "info",
        fields: { event: "target.first_listing", region, key, servers: changes.length },
        msg: `${targetName(target)} lists ${changes.length} servers; the others are not logged one by one`,
      };
      return;
    }
    lines++;
    yield changeLine(target, change);
  }
}

function isFirstListing({ progress }: Verdict): boolean {
  return progress.observed.polls === 1;
}

function changeLine(
  target: Target,
  { sandboxId, serverId, serverName, from, to }: Omit<Change, "stayMs">,
): LogLine {
  const { region, key } = target;
  return {
    level: "info",
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
