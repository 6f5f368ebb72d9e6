import type { EndReason, Expected, FollowedRule } from "./expected.ts";
import type { Seen } from "./seen.ts";
import { noTime, plus, reach } from "./span.ts";
import type { Span } from "./span.ts";

/**
 * What a sighting of a target says of one server. `unstated`: its status is unknown, which is no recovery;
 * `missed`: nothing, and it could not have.
 */
export type Look = "holds" | "clears" | "unstated" | "lacking" | "missed";

/** For as long as a condition holds, and until it is over for long enough. */
interface Episode {
  /** The sighting that began it. */
  readonly start: number;
  readonly phase: "pending" | "muted" | "told";
  readonly held: Span;
  readonly polls: number;
  /** Since the condition was seen to be over; null: it holds. */
  readonly clear: Span | null;
  /** Since it was last told. */
  readonly quiet: Span;
  readonly flapping: boolean;
}

/** Where a server may stand under a rule, after what was seen so far. */
export interface Course {
  readonly episode: Episode | null;
  /** Complete listings in a row without it. */
  readonly lacking: number;
  /** How long ago it came into the condition, as far as that counts. */
  readonly entries: readonly Span[];
  /** How many of the incidents that were told are accounted for. */
  readonly told: number;
  /** How often the last of them was to be told again. */
  readonly reminders: number;
}

export const noCourse: Course = {
  episode: null,
  lacking: 0,
  entries: [],
  told: 0,
  reminders: 0,
};

/** All that a sighting says, where it counted. */
export interface Step {
  readonly at: number;
  readonly seen: Seen;
  readonly look: Look;
  /** False: it is none of the polls or runs that a rule counts. */
  readonly isCounted?: boolean;
  readonly rule: FollowedRule;
  readonly goneAfter: number;
  /** Whether a silence was in force: both where both can be. */
  readonly silenced: readonly boolean[];
  readonly expected: Expected;
}

type Courses = readonly Course[];

/** Where it may stand after a sighting that counted; nowhere: what was told cannot be. */
export function advance(course: Course, step: Step): Courses {
  switch (step.look) {
    case "holds":
      return onHolds({ ...course, lacking: 0 }, step);
    case "clears":
      return onClears({ ...course, lacking: 0 }, step);
    case "lacking": {
      const lacking = course.lacking + 1;
      if (lacking < step.goneAfter) return [unseen({ ...course, lacking }, step)];
      const gone = { ...course, lacking, entries: [] };
      return over(gone, step, "gone");
    }
    case "unstated":
      return [unseen({ ...course, lacking: 0 }, step)];
    case "missed":
      return [unseen(course, step)];
  }
}

/** What is not seen does not age; what came and went before does, while it is not in the condition. */
function unseen(course: Course, { seen }: Step): Course {
  if (course.episode) return course;
  return { ...course, entries: course.entries.map((entry) => plus(entry, seen)) };
}

function onHolds(before: Course, step: Step): Courses {
  const { seen, rule, at, isCounted = true } = step;
  const { episode } = before;
  const enters = episode === null || episode.clear !== null;
  const current: Episode = episode
    ? {
        ...episode,
        held: episode.phase === "pending" ? plus(episode.held, seen) : noTime,
        polls: episode.phase === "pending" ? episode.polls + (isCounted ? 1 : 0) : 0,
        quiet: plus(episode.quiet, seen),
        clear: null,
      }
    : begin(at);
  return age(before, step, enters).flatMap((aged): Courses => {
    const course = { ...aged, episode: current };
    const often = rule.flap !== null && aged.entries.length > rule.flap.changes;
    const flapping = current.flapping ? aged.entries.length > 0 : often;
    switch (current.phase) {
      case "pending":
        return hold(current, rule).flatMap(({ reached, span }) =>
          reached || often
            ? fire(course, { ...current, flapping: often }, step)
            : [{ ...course, episode: { ...current, held: span } }],
        );
      case "muted":
        return fire(course, { ...current, flapping }, step);
      case "told":
        return goOn(course, { ...current, flapping }, step);
    }
  });
}

function begin(start: number): Episode {
  return {
    start,
    phase: "pending",
    held: noTime,
    polls: 1,
    clear: null,
    quiet: noTime,
    flapping: false,
  };
}

function hold({ held, polls }: Episode, { hold: limit }: FollowedRule) {
  return "ms" in limit ? reach(held, limit.ms) : [{ reached: polls >= limit.polls, span: held }];
}

/** It is told, unless it is silenced. */
function fire(course: Course, episode: Episode, { silenced, at, expected }: Step): Courses {
  const fired = { ...episode, held: noTime, polls: 0, quiet: noTime };
  return silenced.flatMap((isSilenced): Courses => {
    if (isSilenced) return [{ ...course, episode: { ...fired, phase: "muted" } }];
    if (!expected.fires(course.told, fired.start, at)) return [];
    const told = course.told + 1;
    const next: Episode = { ...fired, phase: "told" };
    return [{ ...course, told, reminders: 0, episode: next }];
  });
}

/** It was told and goes on: it is taken back, told again, or neither. */
function goOn(course: Course, episode: Episode, step: Step): Courses {
  const { silenced, rule, seen, expected } = step;
  const remindEveryMs = rule.remindEveryMs ?? Infinity;
  const turned = course.episode !== null && course.episode.flapping !== episode.flapping;
  const again = {
    ...course,
    reminders: course.reminders + 1,
    episode: { ...episode, quiet: noTime },
  };
  return silenced.flatMap((isSilenced): Courses => {
    if (isSilenced) {
      if (!expected.ends(course, "silenced", step.at)) return [];
      const muted: Episode = { ...episode, phase: "muted", quiet: noTime };
      // Taken back before it was looked at whether it still flaps.
      return [{ ...course, episode: { ...muted, flapping: course.episode?.flapping ?? false } }];
    }
    return expected.acknowledged(course.told, seen).flatMap((isAcknowledged): Courses => {
      if (isAcknowledged) return [{ ...course, episode }];
      if (turned) return [again];
      if (episode.flapping) return [{ ...course, episode }];
      return reach(episode.quiet, remindEveryMs).map(({ reached, span: quiet }) =>
        reached ? again : { ...course, episode: { ...episode, quiet } },
      );
    });
  });
}

function onClears(before: Course, step: Step): Courses {
  const { seen, rule } = step;
  return age(before, step, false).flatMap((course): Courses => {
    const { episode } = course;
    if (!episode || episode.phase === "pending") return [{ ...course, episode: null }];
    const settling = episode.flapping && course.entries.length > 0;
    const clear = episode.clear === null ? noTime : plus(episode.clear, seen);
    const quiet = plus(episode.quiet, seen);
    return reach(clear, rule.keepFiringMs).flatMap(({ reached, span }) =>
      reached && !settling
        ? over(course, step, "recovered")
        : [{ ...course, episode: { ...episode, clear: span, quiet } }],
    );
  });
}

function over(course: Course, { expected, at }: Step, reason: EndReason): Courses {
  const { episode } = course;
  if (episode?.phase === "told" && !expected.ends(course, reason, at)) return [];
  return [{ ...course, episode: null }];
}

/** Nothing of it goes on under another rule. */
export function retire(course: Course, expected: Expected): Courses {
  const { episode } = course;
  if (episode?.phase === "told" && !expected.endsWithItsRule(course)) return [];
  return [{ ...course, episode: null, entries: [] }];
}

/** What lies too far back does not count as coming and going any more. */
function age(course: Course, { seen, rule: { flap } }: Step, enters: boolean): Courses {
  if (flap === null) return [course];
  const kept = course.entries.reduce<readonly (readonly Span[])[]>(
    (variants, entry) =>
      variants.flatMap((variant) =>
        reach(plus(entry, seen), flap.withinMs).map(({ reached, span }) =>
          reached ? variant : [...variant, span],
        ),
      ),
    [[]],
  );
  return kept.map((entries) => ({
    ...course,
    entries: (enters ? [...entries, noTime] : entries).slice(-flap.changes - 1),
  }));
}
