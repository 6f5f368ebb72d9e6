import type { History } from "../history.ts";
import { longestWaitMs } from "../scenario.ts";
import type { Scenario, ScenarioServerRule } from "../scenario.ts";
import type { Course } from "./course.ts";
import { messagesOf } from "./check-deliveries.ts";
import { hasStages, tellsEnd } from "./routes.ts";
import { isAt } from "./seen.ts";
import type { Seen } from "./seen.ts";
import type { ToldIncident } from "./told.ts";
import { acknowledgedAt } from "./people.ts";

/** What of a rule says when it is notified. */
export type FollowedRule = Omit<ScenarioServerRule, "on" | "status">;

export type EndReason = "recovered" | "gone" | "silenced";

/** Compares what a server should have been told of with what was told, and notes what differs. */
export interface Expected {
  /** Whether the next incident that was told is one that began and fired at these sightings. */
  fires(told: number, start: number, at: number): boolean;
  /** Whether the last one was told to be over at this sighting, and was told again as it should. */
  ends(course: Course, reason: EndReason, at: number): boolean;
  endsWithItsRule(course: Course): boolean;
  /** Whether nothing is wrong about what still goes on, and nothing more was told. */
  isAll(course: Course): boolean;
  acknowledged(told: number, seen: Seen): readonly boolean[];
  /** Too late for that what is told of it has come to everybody. */
  isLate(seen: Seen): boolean;
  /** What differed since it was last asked. */
  takeFaults(): readonly string[];
}

export function expect(
  scenario: Scenario,
  history: History,
  {
    rule,
    seen,
    told,
  }: {
    readonly rule: FollowedRule;
    readonly seen: readonly Seen[];
    readonly told: readonly ToldIncident[];
  },
): Expected {
  let faults = new Set<string>();
  const refuse = (fault: string): false => {
    faults.add(fault);
    return false;
  };
  const lateMs = history.endMs - 1.5 * longestWaitMs;
  const lateUtcMs = seen.find(({ fromMs }) => fromMs > lateMs)?.sighting.utcMs ?? Infinity;

  // One that came later or was away meanwhile misses some; at PagerDuty one cannot tell how many there were.
  const remindable = scenario.receivers.flatMap(({ name, type }) =>
    type === "webhook" && (hasStages(scenario) || rule.receivers.includes(name)) ? [name] : [],
  );

  const isSeenAt = (at: number, utcMs: number): boolean => {
    const each = seen[at];
    return each !== undefined && isAt(each, utcMs);
  };
  const timeOf = (at: number): string => `${seen[at]?.fromMs} ms`;

  const isReminded = ({ told: count, reminders }: Course, most = reminders): boolean => {
    const incident = told[count - 1];
    if (!incident) return true;
    return remindable.every((receiver) => {
      const own = history.attempts.filter((attempt) => attempt.receiver === receiver);
      const times = messagesOf(own, incident.id, "incident.reminder").size;
      if (times <= most && (times > 0 || reminders === 0 || hasStages(scenario))) return true;
      return refuse(`${receiver} was reminded of ${incident.id} ${times} times, not ${reminders}`);
    });
  };

  const isOver = (course: Course, reason: string, isThen: (utcMs: number) => boolean): boolean => {
    if (!isReminded(course)) return false;
    const incident = told[course.told - 1];
    if (!incident || !tellsEnd(scenario, history, rule, incident.id)) return true;
    const { id, resolved } = incident;
    if (!resolved) return refuse(`${id} went on, though it was over (${reason})`);
    return (
      (resolved.reason === reason && isThen(resolved.utcMs)) ||
      refuse(`${id} was told to be over (${resolved.reason}), but not then for that (${reason})`)
    );
  };

  return {
    fires(count, start, at) {
      const incident = told[count];
      if (!incident) {
        return refuse(`nobody was told, though it was seen long enough from ${timeOf(start)}`);
      }
      const { id, startedUtcMs, heardMs } = incident;
      if (!isSeenAt(start, startedUtcMs)) {
        return refuse(`${id} did not start at ${timeOf(start)}, or something else was not told`);
      }
      return heardMs >= (seen[at]?.fromMs ?? 0) || refuse(`${id} was told too early`);
    },
    ends: (course, reason, at) => isOver(course, reason, (utcMs) => isSeenAt(at, utcMs)),
    endsWithItsRule: (course) => isOver(course, "rule_removed", () => true),
    isAll(course) {
      const more = told[course.told];
      if (more && more.heardMs <= lateMs)
        return refuse(`${more.id} was told for nothing that was seen`);
      if (course.episode?.phase !== "told") return true;
      const last = told.at(-1);
      if (last?.resolved && last.resolved.utcMs < lateUtcMs)
        return refuse(`${last.id} was told to be over when it was not`);
      return isReminded(course, Infinity);
    },
    acknowledged(count, each) {
      const { id = "" } = told[count - 1] ?? {};
      return acknowledgedAt(history, id, each);
    },
    isLate: ({ fromMs }) => fromMs > lateMs,
    takeFaults() {
      const taken = [...faults];
      faults = new Set();
      return taken;
    },
  };
}
