import { describe, expect, it } from "vitest";
import { linearScale, logScale } from "../../bench/support/scale.ts";
import { drawPlot } from "../../bench/support/svg.ts";

const across = { from: 100, to: 700 };

describe("scales", () => {
  it("put powers of ten at equal distances", () => {
    const scale = logScale([1_000, 10_000, 1_000_000], across);
    expect(scale.ticks).toEqual([1_000, 10_000, 100_000, 1_000_000]);
    expect(scale.ticks.map((tick) => scale.at(tick))).toEqual([100, 300, 500, 700]);
  });

  it("start linear axes at zero and end them at a round number above every value", () => {
    const scale = linearScale([3, 87], { from: 400, to: 0 });
    expect(scale.ticks).toEqual([0, 20, 40, 60, 80, 100]);
    expect([scale.at(0), scale.at(50), scale.at(100)]).toEqual([400, 200, 0]);
    expect(linearScale([0], across).ticks[0]).toBe(0);
  });
});

it("draws a line for each series, with its name, and the titles of both axes", () => {
  const svg = drawPlot({
    title: "Cost & growth",
    xTitle: "servers",
    yTitle: "ns",
    xScale: "log",
    series: [
      {
        name: "poll",
        points: [
          { x: 10, y: 5 },
          { x: 1_000, y: 50 },
        ],
      },
      { name: "JSON.parse", points: [{ x: 10, y: 7 }] },
    ],
  });
  expect(svg.match(/<polyline/g)).toHaveLength(2);
  for (const part of [">Cost &amp; growth<", ">servers<", ">ns<", ">poll<", ">JSON.parse<"]) {
    expect(svg).toContain(part);
  }
  expect(svg).not.toMatch(/NaN|undefined/);
});
