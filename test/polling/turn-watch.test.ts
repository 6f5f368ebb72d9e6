import { expect, it } from "vitest";
import { watchTurns } from "../../src/polling/turn-watch.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { research } from "../support/fleet.ts";

function open(firstRoundMs = 30_000) {
  const clock = createFakeClock();
  const taken: number[] = [];
  const turns = watchTurns(
    (_, deadlineMs) => {
      taken.push(deadlineMs);
      return Promise.resolve();
    },
    clock,
    firstRoundMs,
  );
  const take = (lengthMs: number): Promise<void> =>
    turns.takeTurn(research, clock.now().monotonicMs + lengthMs);
  return { clock, taken, turns, take };
}

it("passes turns on with their deadlines", async () => {
  const { clock, taken, take } = open();
  await take(5_000);
  expect(taken).toEqual([clock.now().monotonicMs + 5_000]);
});

it("takes a target for overdue when three rounds have passed since its last turn began", async () => {
  const { clock, turns, take } = open();
  expect(turns.isOverdue(research)).toBe(false);
  await take(5_000);
  clock.advance(5_000);
  await take(5_000);
  clock.advance(15_000);
  expect(turns.isOverdue(research)).toBe(false);
  clock.advance(1);
  expect(turns.isOverdue(research)).toBe(true);
  await take(5_000);
  expect(turns.isOverdue(research)).toBe(false);
});

it("waits after the first turn until the first round of a schedule that pauses", async () => {
  const { clock, turns, take } = open(3_600_000);
  await take(5_000);
  clock.advance(3_600_000 + 15_000);
  expect(turns.isOverdue(research)).toBe(false);
  clock.advance(1);
  expect(turns.isOverdue(research)).toBe(true);
});

it("does not mind a wall clock that is stepped", async () => {
  const { clock, turns, take } = open(0);
  await take(5_000);
  clock.stepUtc(3_600_000);
  expect(turns.isOverdue(research)).toBe(false);
});
