import { expect, it } from "vitest";
import { processMetrics } from "../../src/metrics/process-metrics.ts";

it("the process is watched once, however often the configuration is taken on anew", () => {
  expect(processMetrics()).toBe(processMetrics());
});
