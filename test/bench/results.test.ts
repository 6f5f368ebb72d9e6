import { expect, it } from "vitest";
import { formatTable, toRow } from "../../bench/support/row.ts";
import { median, percentile } from "../../bench/support/stats.ts";

it("judges the median by the budget, and nothing that was not measured", () => {
  const row = { what: "a", unit: "x", samples: [0.3, 0.1, 0.2], budget: 0.2 };
  const value = { median: 0.2, min: 0.1, max: 0.3 };
  expect(toRow("poll", row)).toMatchObject({ value, met: true });
  expect(toRow("poll", { ...row, atLeast: true, budget: 50 }).met).toBe(false);
  expect(toRow("poll", { what: "c", unit: "ms", samples: [1] }).met).toBeNull();
  expect(() => toRow("poll", { ...row, samples: [] })).toThrow("nothing was measured");
});

it("takes a percentile by the nearest rank, and the median between the middle two", () => {
  const samples = [4, 1, 3, 2];
  expect([median(samples), median([3, 1, 2])]).toEqual([2.5, 2]);
  expect([percentile(samples, 0.99), percentile(samples, 0.25)]).toEqual([4, 1]);
});

it("prints a line a row, in columns, with the budget beside the figure", () => {
  const floor = { what: "JSON.parse", unit: "ms", samples: [123.4] };
  const rows = [
    toRow("poll", { what: "1 % changed", unit: "x", samples: [0.25, 0.3], budget: 0.2, floor }),
    toRow("poll", { what: "the longest", unit: "ms", samples: [40] }),
  ];
  expect(`\n${formatTable(rows)}`).toBe(`
scenario  what         measured  min..max      budget    met  floor
--------  -----------  --------  ------------  --------  ---  -----------------
poll      1 % changed  0.275 x   0.250..0.300  <= 0.200  NO   JSON.parse 123 ms
poll      the longest  40 ms
`);
});
