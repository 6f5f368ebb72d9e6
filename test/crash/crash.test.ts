import { expect, it } from "vitest";
import { brokenPromises, killVictims } from "./kill-victims.ts";

/**
 * Each victim takes a process of its own to load: `npm run test:crash` tries every statement. The first of
 * these is where an outbox written after the poll's transaction would be lost.
 */
const some = { firstStatement: 12, every: 18 };

it("a daemon that is killed now and again has one incident an episode and one id a message, loses none, and resolves after it fires", async ({
  signal,
}) => {
  const killings = await killVictims(signal, some);
  expect(brokenPromises(killings)).toEqual([]);
  expect(killings.killedAtStatements).toBeGreaterThan(1);
});
