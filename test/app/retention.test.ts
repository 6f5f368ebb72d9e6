import { expect, it } from "vitest";
import { retentionChores } from "../../src/app/retention.ts";
import type { Retention } from "../../src/app/retention.ts";
import { testConfig } from "../support/test-config.ts";

const dayMs = 86_400_000;
const nowMs = Date.UTC(2026, 10, 20);

/** What is pruned, and how many days before now. */
async function prunedBy(keep: Retention): Promise<readonly unknown[]> {
  const pruned: unknown[] = [];
  const daysAgo = (ms: number): number => (nowMs - ms) / dayMs;
  const note = (what: string) => (beforeMs: number) => {
    pruned.push([what, daysAgo(beforeMs)]);
    return Promise.resolve(false);
  };
  const prune = {
    owedItems(beforeMs: number, configured: readonly string[]) {
      pruned.push(["owed", daysAgo(beforeMs), ...configured]);
      return Promise.resolve(false);
    },
    changes: note("changes"),
    gaps: note("gaps"),
    incidents: note("incidents"),
    silences: note("silences"),
    buckets: (resolution: string, beforeMs: number) => note(resolution)(beforeMs),
    notifications({ deliveredBeforeMs, deadBeforeMs }: Record<string, number>) {
      pruned.push(["notifications", daysAgo(deliveredBeforeMs ?? 0), daysAgo(deadBeforeMs ?? 0)]);
      return Promise.resolve(false);
    },
  };
  const clock = { now: () => ({ utcMs: nowMs, monotonicMs: 0 }) };
  for (const chore of retentionChores({ prune }, keep, clock, ["oncall"])) await chore.step();
  return pruned;
}

it("everything is kept for as long as the configuration says, or as it is by default", async () => {
  const { history } = testConfig({
    regions: { us: { base_url: "https://us.example" } },
    keys: [{ name: "research", api_key: "a" }],
  });
  expect(await prunedBy(history)).toEqual([
    ["notifications", 30, 90],
    ["owed", 90, "oncall"],
    ["changes", 400],
    ["gaps", 400],
    ["incidents", 400],
    ["silences", 30],
    ["5m", 30],
    ["1h", 400],
  ]);
});

it("what is kept for ever is never looked through", async () => {
  const forever = { changes: null, buckets: { "5m": null, "1h": 2 * dayMs, "1d": null } };
  expect(await prunedBy(forever)).toEqual([
    ["notifications", 30, 90],
    ["owed", 90, "oncall"],
    ["silences", 30],
    ["1h", 2],
  ]);
});
