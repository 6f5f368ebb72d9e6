import type { AddedSilence, History } from "../history.ts";
import type { MaintenanceWindow, Scenario } from "../scenario.ts";
import type { Seen } from "./seen.ts";
import { isOpen } from "./windows.ts";

/** What a silence can be about. */
export interface SilenceSubject {
  readonly rule: string;
  readonly target: string;
  readonly server: string;
}

/** Whether a silence kept a sighting from being told: both where both can be. */
export function silencedAt(
  scenario: Scenario,
  history: History,
  subject: SilenceSubject,
  seen: Seen,
): readonly boolean[] {
  const open = scenario.maintenance
    .filter(({ rules }) => rules.includes(subject.rule))
    .map((window) => openAt(window, seen));
  if (open.some(([isSure]) => isSure)) return [true];
  let isPossible = open.some(([, mayBe]) => mayBe);
  for (const silence of history.silences) {
    if (!isAbout(silence, subject)) continue;
    if (isUnread(history, silence, seen)) continue;
    const inForce = inForceAt(history, silence, seen);
    if (inForce === "yes") return [true];
    if (inForce === "perhaps") isPossible = true;
  }
  return isPossible ? [false, true] : [false];
}

/** Whether the process that saw it could not read the silence. */
function isUnread({ damages }: History, { id }: AddedSilence, { sighting }: Seen): boolean {
  return damages.some(
    ({ life, effect }) => effect.kind === "silence" && effect.id === id && life <= sighting.life,
  );
}

/** Whether a window certainly was open, and whether it can have been. */
function openAt(window: MaintenanceWindow, { sighting, fromMs, toMs }: Seen): readonly boolean[] {
  const first = isOpen(window, sighting.utcMs);
  const last = isOpen(window, sighting.utcMs + toMs - fromMs);
  return [first && last, first || last];
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
  history: History,
  { asked, endsUtcMs, expired }: AddedSilence,
  { sighting, fromMs, toMs }: Seen,
): "yes" | "no" | "perhaps" {
  const { moment, utcMs } = sighting;
  const latestUtc = utcMs + toMs - fromMs;
  if (asked.moment >= moment || latestUtc < asked.utcMs) return "no";
  const isExpired = expired !== null && expired.moment < moment;
  const endMs = isExpired ? Math.min(endsUtcMs, expired.utcMs) : endsUtcMs;
  if (utcMs >= (isExpired && !expired.sure ? endsUtcMs : endMs)) return "no";
  // A wall clock that is stepped back does not bring back for certain what was over.
  const wasOver = latestUtcMs(history, asked.atMs, fromMs) >= endMs;
  const isSure = asked.sure && utcMs >= asked.utcMs && latestUtc < endMs && !wasOver;
  return isSure ? "yes" : "perhaps";
}

/** The latest that any wall clock showed between two times, a stepped one included. */
function latestUtcMs({ wallClocks }: History, fromMs: number, toMs: number): number {
  return wallClocks.reduce((latest, { fromMs: sinceMs, offsetMs }, at) => {
    const untilMs = Math.min(wallClocks[at + 1]?.fromMs ?? Infinity, toMs);
    return untilMs >= Math.max(sinceMs, fromMs) ? Math.max(latest, untilMs + offsetMs) : latest;
  }, -Infinity);
}

/** Whether somebody had acknowledged an incident at a sighting: both where both can be. */
export function acknowledgedAt(
  { acknowledgements }: History,
  incidentId: string,
  { sighting }: Seen,
): readonly boolean[] {
  const before = acknowledgements.filter(
    (each) => each.incidentId === incidentId && each.moment < sighting.moment,
  );
  if (before.length === 0) return [false];
  return before.some(({ sure }) => sure) ? [true] : [false, true];
}
