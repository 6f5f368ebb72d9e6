import { describe, expect, it } from "vitest";
import { reportOccupancySeries } from "../../src/api/operations/occupancy-series.ts";
import { watchWorld } from "../support/watched-world.ts";

describe("the series of occupancy", () => {
  it("has a value for each cell in every column", async () => {
    const world = await watchWorld({ startsAtMs: Date.parse("2026-11-20T12:00:00Z") });
    world.show(0, "occupied");
    await world.poll(120);
    const { notes, from, to, step_seconds, ...columns } = await world
      .daemon()
      .api(reportOccupancySeries, { from: "10m" });
    expect({ notes, from, to, step_seconds }).toEqual({
      notes: [],
      from: "2026-11-20T12:00:00.000Z",
      to: "2026-11-20T12:10:00.000Z",
      step_seconds: 300,
    });
    expect(columns).toMatchObject({
      start: ["2026-11-20T12:00:00.000Z", "2026-11-20T12:05:00.000Z"],
      seconds: [300, 300],
      occupied: [expect.closeTo(295 / 300), 1],
      idle: [expect.closeTo((2 * 295) / 300), 2],
      unobserved: [expect.closeTo((3 * 5) / 300), 0],
    });
  });
});
