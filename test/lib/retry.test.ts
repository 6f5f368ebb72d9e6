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

  it("saves up ten retries at most", () => {
    const budget = createRetryBudget(0.1);
    for (let request = 0; request < 1_000; request += 1) budget.requestSent();
    let retries = 0;
    while (budget.takeRetry()) retries += 1;
    expect(retries).toBe(10);
  });
});
