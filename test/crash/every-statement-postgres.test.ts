import { describe, expect, it } from "vitest";
import { postgresFolder } from "../store/support/postgres.ts";
import { brokenPromises, killVictims } from "./kill-victims.ts";

describe("a daemon that is killed at every statement of commit and delivery", () => {
  it("has on PostgreSQL, too, one incident an episode and one id a message, loses none, and resolves after it fires", async ({
    signal,
  }) => {
    const postgres = postgresFolder ?? "";
    const killings = await killVictims(signal, { postgres });
    expect(brokenPromises(killings)).toEqual([]);
    expect(killings.killedAtStatements).toBeGreaterThan(25);
  });

  it("would lose alerts if the outbox were written after the poll's transaction", async ({
    signal,
  }) => {
    const killings = await killVictims(signal, { outboxOutside: true, firstStatement: 8 });
    expect(brokenPromises(killings)).not.toEqual([]);
  });
});
