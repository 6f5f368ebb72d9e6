import type { AddedSilence } from "../history.ts";
import type { MaintenanceWindow } from "../scenario.ts";
import type { Evidence } from "./evidence.ts";
import type { Observation } from "./observations.ts";

interface SilenceSubject {
  readonly rule: string;
  readonly target: string;
  /** By sandbox and server id. */
  readonly server: string;
}

/** Whether an observation was silenced: both where both are possible. */
export function silencedAt(
  evidence: Evidence,
  subject: SilenceSubject,
  observation: Observation,
): readonly boolean[] {
  const answers = [
    ...evidence.scenario.maintenance
      .filter(({ rules }) => rules.includes(subject.rule))
      .map((window) => openAt(window, observation)),
    ...evidence.silences
      .filter((silence) => isAbout(silence, subject))
      .map((silence) => inForceAt(evidence, silence, observation)),
  ];
  if (answers.includes("yes")) return [true];
  return answers.includes("perhaps") ? [false, true] : [false];
}

type Answer = "yes" | "no" | "perhaps";

function openAt(window: MaintenanceWindow, { utcMs, fromMs, toMs }: Observation): Answer {
  const [first, last] = [isOpen(window, utcMs), isOpen(window, utcMs + toMs - fromMs)];
  if (first && last) return "yes";
  return first || last ? "perhaps" : "no";
}

const minuteMs = 60_000;

/** By the clocks of its zone. */
function isOpen({ start, timeZone, durationMs }: MaintenanceWindow, utcMs: number): boolean {
  const options = { timeZone, hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;
  const format = new Intl.DateTimeFormat("en-GB", options);
  const latestMs = Math.floor(utcMs / minuteMs) * minuteMs;
  for (let atMs = latestMs; atMs > utcMs - durationMs; atMs -= minuteMs) {
    // Zones differ by whole half hours.
    if (new Date(atMs).getUTCMinutes() % 30 !== start.minute % 30) continue;
    const [hour = "", minute = ""] = format.format(atMs).split(":");
    if (Number(minute) === start.minute && Number(hour) % start.everyHours === 0) return true;
  }
  return false;
}

function isAbout({ match }: AddedSilence, { rule, target, server }: SilenceSubject): boolean {
  const [box, id] = server.split(" ");
  return (
    match.rules.includes(rule) &&
    (match.target === null || match.target === target) &&
    (match.sandbox === null || match.sandbox === box) &&
    (match.server === null || match.server === id)
  );
}

function inForceAt(
  evidence: Evidence,
  { added, endsUtcMs, expired }: AddedSilence,
  { moment, utcMs, fromMs, toMs }: Observation,
): Answer {
  const latestUtcMs = utcMs + toMs - fromMs;
  if (added.moment >= moment || latestUtcMs < added.utcMs) return "no";
  const isExpired = expired !== null && expired.moment < moment;
  const endMs = isExpired ? Math.min(endsUtcMs, expired.utcMs) : endsUtcMs;
  if (utcMs >= (isExpired && !expired.sure ? endsUtcMs : endMs)) return "no";
  // A wall clock that is set back does not certainly continue a silence that was over.
  const wasOver = latestShownMs(evidence, added.atMs, fromMs) >= endMs;
  const isSure = added.sure && utcMs >= added.utcMs && latestUtcMs < endMs && !wasOver;
  return isSure ? "yes" : "perhaps";
}

/** The latest UTC time that the wall clock showed between two times. */
function latestShownMs({ wallClocks }: Evidence, fromMs: number, toMs: number): number {
  return wallClocks.reduce((latest, { fromMs: sinceMs, offsetMs }, at) => {
    const untilMs = Math.min(wallClocks[at + 1]?.fromMs ?? Infinity, toMs);
    return untilMs >= Math.max(sinceMs, fromMs) ? Math.max(latest, untilMs + offsetMs) : latest;
  }, -Infinity);
}

/** Whether an incident was acknowledged before an observation: both where both are possible. */
export function acknowledgedAt(
  evidence: Evidence,
  incidentId: string,
  { moment, utcMs, fromMs, toMs }: Observation,
): readonly boolean[] {
  const before = evidence.acknowledgements.filter(
    (each) =>
      each.incidentId === incidentId &&
      each.moment < moment &&
      (each.endsUtcMs ?? Infinity) > utcMs,
  );
  if (before.length === 0) return [false];
  const isSure = before.some(({ sure, endsUtcMs, atMs }) => {
    const endsMs = endsUtcMs ?? Infinity;
    // A wall clock that is set back does not certainly continue one that was over.
    return sure && utcMs + toMs - fromMs < endsMs && latestShownMs(evidence, atMs, fromMs) < endsMs;
  });
  return isSure ? [true] : [false, true];
}
