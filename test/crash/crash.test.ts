import { describe, expect, it } from "vitest";
import { brokenPromises } from "./broken-promises.ts";
import { killVictims } from "./kill-victims.ts";

const patienceMs = 110_000;

/** Each victim takes a process of its own to load: `npm run test:crash` tries every statement. */
const every = 9;

describe("a daemon that is killed at every ninth statement of commit and delivery", () => {
  it(
    "has one incident an episode and one id a message, loses none, and resolves after it fires",
    async ({ signal }) => {
      const killings = await killVictims(signal, { every });
      expect(brokenPromises(killings)).toEqual([]);
      expect(killings.killedAtStatements).toBeGreaterThan(1);
    },
    patienceMs,
  );

  it(
    "keeps the same promises of a probe",
    async ({ signal }) => {
      const killings = await killVictims(signal, { every: 2 * every, subject: "probe" });
      expect(brokenPromises(killings)).toEqual([]);
      expect(killings.killedAtStatements).toBeGreaterThan(0);
    },
    patienceMs,
  );

  it(
    "would lose alerts if the outbox were written after the poll's transaction",
    async ({ signal }) => {
      const killings = await killVictims(signal, {
        outboxOutside: true,
        every,
        firstStatement: 1 + every,
        mostVictims: 6,
      });
      expect(brokenPromises(killings)).not.toEqual([]);
    },
    patienceMs,
  );
});
