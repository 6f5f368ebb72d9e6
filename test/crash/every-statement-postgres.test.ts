import { describe, expect, it } from "vitest";
import { postgresFolder } from "../store/support/postgres.ts";
import { brokenPromises, killVictims } from "./kill-victims.ts";

const onPostgres = { postgres: postgresFolder ?? "" };

describe("a daemon on PostgreSQL that is killed at every statement of commit and delivery", () => {
  it("has, with those that start after it, one incident an episode and one id a message, loses none, and resolves after it fires", async ({
    signal,
  }) => {
    const killings = await killVictims(signal, onPostgres);
    expect(brokenPromises(killings)).toEqual([]);
    expect(killings.killedAtStatements).toBeGreaterThan(25);
  });

  it("keeps the same promises of a sandbox whose servers are well, at every third statement", async ({
    signal,
  }) => {
    const options = { ...onPostgres, subject: "sandbox", firstStatement: 3, every: 3 } as const;
    const killings = await killVictims(signal, options);
    expect(brokenPromises(killings)).toEqual([]);
    expect(killings.killedAtStatements).toBeGreaterThan(8);
  });

  // At statements around those between the two transactions.
  it.for([
    ["SQLite", { firstStatement: 8, lastStatement: 16 }],
    ["PostgreSQL", { ...onPostgres, firstStatement: 8, lastStatement: 18 }],
  ] as const)(
    "would lose alerts if the outbox were written after the poll's transaction: %s",
    async ([, options], { signal }) => {
      const killings = await killVictims(signal, { ...options, outboxOutside: true });
      expect(brokenPromises(killings)).not.toEqual([]);
    },
  );
});
