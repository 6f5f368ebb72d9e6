import { expect, it } from "vitest";
import { recordHistory } from "../support/recorded-history.ts";
import { research, watch } from "./support/polls-alike.ts";
import { reportOf } from "./support/report.ts";

it.each<readonly [what: string, ranges: readonly string[], leastMin: number, mostMin: number]>([
  ["at the end of a gap", ["00:30-02:00"], 30, 90],
  ["in a gap, last observed when it began", ["01:00-02:00"], 0, 60],
  ["after a gap", ["00:30-02:30"], 120, 120],
  ["before a gap", ["00:30-00:45"], 15, 15],
  ["both observed and not", ["00:30-02:00", "00:30-02:30", "00:45-02:00"], 165, 285],
  ["when the range began", ["00:00-00:30"], 30, 30],
])("says how long recoveries took at least and at most: %s", async (_, ranges, least, most) => {
  const history = recordHistory();
  const target = history.add(research);
  watch(target, { from: "2026-11-01T00:00Z", to: "2026-11-01T01:00Z" });
  target.poll(Date.parse("2026-11-01T01:05Z"), { kind: "failed" });
  watch(target, { from: "2026-11-01T02:00Z", to: "2026-11-01T04:00Z" });
  const server = {
    ...research,
    sandboxId: "",
    serverId: "a",
    serverName: "git",
    benchmark: null,
    tags: null,
  };
  for (const range of ranges) {
    const [startedAtMs = 0, recoveredAtMs = 0] = range
      .split("-")
      .map((time) => Date.parse(`2026-11-01T${time}Z`));
    history.spans.push({ ...server, startedAtMs, firedAtMs: startedAtMs, recoveredAtMs });
  }
  const range = { from: "2026-11-01T00:20Z", to: "2026-11-01T04:00Z" };
  for (const by of ["region", "server"]) {
    const { rows } = await reportOf(history, { ...range, by });
    expect(rows.find(({ recoveries }) => recoveries.count > 0)?.recoveries).toEqual({
      count: ranges.length,
      leastMs: least * 60_000,
      mostMs: most * 60_000,
    });
  }
});
