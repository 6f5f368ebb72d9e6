import type { DamageEffect, DamagedSubject, History } from "../history.ts";
import type { Scenario, ScenarioServerRule } from "../scenario.ts";
import { advance, noCourse, retire } from "./course.ts";
import type { Course, Look } from "./course.ts";
import type { Standing } from "./check-scrapes.ts";
import { damagesBetween } from "./damages.ts";
import { expect } from "./expected.ts";
import { silencedAt } from "./people.ts";
import type { Seen } from "./seen.ts";
import type { ToldIncident } from "./told.ts";
import { violation } from "./violation.ts";
import type { Violation } from "./violation.ts";

export interface ServerSubject {
  readonly target: string;
  /** Its sandbox and its own id. */
  readonly server: string;
  readonly seen: readonly Seen[];
}

/**
 * That what was told of a server is what the sightings of it call for. Where it cannot be known
 * whether a sighting counted, or what else was so at that moment, all that can have been is followed:
 * one of the courses has to lead to what was told.
 */
export function checkServer(
  scenario: Scenario,
  history: History,
  { target, server, seen }: ServerSubject,
  rule: ScenarioServerRule,
  told: readonly ToldIncident[],
  onStanding: (standing: Standing) => void,
): readonly Violation[] {
  const subject = { rule: rule.name, target, server };
  const expected = expect(scenario, history, { rule, seen, told });
  const stand = (courses: readonly Course[], atMs: number): readonly Violation[] => {
    if (courses.length > 0) return [];
    const ids = told.map(({ id }) => id);
    return expected
      .takeFaults()
      .map((fault) =>
        violation(
          `${rule.name} ${target} ${server}: ${fault} (seen at ${atMs} ms)`,
          `${target} ${server}`,
          ...ids,
        ),
      );
  };
  let courses: readonly Course[] = [noCourse];
  let present: ScenarioServerRule | null = rule;
  let life = 0;
  for (const [at, each] of seen.entries()) {
    expected.takeFaults();
    if (expected.isLate(each)) break;
    const { sighting, certain, fromMs } = each;
    const damages = damagesBetween(history, life, sighting.life);
    ({ life } = sighting);
    courses = courses.map((course) =>
      damages.reduce((after, damage) => afterDamage(after, damage, subject, scenario), course),
    );
    const next = ruleIn(scenario, history, rule.name, sighting.life);
    if (next !== present) courses = courses.flatMap((course) => retire(course, expected));
    present = next;
    const look = lookAt(each, server, next);
    const silenced = silencedAt(scenario, history, { rule: rule.name, target, server }, each);
    const after = courses.flatMap((course) => [
      ...advance(course, {
        at,
        seen: each,
        look,
        rule: next ?? rule,
        goneAfter: scenario.goneAfter,
        silenced,
        expected,
      }),
      ...(certain ? [] : [course]),
    ]);
    courses = distinct(after);
    const firing = courses.map(({ episode }) =>
      episode === null || episode.phase === "pending" ? 0 : 1,
    );
    if (firing.length > 0)
      onStanding({
        rule: rule.name,
        target,
        server,
        life: sighting.life,
        moment: sighting.moment,
        least: Math.min(...firing),
        most: Math.max(...firing),
      });
    const found = stand(courses, fromMs);
    if (found.length > 0) return found;
  }
  expected.takeFaults();
  return stand(
    courses.filter((course) => expected.isAll(course)),
    history.endMs,
  );
}

function lookAt({ sighting }: Seen, server: string, rule: ScenarioServerRule | null): Look {
  const status = sighting.shown.get(server)?.status;
  if (status === undefined) return sighting.complete ? "lacking" : "missed";
  if (status === rule?.status) return "holds";
  return status === "unknown" ? "unstated" : "clears";
}

/** What a process goes on with that could not read a row. */
function afterDamage(
  course: Course,
  effect: DamageEffect,
  { rule, target, server }: DamagedSubject,
  { goneAfter }: Scenario,
): Course {
  switch (effect.kind) {
    case "flaps":
      return isAbout(effect) ? { ...course, entries: [] } : course;
    case "incident":
      return isAbout(effect) ? { ...course, episode: null } : course;
    case "servers":
      // One that is not known is gone with the first complete listing that lacks it.
      return effect.target === target && effect.servers.includes(server)
        ? { ...course, lacking: goneAfter - 1 }
        : course;
    default:
      return course;
  }
  function isAbout(other: DamagedSubject): boolean {
    return other.rule === rule && other.target === target && other.server === server;
  }
}

/** The rule as a process had it; null: it had none of that name. */
function ruleIn(
  scenario: Scenario,
  { lives }: History,
  name: string,
  life: number,
): ScenarioServerRule | null {
  const rules = lives[life - 1]?.rules ?? scenario.rules;
  const found = rules.find((each) => each.name === name);
  return found?.on === "server" ? found : null;
}

/** Where more is possible than this, nothing can be said of what was told. */
export const mostFollowed = 1_000;

/** Each once. */
export function distinct<T>(courses: readonly T[]): readonly T[] {
  if (courses.length < 2) return courses;
  return [...new Map(courses.map((course) => [JSON.stringify(course), course])).values()];
}
