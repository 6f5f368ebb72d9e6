import { expect, it } from "vitest";
import { describeGrowth } from "../../src/cli/doctor/check-history.ts";

it("warns of the size that changes will have", () => {
  const dayMs = 86_400_000;
  expect(describeGrowth(10_000, 400 * dayMs)).toEqual({
    level: "ok",
    text: "10,000 changes in the last 24 hours: kept for 400 days, they take about 400 MB",
  });
  expect(describeGrowth(2_900_000, 400 * dayMs)).toMatchObject({
    level: "warning",
    text: "2,900,000 changes in the last 24 hours: kept for 400 days, they take about 116.0 GB",
    mend: expect.stringContaining("Shorten history.changes"),
  });
  expect(describeGrowth(2_900_000, 30 * dayMs).level).toBe("ok");
  expect(describeGrowth(300_000, null).text).toMatch(/kept forever, .* about 10\.9 GB a year$/);
});
