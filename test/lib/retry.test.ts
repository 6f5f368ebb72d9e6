import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createRetryBudget, fullJitterMs } from "../../src/lib/retry.ts";

it.each([
  [0, 500],
  [1, 1_000],
  [4, 8_000],
  [5, 10_000],
  [5_000, 10_000],
])("attempt %i waits anything from nothing to %i ms", (attempt, ceilingMs) => {
  const delays = { firstMs: 500, longestMs: 10_000 };
  expect(fullJitterMs(attempt, delays, 0)).toBe(0);
  expect(fullJitterMs(attempt, delays, 0.5)).toBe(ceilingMs / 2);
});

describe("the retry budget", () => {
  it("never lets retries be more than a tenth of all requests, whatever fails", () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 400 }), (failures) => {
        const budget = createRetryBudget(0.1);
        let requests = 0;
        let retries = 0;
        for (const failed of failures) {
          budget.requestSent();
          requests += 1;
          if (!failed) continue;
          while (budget.takeRetry()) {
            retries += 1;
            expect(retries).toBeLessThanOrEqual(requests / 10);
            budget.requestSent();
            requests += 1;
          }
        }
      }),
    );
  });

  it("lets retries be nearly a tenth when everything fails, and saves up ten at most", () => {
    const budget = createRetryBudget(0.1);
    expect(budget.takeRetry()).toBe(false);
    const retriesOf = (requests: number, asked: number): number => {
      let retries = 0;
      for (let request = 0; request < requests; request += 1) {
        budget.requestSent();
        if (asked === 0 && budget.takeRetry()) retries += 1;
      }
      for (let ask = 0; ask < asked; ask += 1) if (budget.takeRetry()) retries += 1;
      return retries;
    };
    expect(retriesOf(1_000, 0)).toBeGreaterThanOrEqual(99);
    expect(retriesOf(100_000, 1_000)).toBe(10);
  });
});
