import { expect, it } from "vitest";
import { brokenPromises, killVictims } from "../crash/kill-victims.ts";
import { postgresFolder } from "../store/support/postgres.ts";

/** Each victim takes a process of its own to load: `npm run test:crash` tries every statement. */
const some = { firstStatement: 5, every: 9 };

it("a daemon on PostgreSQL that is killed now and again has one incident an episode and one id a message, loses none, and resolves after it fires", async ({
  signal,
}) => {
  // A sandbox goes into error with its server: both change, and one incident inhibits the other.
  const killings = await killVictims(signal, {
    ...some,
    subject: "both",
    postgres: postgresFolder ?? "",
  });
  expect(brokenPromises(killings)).toEqual([]);
  expect(killings.killedAtStatements).toBeGreaterThan(2);
});
