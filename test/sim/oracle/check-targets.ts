import type { History } from "../history.ts";
import type { Scenario, ScenarioRule } from "../scenario.ts";
import { retryAfterMs } from "./check-polling.ts";
import { longestTurnMs, turnsWithin } from "./due-polls.ts";
import { isRefusal } from "./read-answer.ts";
import { tellsEnd } from "./routes.ts";
import { isAt, polledWithin } from "./seen.ts";
import type { Seen } from "./seen.ts";
import type { ToldIncident } from "./told.ts";
import { violation } from "./violation.ts";
import type { Violation } from "./violation.ts";
import { timesOf } from "./wall-clocks.ts";

type TargetRule = Extract<ScenarioRule, { on: "target" }>;

interface Stretch {
  readonly fromMs: number;
  readonly toMs: number;
}

interface Placed {
  readonly startMs: number;
  /** When it was over; Infinity: it still goes on. */
  readonly endMs: number;
}

/** That a target's blindness is told when it is due, ends when it is seen again, and is no invention. */
export function checkTarget(
  scenario: Scenario,
  history: History,
  { target, seen }: { readonly target: string; readonly seen: readonly Seen[] },
  rule: TargetRule,
  told: readonly ToldIncident[],
): readonly Violation[] {
  const found: Violation[] = [];
  const placed = told.flatMap((incident): readonly Placed[] => {
    const tellsResolved = tellsEnd(scenario, history, rule, incident.id);
    const tries = timesOf(history, incident.startedUtcMs)
      .filter((ms) => ms <= incident.heardMs)
      .filter((ms) => mayHaveFired(scenario, history, { target, seen }, rule, ms))
      .map((startMs) => place(seen, incident, startMs, tellsResolved));
    // A stepped wall clock shows some times twice.
    const possible = tries.filter(({ fault }) => fault === null);
    if (possible.length > 0) return possible;
    const fault = tries.at(-1)?.fault ?? "fired though the target was not blind for so long";
    const { id } = incident;
    found.push(violation(`${rule.name} ${target}: ${id} ${fault}`, id, target));
    return tries;
  });
  for (const stretch of blindStretches(history, seen)) {
    const least = countFailed(scenario, history, target, stretch, "least");
    const isDue = "polls" in rule.hold ? least.polls >= rule.hold.polls : least.ms >= rule.hold.ms;
    if (!isDue) continue;
    if (placed.some(({ startMs, endMs }) => startMs <= stretch.toMs && endMs >= stretch.toMs))
      continue;
    const text = `${rule.name} ${target}: nobody was told of the blindness from ${stretch.fromMs} to ${stretch.toMs} ms`;
    found.push(violation(text, target));
  }
  return found;
}

function place(
  seen: readonly Seen[],
  { resolved }: ToldIncident,
  startMs: number,
  tellsResolved: boolean,
): Placed & { readonly fault: string | null } {
  const first = seen.find(({ certain, fromMs }) => certain && fromMs > startMs);
  const latestMs = first?.fromMs ?? Infinity;
  const wentOn = "went on after the target was seen";
  if (!tellsResolved) return { startMs, endMs: latestMs, fault: null };
  if (!resolved) return { startMs, endMs: Infinity, fault: first ? wentOn : null };
  const end = seen.find((each) => each.toMs > startMs && isAt(each, resolved.utcMs));
  if (!end) return { startMs, endMs: latestMs, fault: "was resolved when it was not seen" };
  return { startMs, endMs: end.fromMs, fault: end.fromMs > latestMs ? wentOn : null };
}

/** From each sighting to the next. */
function blindStretches({ endMs }: History, seen: readonly Seen[]): readonly Stretch[] {
  return [...seen, null].map((each, at) => ({
    fromMs: seen[at - 1]?.toMs ?? 0,
    toMs: each?.fromMs ?? endMs,
  }));
}

function mayHaveFired(
  scenario: Scenario,
  history: History,
  { target, seen }: { readonly target: string; readonly seen: readonly Seen[] },
  { hold }: TargetRule,
  startMs: number,
): boolean {
  const before = seen.findLast(({ certain, toMs }) => certain && toMs <= startMs);
  const after = seen.find(({ certain, fromMs }) => certain && fromMs > startMs);
  const answered = new Set(seen.map(({ sighting }) => sighting.request));
  const failed = history.requests.some(
    (request, index) =>
      request.target === target &&
      request.atMs <= startMs &&
      // Polls that have to wait too long, as an answer to a probe asked for it, fail as well.
      request.atMs + retryAfterMs(request) >= (before?.fromMs ?? 0) &&
      (request.path === "/local-sandbox" ? !answered.has(index) : retryAfterMs(request) > 0),
  );
  if (!failed) return false;
  const stretch = { fromMs: startMs, toMs: after?.fromMs ?? history.endMs };
  const most = countFailed(scenario, history, target, stretch, "most");
  return "polls" in hold ? most.polls >= hold.polls : most.ms >= hold.ms;
}

/** How many polls failed in a time without a sighting, and what passed between them. */
function countFailed(
  scenario: Scenario,
  history: History,
  target: string,
  { fromMs, toMs }: Stretch,
  bound: "least" | "most",
): { readonly polls: number; readonly ms: number } {
  let polls = 0;
  let ms = 0;
  for (const life of history.lives) {
    const polled = polledWithin(life, fromMs, toMs);
    if (!polled) continue;
    const lengthMs = polled.toMs - polled.fromMs;
    const turns = turnsWithin(scenario, history, polled.fromMs, polled.toMs);
    if (bound === "most") {
      polls += turns.most + 2;
      ms += lengthMs;
    } else {
      const lost = faultsOf(history, life.number);
      const usual = turns.least - 2;
      const refused = refusalsWithin(history, target, life.number, polled);
      // Polls that are not sent, as the key is refused, do not count.
      polls += Math.max(0, (refused === 0 ? usual : Math.min(usual, refused - 1)) - lost);
      ms += Math.max(0, lengthMs - (3 + 2 * lost) * longestTurnMs(scenario));
    }
  }
  return { polls, ms };
}

function refusalsWithin(
  { requests }: History,
  target: string,
  life: number,
  { fromMs, toMs }: Stretch,
): number {
  return requests.filter(
    (request) =>
      isRefusal(request) &&
      request.path === "/local-sandbox" &&
      request.life === life &&
      request.target === target &&
      request.atMs >= fromMs &&
      request.atMs <= toMs,
  ).length;
}

/** How many polls can have come to nothing for the store's sake. */
function faultsOf({ storeFaults }: History, life: number): number {
  let faults = 0;
  for (const hit of storeFaults.values()) if (hit === life) faults += 1;
  return faults;
}
