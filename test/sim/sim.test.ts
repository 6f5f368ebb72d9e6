import { describe, expect, it } from "vitest";
import { account } from "./account.ts";
import { judgeRun } from "./oracle/judge-run.ts";
import { simulate } from "./simulate.ts";
import type { Mutation } from "./support/host.ts";
import {
  acknowledgesBeforeSending,
  keepsNoOrder,
  writesTheOutboxAfterThePoll,
} from "./support/mutants.ts";

const patienceMs = 120_000;

/** What was broken in a world, for a person; nothing if nothing was. */
async function brokenIn(seed: number, mutation?: Mutation): Promise<string> {
  const run = await simulate(seed, mutation);
  const violations = judgeRun(run.scenario, run.history);
  return violations.length === 0 ? "" : account(run, violations);
}

/** What the oracle finds in the first of so many worlds in which it finds something. */
async function firstBroken(
  mutation: Mutation,
  { from, seeds }: { readonly from: number; readonly seeds: number },
): Promise<string> {
  for (let seed = from; seed < from + seeds; seed += 1) {
    const broken = await brokenIn(seed, mutation);
    if (broken !== "") return broken;
  }
  return "";
}

describe("the whole daemon, where everything goes wrong that can", () => {
  const seeds = Array.from({ length: 20 }, (_, index) => index + 1);

  it.each(seeds)(
    "tells every episode once and in order, invents none and leaves nothing (seed %i)",
    async (seed) => {
      expect(await brokenIn(seed)).toBe("");
    },
    patienceMs,
  );

  it(
    "does the very same again under the same seed, and something else under another",
    async () => {
      const [one, again, other] = [await simulate(3), await simulate(3), await simulate(4)];
      expect(again.hash).toBe(one.hash);
      expect(other.hash).not.toBe(one.hash);
    },
    patienceMs,
  );
});

describe("the oracle", () => {
  // Of the second, about one world in six has a process die between its two transactions.
  it.each<[string, Mutation, number]>([
    ["acknowledges before it sends", acknowledgesBeforeSending, 1],
    ["writes the outbox outside the poll's transaction", writesTheOutboxAfterThePoll, 10],
    ["keeps no order", keepsNoOrder, 2],
  ])(
    "catches a daemon that %s",
    async (_, mutation, from) => {
      expect(await firstBroken(mutation, { from, seeds: 40 })).toMatch(
        /^seed \d+ broke [1-9]\d* promises/,
      );
    },
    patienceMs,
  );
});
