import { expect, it, onTestFinished } from "vitest";
import { openCandidate } from "../../src/store/postgres/candidate.ts";
import { postgresFolder, postgresSettings } from "../store/support/postgres.ts";
import { createFakeClock } from "../support/fake-clock.ts";

const leaseMs = 15_000;

async function openActive() {
  const clock = createFakeClock();
  const schema = `lease_${process.pid}_${clock.now().utcMs}`;
  const settings = postgresSettings(postgresFolder ?? "", schema);
  const options = { address: null, leaseMs, clock, onLost() {} };
  const candidate = await openCandidate(settings, options);
  onTestFinished(() => candidate.close());
  expect(candidate.mayAct()).toBe(false);
  expect(await candidate.tryToTakeOver()).toBe(true);
  expect(candidate.mayAct()).toBe(true);
  return { candidate, clock };
}

it("an active process may send until two seconds before its lease ends, by its monotonic clock, unless it is renewed", async () => {
  const { candidate, clock } = await openActive();
  clock.holdUp(leaseMs - 2_001);
  expect(candidate.mayAct()).toBe(true);
  clock.holdUp(1);
  expect([candidate.mayAct(), candidate.remainingMs()]).toEqual([false, 0]);
  // The renewal was due long ago.
  clock.advance(0);
  await expect.poll(() => candidate.mayAct()).toBe(true);
});

it("an active process whose machine was suspended may not send before its lease is renewed, as its wall clock shows", async () => {
  const { candidate, clock } = await openActive();
  clock.stepUtc(1_000);
  expect(candidate.mayAct()).toBe(true);
  clock.stepUtc(1);
  expect(candidate.mayAct()).toBe(false);
  clock.advance(leaseMs / 3);
  await expect.poll(() => candidate.mayAct()).toBe(true);
});
