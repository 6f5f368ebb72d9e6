import { expect, it } from "vitest";
import type { Stretch } from "../../src/fleet/accounting.ts";
import { noTallies, TallyChange } from "../../src/fleet/tallies.ts";
import { NameCounts, observedMsOf } from "../../src/metrics/name-counts.ts";
import type { TakenNumbers } from "../../src/metrics/name-counts.ts";

const seconds = 1_000;

function halfMinuteOf(name: string, servers: number): Stretch {
  const tallies = new TallyChange(noTallies);
  for (let at = 0; at < servers; at++) {
    tallies.countServer({ name, status: "idle", missing: 0 }, 1);
  }
  return { elapsedMs: 30 * seconds, observed: true, tallies: tallies.finish().names };
}

it("numbers that were taken stay as they were, whatever is counted before they are read", () => {
  const counts = new NameCounts();
  counts.addTime(halfMinuteOf("git", 2));
  const taken = counts.takeObservedMs();
  counts.addTime(halfMinuteOf("git", 2));
  counts.addTime(halfMinuteOf("jira", 1));
  const idleMs = (numbers: TakenNumbers) =>
    numbers.names.map((_, name) => observedMsOf(numbers, name, 0));
  expect(idleMs(taken)).toEqual([60 * seconds]);
  expect(idleMs(counts.takeObservedMs())).toEqual([120 * seconds, 30 * seconds]);
});
