import { expect, it } from "vitest";
import { readOutlooks } from "../../src/reports/outlooks.ts";
import { poolAnswer } from "../../src/reports/outlook-text.ts";
import { openZone, toLocal, utc } from "../../src/reports/zone.ts";
import { research } from "../support/fleet.ts";
import { recordHistory } from "../support/recorded-history.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** A Monday. In Europe clocks are set back on 25 October. */
const startMs = Date.UTC(2026, 9, 5);
const servers = 10;

/** How many of ten servers are occupied at an hour of a week. */
type Course = (atMs: number, week: number) => number;

const berlin = openZone("Europe/Berlin") ?? utc;
const local = (atMs: number): Date => new Date(toLocal(berlin, atMs));
const isOfficeHour = (atMs: number): boolean =>
  local(atMs).getUTCDay() % 6 !== 0 &&
  local(atMs).getUTCHours() >= 9 &&
  local(atMs).getUTCHours() < 17;

const histories: readonly (readonly [string, number, Course, string])[] = [
  [
    "is the same in every week",
    6,
    () => 4,
    "git shows no sign of running out (6 of 10 servers free at the last weekly peak): its weekly peak has no trend over 6 weeks.",
  ],
  [
    "has busy days of the week",
    6,
    (atMs) => (new Date(atMs).getUTCDay() === 2 ? 8 : 2),
    "git shows no sign of running out (2 of 10 servers free at the last weekly peak): its weekly peak has no trend over 6 weeks.",
  ],
  [
    "follows office hours across daylight saving",
    6,
    (atMs) => (isOfficeHour(atMs) ? 7 : 1),
    "git shows no sign of running out (3 of 10 servers free at the last weekly peak): its weekly peak has no trend over 6 weeks.",
  ],
  [
    "grows in office hours across daylight saving",
    6,
    (atMs, week) => (isOfficeHour(atMs) ? 2 + week : 1),
    "git runs out around 3 December (3 of 10 servers free at the last weekly peak): its weekly peak rises by 10.0 percentage points a week.",
  ],
  [
    "grows only since a few weeks",
    7,
    (_, week) => Math.max(3, 3 + 2 * (week - 4)),
    "It is too early to say when git runs out (3 of 10 servers free at the last weekly peak): its weekly peak rose by 30.0 percentage points around 9 November, too recently to distinguish a step from growth.",
  ],
  [
    "has a night without an idle server",
    5,
    (atMs, week) => (week === 4 && new Date(atMs).getUTCHours() < 3 ? 10 : 4),
    "git already runs out: for 21h of the last week none of its 10 servers was idle.",
  ],
  [
    "is two weeks old",
    2,
    () => 4,
    "It is unknown when git runs out (6 of 10 servers free at the last weekly peak): 2 whole weeks were observed, and a trend needs 4.",
  ],
];

it.each(histories)(
  "of a recorded history that %s, the outlook says so",
  async (_, weeks, course, answer) => {
    const history = recordHistory();
    const target = history.add(research);
    const endMs = startMs + weeks * 7 * dayMs;
    for (let atMs = startMs; atMs <= endMs; atMs += hourMs) {
      const occupied = course(atMs, Math.floor((atMs - startMs) / (7 * dayMs)));
      target.poll(atMs, {
        kind: "all",
        servers: Array.from({ length: servers }, (_each, index) => ({
          id: `s${index}`,
          name: "git",
          status: index < occupied ? "occupied" : "idle",
        })),
      });
    }
    const asked = {
      of: "servers",
      range: { fromMs: endMs - 14 * dayMs, toMs: endMs },
      filter: {},
      nowMs: endMs,
      threshold: 0.9,
      pools: ["server_name"],
    } as const;
    const { pools } = await readOutlooks(asked, await history.occupancy.open(), history.labelsOf);
    expect(pools.map((pool) => poolAnswer(pool, "servers"))).toEqual([answer]);
  },
);
