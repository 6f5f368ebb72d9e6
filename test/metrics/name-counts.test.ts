import { expect, it } from "vitest";
import type { Booking } from "../../src/core/occupancy/booking.ts";
import { createTallies } from "../../src/core/snapshot/tallies.ts";
import { bookedOf, NameCounts } from "../../src/metrics/name-counts.ts";

const seconds = 1_000;

function tallied(serverName: string, servers: number): Booking["tallies"] {
  const tallies = createTallies();
  tallies.countServer(serverName, "idle", 0, servers);
  return tallies.names;
}

it("numbers that were taken stay as they were, whatever is booked before they are read", () => {
  const counts = new NameCounts();
  const before = tallied("git", 2);
  counts.bookAll({ elapsedMs: 30 * seconds, observed: true, tallies: before });
  const taken = counts.takeBookedMs();
  counts.bookAll({ elapsedMs: 30 * seconds, observed: true, tallies: before });
  counts.bookAll({ elapsedMs: 30 * seconds, observed: true, tallies: tallied("jira", 1) });
  const idleMs = (numbers: ReturnType<typeof taken>) =>
    numbers.names.map((_, name) => bookedOf(numbers, name, 0));
  expect(idleMs(taken())).toEqual([60 * seconds]);
  // Reading them counts nothing twice.
  expect(idleMs(taken())).toEqual([60 * seconds]);
  expect(idleMs(counts.takeBookedMs()())).toEqual([120 * seconds, 30 * seconds]);
});
