import type { History } from "../history.ts";
import type { Hold, Scenario, ScenarioRule } from "../scenario.ts";
import { messagesOf } from "./check-deliveries.ts";
import { isAt } from "./seen.ts";
import type { Seen } from "./seen.ts";
import type { ToldIncident } from "./told.ts";
import { violation } from "./violation.ts";
import type { Violation } from "./violation.ts";

type ServerRule = Extract<ScenarioRule, { on: "server" }>;

/** What a sighting of a target says of one server. `missed`: nothing, and it could not have. */
type Look = "holds" | "clears" | "lacking" | "missed";

interface Case {
  readonly rule: ServerRule;
  readonly name: string;
  readonly seen: readonly Seen[];
  readonly looks: readonly Look[];
  readonly goneAfter: number;
}

/** An incident with the sightings that opened and ended it. */
interface Placed {
  readonly told: ToldIncident;
  readonly start: number;
  /** The first sighting after it; Infinity: it still goes on. */
  readonly end: number;
}

/** That a server's incidents are those that the sightings of it call for. */
export function checkServer(
  scenario: Scenario,
  history: History,
  subject: { readonly target: string; readonly server: string; readonly seen: readonly Seen[] },
  rule: ServerRule,
  told: readonly ToldIncident[],
): readonly Violation[] {
  const { target, server, seen } = subject;
  const looks = seen.map(({ sighting }): Look => {
    const status = sighting.shown.get(server);
    if (status === undefined) return sighting.complete ? "lacking" : "missed";
    return status === rule.status ? "holds" : "clears";
  });
  const { goneAfter } = scenario;
  const it: Case = { rule, name: `${rule.name} ${target} ${server}`, seen, looks, goneAfter };
  const tellsResolved = scenario.receivers.some(
    ({ name, sendResolved }) => sendResolved && rule.receivers.includes(name),
  );
  const found: Violation[] = [];
  const placed: Placed[] = [];
  for (const incident of told) {
    const from = placed.at(-1)?.end ?? 0;
    const starts = seen.flatMap((each, at) =>
      at >= from &&
      looks[at] === "holds" &&
      isAt(each, incident.startedUtcMs) &&
      each.fromMs <= incident.heardMs
        ? [at]
        : [],
    );
    const tries = starts.map((start) => place(it, incident, { start, from, tellsResolved }));
    // A stepped wall clock shows some times twice.
    const best = tries.find(({ faults }) => faults.length === 0) ?? tries.at(-1);
    if (best) placed.push({ told: incident, start: best.start, end: best.end });
    const never = `started when it was not seen to be ${rule.status}, or within another incident`;
    for (const fault of best?.faults ?? [never]) {
      const text = `${it.name}: ${incident.id} ${fault}`;
      found.push(violation(text, incident.id, `${target} ${server}`));
    }
  }
  return [...found, ...checkEpisodes(it, placed, history)];
}

/** Finds the end of an incident that began with that sighting, and what speaks against it. */
function place(
  it: Case,
  incident: ToldIncident,
  { start, from, tellsResolved }: { start: number; from: number; tellsResolved: boolean },
): { readonly start: number; readonly end: number; readonly faults: readonly string[] } {
  const faults: string[] = [];
  const latestEnd = mustEndAt(it, start);
  const end = tellsResolved ? endOf(it, incident, start) : latestEnd;
  if (end === null) {
    faults.push(`was resolved as ${incident.resolved?.reason} when nothing was seen to say so`);
    return { start, end: start + 1, faults };
  }
  if (end > latestEnd) faults.push("went on after its server was seen to be well, or gone");
  if (tellsResolved && !mayEndAt(it, end)) faults.push("was resolved too early");
  if (startsWithin(it, start, from)) faults.push("started in the middle of an episode");
  if (!mayHaveFired(it, start, end)) faults.push("fired though it had not lasted long enough");
  return { start, end: end + 1, faults };
}

function isSeenAt(seen: Seen | undefined, utcMs: number): boolean {
  return seen !== undefined && isAt(seen, utcMs);
}

/** The sighting at which an incident was resolved; null: there is none for what was told. */
function endOf({ seen, looks }: Case, { resolved }: ToldIncident, start: number): number | null {
  if (!resolved) return Infinity;
  const wanted = resolved.reason === "gone" ? "lacking" : "clears";
  const end = looks.findIndex(
    (look, at) => at > start && look === wanted && isSeenAt(seen[at], resolved.utcMs),
  );
  return end === -1 ? null : end;
}

/** The sighting at which an incident is over in any case; Infinity: there is none. */
function mustEndAt({ rule, seen, looks, goneAfter }: Case, start: number): number {
  let clearMs: number | null = null;
  let lacking = 0;
  for (let at = start + 1; at < looks.length; at++) {
    const each = seen[at];
    if (!each) break;
    switch (looks[at]) {
      case "holds":
        clearMs = null;
        lacking = 0;
        break;
      case "clears":
        lacking = 0;
        if (clearMs !== null) clearMs += each.leastMs;
        else if (each.certain) clearMs = 0;
        if (each.certain && clearMs !== null && clearMs >= rule.keepFiringMs) return at;
        break;
      case "lacking":
        if (each.certain) lacking += 1;
        if (each.certain && lacking >= goneAfter) return at;
        break;
      case "missed":
      case undefined:
    }
  }
  return Infinity;
}

/** Whether what was seen up to there allows it to be over. */
function mayEndAt({ rule, seen, looks, goneAfter }: Case, end: number): boolean {
  if (end === Infinity) return true;
  let clearMs = 0;
  let latestMs = 0;
  let lacking = 0;
  for (let at = end; at >= 0; at--) {
    const each = seen[at];
    if (!each) break;
    const look = looks[at];
    if (looks[end] === "lacking") {
      if (look === "lacking") lacking += 1;
      if (lacking >= goneAfter) return true;
      if ((look === "holds" || look === "clears") && each.certain) return false;
    } else if (look === "holds" && each.certain) {
      break;
    } else if (look === "clears") {
      // What passed before the first of them does not count.
      clearMs += latestMs;
      latestMs = each.mostMs;
    }
  }
  return looks[end] === "clears" && clearMs >= rule.keepFiringMs;
}

/** Whether the condition was already seen to hold before, with nothing in between. */
function startsWithin({ seen, looks, goneAfter }: Case, start: number, from: number): boolean {
  let lacking = 0;
  for (let at = start - 1; at >= from; at--) {
    if (looks[at] === "clears") return false;
    if (looks[at] === "lacking" && ++lacking >= goneAfter) return false;
    if (looks[at] === "holds" && seen[at]?.certain) return true;
  }
  return false;
}

function mayHaveFired(it: Case, start: number, end: number): boolean {
  const { rule, seen, looks, goneAfter } = it;
  let lacking = 0;
  const held = { ms: 0, polls: 1 };
  for (let at = start + 1; at <= Math.min(end, looks.length - 1); at++) {
    if (isLong(held, rule.hold)) return true;
    const each = seen[at];
    if (!each || (looks[at] === "clears" && each.certain)) break;
    if (looks[at] === "lacking" && each.certain && ++lacking >= goneAfter) break;
    if (looks[at] !== "holds") continue;
    lacking = 0;
    held.ms += each.mostMs;
    held.polls += 1;
  }
  return isLong(held, rule.hold);
}

function isLong(held: { readonly ms: number; readonly polls: number }, hold: Hold): boolean {
  return "ms" in hold ? held.ms >= hold.ms : held.polls >= hold.polls;
}

/** Every episode that was seen for long enough has its incident, and is reminded of. */
function checkEpisodes(
  it: Case,
  placed: readonly Placed[],
  { attempts }: History,
): readonly Violation[] {
  const { rule, seen, looks, goneAfter } = it;
  const found: Violation[] = [];
  let held: { ms: number; polls: number } | null = null;
  let fired: Placed | null = null;
  let firedMs = 0;
  let reminded = false;
  let lacking = 0;
  const end = (): void => {
    held = null;
    fired = null;
    reminded = false;
  };
  for (const [at, each] of seen.entries()) {
    const look = looks[at];
    if (look === "lacking") {
      lacking += 1;
      if (lacking >= goneAfter) end();
    } else if (look === "clears") {
      lacking = 0;
      end();
    }
    if (look !== "holds") continue;
    lacking = 0;
    if (held) {
      held.ms += each.leastMs;
      held.polls += each.certain ? 1 : 0;
    } else if (each.certain) held = { ms: 0, polls: 1 };
    if (!held || !each.certain || !isLong(held, rule.hold)) continue;
    if (!fired) {
      fired = placed.find(({ start, end: after }) => start <= at && after > at) ?? null;
      firedMs = held.ms;
      if (fired) continue;
      const text = `${it.name}: nobody was told, though it was seen long enough by ${each.fromMs} ms`;
      found.push(violation(text, it.name.slice(rule.name.length + 1)));
      end();
      continue;
    }
    if (rule.remindEveryMs === null || reminded) continue;
    if (held.ms - firedMs < rule.remindEveryMs) continue;
    reminded = true;
    const { id } = fired.told;
    for (const receiver of rule.receivers) {
      const own = attempts.filter((attempt) => attempt.receiver === receiver);
      if (messagesOf(own, id, "incident.reminder").size > 0) continue;
      found.push(violation(`${it.name}: ${receiver} was not reminded of ${id}`, id));
    }
  }
  return found;
}
