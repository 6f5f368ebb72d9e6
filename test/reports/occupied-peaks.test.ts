import { expect, it } from "vitest";
import { headroomOf } from "../../src/reports/report-rows.ts";
import { recordHistory } from "../support/recorded-history.ts";
import { idle, occupied, research, watch } from "./support/polls-alike.ts";
import { reportOf } from "./support/report.ts";

it("a report has the exact peak of several targets over the whole range, of what was observed at one moment", async () => {
  const history = recordHistory();
  const [us, eu] = [history.add(research), history.add({ region: "eu", key: "research" })];
  const atRest = [{ ...occupied, status: "idle" }, idle] as const;
  const both = [occupied, { ...idle, status: "occupied" }] as const;
  const early = { from: "2026-11-01T00:02Z", to: "2026-11-01T00:22Z" };
  const late = { from: "2026-11-01T00:27Z", to: "2026-11-01T00:42Z" };
  const range = { from: early.from, to: late.to };
  watch(us, early, both);
  watch(us, late, atRest);
  watch(eu, early, atRest);
  watch(eu, late, [occupied, idle]);
  const peakBy = async (by: string) =>
    (await reportOf(history, { ...range, by })).rows.map((row) => [
      row.occupiedPeak,
      row.serversAverage,
      row.serversPeak,
      headroomOf(row),
    ]);
  expect(await peakBy("key")).toEqual([[{ count: 2, isExact: true }, 4, 4, 2]]);
  expect(await peakBy("server_name")).toEqual([[{ count: 2, isExact: true }, 4, 4, 2]]);
  expect(await peakBy("day")).toEqual([[{ count: 3, isExact: false }, 4, 4, 1]]);

  // Both are occupied at once, but never observed so.
  const again = { from: "2026-11-01T00:47Z", to: "2026-11-01T01:42Z" };
  for (let atMs = Date.parse(again.from); atMs <= Date.parse(again.to); atMs += 300_000) {
    us.poll(atMs, { kind: "all", servers: both });
    eu.poll(atMs, { kind: "failed" });
  }
  range.to = again.to;
  expect(await peakBy("key")).toMatchObject([[{ count: 2, isExact: true }, 4, 4, 2]]);
});

it("a server that is missing from the listing does not count in the exact peak", async () => {
  const history = recordHistory();
  const [us, eu] = [history.add(research), history.add({ region: "eu", key: "research" })];
  const [a, b] = [occupied, { ...idle, status: "occupied" }] as const;
  const atRest = { ...idle, status: "idle" } as const;
  const range = { from: "2026-11-01T00:02Z", to: "2026-11-01T00:27Z" };
  const polls = [
    [[a], [atRest]],
    [[a], [atRest]],
    [[], [b]],
    [[b], [atRest]],
    [[b], [atRest]],
    [[b], [atRest]],
  ] as const;
  for (const [index, [inUs, inEu]] of polls.entries()) {
    const atMs = Date.parse(range.from) + index * 300_000;
    us.poll(atMs, { kind: "all", servers: inUs });
    eu.poll(atMs, { kind: "all", servers: inEu });
  }
  // From before it is missing, and from when it is already.
  for (const from of [range.from, "2026-11-01T00:15Z"]) {
    const { rows } = await reportOf(history, { ...range, from, by: "" });
    expect(rows.map(({ occupiedPeak }) => occupiedPeak)).toEqual([{ count: 1, isExact: true }]);
  }
});
