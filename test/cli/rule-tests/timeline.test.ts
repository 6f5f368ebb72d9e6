import { expect, it } from "vitest";
import { atPoll, parseTimeline } from "../../../src/cli/rule-tests/timeline.ts";

const words = ["idle", "error", "gone"] as const;

it("reads words and how often they come", () => {
  expect(parseTimeline("idle*2  error gone*1", words)).toEqual(["idle", "idle", "error", "gone"]);
});

it.each([
  "",
  "  ",
  "ilde",
  "idle*0",
  "idle*-1",
  "idle*1.5",
  "idle*",
  "*3",
  "idle*2*2",
  "idle*100001",
])("refuses %j", (text) => {
  expect(parseTimeline(text, words)).toBeUndefined();
});

it("refuses what is too long only in all", () => {
  expect(parseTimeline("idle*60000 error*60000", words)).toBeUndefined();
});

it("goes on with the last word", () => {
  const polls = ["idle", "error"];
  expect([0, 1, 2, 100].map((poll) => atPoll(polls, poll))).toEqual([
    "idle",
    "error",
    "error",
    "error",
  ]);
});
