import { describe, expect, it } from "vitest";
import { poolAnswer, poolNotes } from "../../src/reports/outlook-text.ts";
import { noUsage, outlook, startMs, type History } from "./support/weekly-history.ts";

const hourMs = 3_600_000;
const minute = 60_000;
const textsOf = (history: History): readonly string[] => {
  const of = outlook(history);
  return [poolAnswer({ name: "git", outlook: of }, "servers"), ...poolNotes(of, 0.9, "servers")];
};

const histories: readonly (readonly [string, History, readonly string[]])[] = [
  [
    "flat",
    { peaks: [12, 13, 12, 12, 13, 12, 12, 13] },
    [
      "git shows no sign of running out (7 of 20 servers free at the last weekly peak): its weekly peak has no trend over 8 weeks.",
      "Its weekly average was 32.5% and has no trend over 8 weeks.",
    ],
  ],
  [
    "growth",
    { peaks: [8, 9, 10, 11, 12, 13, 14, 15], averages: [4, 5, 6, 7, 8, 9, 10, 11] },
    [
      "git runs out around 31 December (5 of 20 servers free at the last weekly peak): its weekly peak rises by 5.0 percentage points a week.",
      "Its weekly average was 55.0% and rises by 5.0 percentage points a week: it reaches 90.0% around 14 January.",
    ],
  ],
  [
    "slow growth",
    {
      peaks: [80, 81, 82, 83, 84, 85, 86, 87],
      averages: [40, 41, 42, 43, 44, 45, 46, 47],
      servers: Array<number>(8).fill(200),
    },
    [
      "git does not run out within 12 weeks (113 of 200 servers free at the last weekly peak): its weekly peak rises by 0.5 percentage points a week.",
      "Its weekly average was 23.5% and rises by 0.5 percentage points a week: it does not reach 90.0% within 12 weeks.",
    ],
  ],
  [
    "falling",
    { peaks: [15, 14, 13, 12, 11, 10, 9, 8] },
    [
      "git shows no sign of running out (12 of 20 servers free at the last weekly peak): its weekly peak falls by 5.0 percentage points a week.",
      "Its weekly average was 20.0% and falls by 2.5 percentage points a week.",
    ],
  ],
  [
    "step",
    { peaks: [8, 8, 9, 8, 8, 13, 13, 14, 13, 13] },
    [
      "git shows no sign of running out (7 of 20 servers free at the last weekly peak): its weekly peak rose by 25.0 percentage points around 26 October; no trend since.",
      "Its weekly average was 32.5% and rose by 12.5 percentage points around 26 October; no trend since.",
    ],
  ],
  [
    "step, recent",
    { peaks: [8, 8, 8, 8, 8, 8, 13, 13] },
    [
      "It is too early to say when git runs out (7 of 20 servers free at the last weekly peak): its weekly peak rose by 25.0 percentage points around 16 November, too recently to distinguish a step from growth.",
      "Its weekly average was 32.5% and rose by 12.5 percentage points around 16 November, too recently to distinguish a step from growth.",
    ],
  ],
  [
    "growth that starts late",
    { peaks: [8, 8, 8, 8, 8, 10, 12, 14, 16], averages: Array<number>(9).fill(2) },
    [
      "It is too early to say when git runs out (4 of 20 servers free at the last weekly peak): its weekly peak rose by 28.3 percentage points around 9 November, too recently to distinguish a step from growth.",
      "Its weekly average was 10.0% and has no trend over 9 weeks.",
    ],
  ],
  [
    "growth that started five weeks ago",
    { peaks: [8, 8, 8, 8, 8, 8, 8, 10, 12, 14, 16, 18], averages: Array<number>(12).fill(2) },
    [
      "git runs out around 3 December (2 of 20 servers free at the last weekly peak): its weekly peak rose by 33.7 percentage points around 2 November, and rises by 10.0 percentage points a week since.",
      "Its weekly average was 10.0% and has no trend over 12 weeks.",
    ],
  ],
  [
    "a recent step down",
    { peaks: [15, 15, 15, 15, 15, 8, 8] },
    [
      "git shows no sign of running out (12 of 20 servers free at the last weekly peak): its weekly peak fell by 35.0 percentage points around 16 November; that is too recent to see a trend since.",
      "Its weekly average was 20.0% and fell by 17.5 percentage points around 16 November; that is too recent to see a trend since.",
    ],
  ],
  [
    "one week",
    { peaks: [12] },
    [
      "It is unknown when git runs out (8 of 20 servers free at the last weekly peak): 1 whole week was observed, and a trend needs 4.",
      "Its weekly average was 30.0%.",
    ],
  ],
  [
    "step, and growth since",
    { peaks: [4, 4, 4, 4, 4, 10, 11, 12, 13, 14], averages: Array<number>(10).fill(2) },
    [
      "git runs out around 7 January (6 of 20 servers free at the last weekly peak): its weekly peak rose by 40.0 percentage points around 26 October, and rises by 5.0 percentage points a week since.",
      "Its weekly average was 10.0% and has no trend over 10 weeks.",
    ],
  ],
  [
    "step down",
    { peaks: [15, 15, 15, 15, 8, 8, 8, 8] },
    [
      "git shows no sign of running out (12 of 20 servers free at the last weekly peak): its weekly peak fell by 35.0 percentage points around 2 November; no trend since.",
      "Its weekly average was 20.0% and fell by 17.5 percentage points around 2 November; no trend since.",
    ],
  ],
  [
    "gap",
    { peaks: [8, 9, null, 11, 12, null, 14, 15] },
    [
      "git runs out around 31 December (5 of 20 servers free at the last weekly peak): its weekly peak rises by 5.0 percentage points a week.",
      "Its weekly average was 37.5% and rises by 2.5 percentage points a week: it does not reach 90.0% within 12 weeks.",
      "2 weeks of the last 8 were not observed well enough and are not part of the trend.",
    ],
  ],
  [
    "gap at the end",
    { peaks: [8, 9, 10, 11, 12, 13, 14, null] },
    [
      "It is unknown when git runs out: only 40.0% of the last week was observed.",
      "1 week of the last 8 was not observed well enough and is not part of the trend.",
    ],
  ],
  [
    "outlier",
    { peaks: [12, 13, 12, 19, 13, 12, 12, 13] },
    [
      "git shows no sign of running out (7 of 20 servers free at the last weekly peak): its weekly peak has no trend over 8 weeks.",
      "Its weekly average was 32.5% and has no trend over 8 weeks.",
      "The peak of the week from 26 October was 32.9 percentage points above the others and is not part of the trend.",
    ],
  ],
  [
    "outlier at the end",
    { peaks: [12, 13, 12, 12, 13, 12, 12, 19] },
    [
      "git shows no sign of running out (1 of 20 servers free at the last weekly peak): its weekly peak has no trend over 8 weeks.",
      "Its weekly average was 47.5% and has no trend over 8 weeks.",
      "The peak of the week from 23 November was 33.6 percentage points above the others and is not part of the trend: a single week is no trend yet.",
    ],
  ],
  [
    "resize",
    {
      peaks: [8, 8, 9, 8, 8, 9, 8, 8],
      servers: [10, 10, 10, 10, 20, 20, 20, 20],
    },
    [
      "git shows no sign of running out (12 of 20 servers free at the last weekly peak): its weekly peak has no trend over 8 weeks.",
      "Its weekly average was 20.0% and has no trend over 8 weeks.",
      "The number of servers changed from 10 to 20 around 2 November: shares are of the 20 that there are now.",
    ],
  ],
  [
    "full",
    { peaks: [14, 15, 16, 17, 18, 19, 20, 20], lastNoIdleMs: 66 * minute },
    [
      "git already runs out: for 1h6m of the last week none of its 20 servers was idle.",
      "Its weekly average was 50.0% and rises by 2.3 percentage points a week: it does not reach 90.0% within 12 weeks.",
    ],
  ],
  [
    "full, of several targets",
    { peaks: [20], lastNoIdleMs: 66 * minute, isExact: false },
    [
      "git may already run out: for up to 1h6m of the last week none of its 20 servers was idle.",
      "Its weekly average was 50.0%.",
    ],
  ],
  [
    "of a pool that became smaller than its peak",
    { peaks: [12, 12, 12, 12, 12], servers: [20, 20, 20, 20, 10] },
    [
      "git has 10 servers now, no more than were occupied at the last weekly peak: its weekly peak has no trend over 5 weeks.",
      "Its weekly average was 60.0% and has no trend over 5 weeks.",
      "The number of servers changed from 20 to 10 around 23 November: shares are of the 10 that there are now.",
    ],
  ],
  [
    "of several targets, whose peaks need not have been at once",
    { peaks: [20, 20, 20, 20], isExact: false },
    [
      "It is unknown when git runs out: the peaks of its parts add up to all its servers, but need not have been at once.",
      "Its weekly average was 50.0% and has no trend over 4 weeks.",
    ],
  ],
  [
    "too short",
    { peaks: [12, 13, 12] },
    [
      "It is unknown when git runs out (8 of 20 servers free at the last weekly peak): 3 whole weeks were observed, and a trend needs 4.",
      "Its weekly average was 30.0%.",
    ],
  ],
  [
    "of a single server",
    {
      peaks: [1, 1, 1, 1],
      averages: [0.5, 0.6, 0.5, 0.6],
      servers: [1, 1, 1, 1],
      lastNoIdleMs: hourMs,
    },
    [
      "git has a single server, which was occupied for 60.0% of the last week.",
      "Its weekly average was 60.0% and has no trend over 4 weeks.",
    ],
  ],
  [
    "of a pool that was resized in the week in which it was full",
    { peaks: [10, 10, 10, 10, 10], servers: [10, 10, 10, 10, 20], lastNoIdleMs: 66 * minute },
    [
      "git already runs out: for 1h6m of the last week none of its servers was idle.",
      "Its weekly average was 25.0% and has no trend over 5 weeks.",
      "The number of servers changed from 10 to 20 around 23 November: shares are of the 20 that there are now.",
    ],
  ],
  [
    "of a single server that is left of several",
    { peaks: [3, 3, 3, 3, 3], servers: [3, 3, 3, 3, 1], lastNoIdleMs: hourMs },
    [
      "git has a single server now; in the last week up to 3 were occupied at a time.",
      "Its weekly average was 150.0%: 90.0% is reached already.",
      "The number of servers changed from 3 to 1 around 23 November: shares are of the one that there is now.",
    ],
  ],
  [
    "of weeks without any server",
    { peaks: [8, 9, 8, "none", "none", 9, null, 8] },
    [
      "git shows no sign of running out (12 of 20 servers free at the last weekly peak): its weekly peak has no trend over 5 weeks.",
      "Its weekly average was 20.0% and has no trend over 5 weeks.",
      "There were no servers in 2 weeks of the last 8: they are not part of the trend.",
      "1 week of the last 8 was not observed well enough and is not part of the trend.",
    ],
  ],
  [
    "of a last week without any server",
    { peaks: [8, 9, 8, 8, "none"] },
    [
      "It is unknown when git runs out: it had no servers in the last week.",
      "There were no servers in 1 week of the last 5: it is not part of the trend.",
    ],
  ],
  ["nothing", { peaks: [] }, ["It is unknown when git runs out: no whole week was observed."]],
];

describe("of a history that is", () => {
  it.each(histories)("%s, an outlook says so in words", (_, history, texts) => {
    expect(textsOf(history)).toEqual(texts);
  });
});

it("the use in the range is said in words: its peak, the time without an idle server, and what would have been enough", () => {
  const { peak, observedMs, longestNoIdle, needed } = {
    peak: { count: 12, fromMs: startMs + hourMs, toMs: startMs + 2 * hourMs },
    observedMs: 100 * hourMs,
    longestNoIdle: { fromMs: startMs, ms: 30 * minute },
    needed: { servers: 12, isMore: false },
  };
  const usage = { ...noUsage, peak, observedMs, noIdleMs: 30 * minute, longestNoIdle, needed };
  expect(textsOf({ peaks: [12, 12, 12, 12], usage }).slice(2)).toEqual([
    "At the peak in this range 12 servers were occupied (2026-09-07 01:00 UTC).",
    "In this range no server was idle for 30m, 0.5% of the observed time, up to 30m at a stretch (2026-09-07 00:00 UTC).",
    "In this range 12 servers would have been enough for 99% of the time.",
  ]);
  const more = { ...usage, needed: { servers: 20, isMore: true } };
  expect(textsOf({ peaks: [12, 12, 12, 12], usage: more })[4]).toBe(
    "In this range more servers than there were would have been needed to be enough for 99% of the time.",
  );
  // Of an upper bound it is not known.
  const bounds = textsOf({ peaks: [12, 12, 12, 12], usage: more, isExact: false });
  expect(bounds).toHaveLength(4);
  expect(bounds[2]).toContain("at most 12 servers were occupied");
});
