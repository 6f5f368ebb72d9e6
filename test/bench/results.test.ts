import { describe, expect, it } from "vitest";
import { joinRounds } from "../../bench/support/result.ts";
import { percentile, summarize } from "../../bench/support/stats.ts";
import { formatTable } from "../../bench/support/table.ts";

describe("results", () => {
  it("join the rounds of a row and judge the median by the target", () => {
    const rows = joinRounds("poll", [
      [{ what: "a", unit: "x", samples: [0.1], target: 0.2 }],
      [{ what: "a", unit: "x", samples: [0.3, 0.2], target: 0.2 }],
      [{ what: "b", unit: "x", samples: [40], target: 50, atLeast: true }],
      [{ what: "c", unit: "x", samples: [], target: 1 }],
    ]);
    expect(rows.map(({ what, value, met }) => [what, value, met])).toEqual([
      ["a", { median: 0.2, min: 0.1, max: 0.3 }, true],
      ["b", { median: 40, min: 40, max: 40 }, false],
      ["c", null, null],
    ]);
  });

  it("take a percentile by the nearest rank, and the median between the middle two", () => {
    const samples = [4, 1, 3, 2];
    expect(percentile(samples, 0.5)).toBe(2.5);
    expect(percentile(samples, 0.99)).toBe(4);
    expect(percentile(samples, 0.25)).toBe(1);
    expect(summarize([])).toBeNull();
  });
});

it("prints a line a row, in columns", () => {
  const rows = joinRounds("poll", [
    [
      {
        what: "1 % changed",
        unit: "x",
        samples: [0.25],
        target: 0.2,
        floor: "JSON.parse",
        floorUnit: "ms",
        floorSamples: [123.4],
      },
      { what: "with zstd", unit: "ms", samples: [] },
      {
        what: "drawn beside it",
        unit: "ms",
        samples: [1],
        plot: { plot: "growth", series: "a", x: 1, isFloor: true },
      },
    ],
  ]);
  expect(formatTable(rows)).toBe(
    [
      "scenario  what         floor              value         min..max      target      met",
      "--------  -----------  -----------------  ------------  ------------  ----------  ---",
      "poll      1 % changed  JSON.parse 123 ms  0.250 x       0.250..0.250  <= 0.200 x  NO",
      "poll      with zstd                       not measured",
      "",
    ].join("\n"),
  );
});
