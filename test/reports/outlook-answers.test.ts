import { expect, it } from "vitest";
import { compareUrgency, standingOf } from "../../src/reports/outlook.ts";
import { overallAnswer } from "../../src/reports/outlook-text.ts";
import { outlook, type History } from "./support/weekly-history.ts";

const minute = 60_000;
const growing = [8, 9, 10, 11, 12, 13, 14, 15];
const named = (name: string, history: History) => ({ name, outlook: outlook(history) });
const git = named("git", { peaks: [20], lastNoIdleMs: minute });
const jira = named("jira", { peaks: [20], lastNoIdleMs: 2 * minute });
const slack = named("slack", { peaks: growing });
const web = named("web", { peaks: growing.map((peak) => peak - 1) });
const tight = named("tight", { peaks: [19, 19, 19, 19, 19] });
const flat = named("flat", { peaks: [5, 5, 5, 5, 5] });
const short = named("short", { peaks: [5] });
const late = named("late", { peaks: [8, 8, 8, 8, 8, 10, 12, 14] });
const gone = named("gone", { peaks: [20, 20, 20, 20, 20], servers: [20, 20, 20, 20, 0] });
const perhaps = named("perhaps", { peaks: [20], lastNoIdleMs: minute, isExact: false });

it("pools are in the order in which they run out, those of which nothing is known at the end", () => {
  const all = [short, flat, tight, late, perhaps, web, slack, git, jira];
  const ordered = all.toSorted((one, other) => compareUrgency(one.outlook, other.outlook));
  expect(ordered.map(({ name, outlook: of }) => [name, standingOf(of)])).toEqual([
    ["jira", "full"],
    ["git", "full"],
    ["slack", "runs_out"],
    ["web", "runs_out"],
    ["perhaps", "perhaps_full"],
    ["late", "rose_recently"],
    ["tight", "no_date"],
    ["flat", "no_date"],
    ["short", "unknown"],
  ]);
});

it.each([
  [[], "There are no servers that can run out."],
  [
    [jira, git, slack, flat],
    "jira and git already run out: at times in the last week none of their servers was idle; slack is next, around 31 December.",
  ],
  [
    [git, flat, tight],
    "git already runs out: at times in the last week none of its servers was idle; no date is known for the other 2 pools.",
  ],
  [[git], "git already runs out: for 1m of the last week none of its 20 servers was idle."],
  [[git, gone], "git already runs out: for 1m of the last week none of its 20 servers was idle."],
  [[gone], "There are no servers that can run out."],
  [
    [slack, web, flat],
    "slack runs out around 31 December (5 of 20 servers free at the last weekly peak): its weekly peak rises by 5.0 percentage points a week.",
  ],
  [
    [tight, flat],
    "No pool shows a sign of running out within 12 weeks; tight has the least headroom (1 of 20 servers free at the last weekly peak).",
  ],
  [
    [late, tight],
    "It is too early to say when late runs out (6 of 20 servers free at the last weekly peak): its weekly peak rose by 23.3 percentage points around 16 November, too recently to distinguish a step from growth.",
  ],
  [
    [short, named("other", { peaks: [] })],
    "It is unknown when one of the 2 pools runs out: a trend needs 4 whole weeks, the last one among them.",
  ],
  [
    [perhaps, flat],
    "perhaps may already run out: at times in the last week perhaps none of the servers was idle. Ask by more fields to know.",
  ],
  [
    [short],
    "It is unknown when short runs out (15 of 20 servers free at the last weekly peak): 1 whole week was observed, and a trend needs 4.",
  ],
])("the answer for several pools is one sentence: %#", (pools, answer) => {
  expect(overallAnswer(pools, "servers")).toBe(answer);
});
