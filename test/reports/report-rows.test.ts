import { describe, expect, it } from "vitest";
import { sharesOf } from "../../src/reports/row.ts";
import { recordHistory } from "../support/recorded-history.ts";
import { idle, occupied, research, watch } from "./support/polls-alike.ts";
import { tell } from "./support/tell.ts";

describe("a row of a report", () => {
  it("averages over each target's own observed time, however long others were observed", async () => {
    const history = recordHistory();
    const from = "2026-11-01T00:00Z";
    watch(history.add(research), { from, to: "2026-11-01T12:00Z" }, [occupied]);
    watch(history.add({ region: "eu", key: "research" }), { from, to: "2026-11-01T03:00Z" }, [
      occupied,
      { ...occupied, id: "c" },
    ]);
    // Never observed: it has no average, so it adds nothing to that of the others.
    history.add({ region: "ap", key: "research" }).poll(Date.parse(from), { kind: "failed" });
    const range = { from, to: "2026-11-01T12:00Z" };
    const averages = async (by: string) =>
      (await tell(history, { ...range, by })).rows.map(({ group, occupiedAverage }) => [
        group.region ?? group.server_name ?? group.key,
        occupiedAverage,
      ]);
    expect(await averages("region")).toEqual([
      ["ap", null],
      ["eu", 2],
      ["us", 1],
    ]);
    expect(await averages("key")).toEqual([["research", 3]]);
    expect(await averages("server_name")).toEqual([["git", 3]]);
  });

  it("averages servers over the time between the first and the last poll of their target", async () => {
    const history = recordHistory();
    watch(history.add(research), { from: "2026-11-01T06:00Z", to: "2026-11-01T12:00Z" });
    const range = { from: "2026-11-01T00:00Z", to: "2026-11-02T00:00Z" };
    const { rows } = await tell(history, { ...range, by: "server" });
    expect(rows.map(({ group, occupiedAverage }) => [group.server, occupiedAverage])).toEqual([
      ["a", 1],
      ["b", 0],
    ]);
    expect(rows.map(sharesOf)).toMatchObject([
      { occupied: expect.closeTo(1 / 3), unobserved: expect.closeTo(2 / 3) },
      { idle: expect.closeTo(1 / 3), unobserved: expect.closeTo(2 / 3) },
    ]);
  });

  it("counts incidents of a server name without a row of its own as those of other names", async () => {
    const history = recordHistory();
    const range = { from: "2026-11-01T00:00Z", to: "2026-11-01T06:00Z" };
    watch(history.add(research), range, [occupied, { ...idle, name: "other" }]);
    const batch = { region: "us", key: "batch" };
    watch(history.add(batch), range, [occupied]);
    const firedAtMs = Date.parse("2026-11-01T01:00Z");
    for (const [target, serverName] of [
      [research, "rare"],
      [research, "git"],
      [batch, "rare"],
    ] as const) {
      const server = { target, sandboxId: "", serverId: serverName, serverName };
      history.spans.push({ ...server, startedAtMs: firedAtMs, firedAtMs, recoveredAtMs: null });
    }
    const { rows } = await tell(history, { ...range, by: "key,server_name" });
    expect(
      rows.map(({ group: { key, server_name: name }, incidents }) => [key, name, incidents]),
    ).toEqual([
      ["batch", "git", 0],
      ["batch", "rare", 1],
      ["research", "git", 1],
      ["research", "other", 1],
    ]);
  });

  it("has an exact peak where only one target had occupied servers, also of two that are as high", async () => {
    const history = recordHistory();
    const [us, eu] = [history.add(research), history.add({ region: "eu", key: "research" })];
    const first = { from: "2026-11-01T00:00Z", to: "2026-11-01T02:00Z" };
    for (const target of [us, eu]) watch(target, first, [occupied]);
    const peak = async (range: { from: string; to: string }) =>
      (await tell(history, { ...range, by: "key" })).rows[0]?.occupiedPeak;
    expect(await peak(first)).toEqual({ count: 2, isExact: false });

    const between = { from: "2026-11-01T02:05Z", to: "2026-11-01T03:00Z" };
    const last = { from: "2026-11-01T03:05Z", to: "2026-11-01T05:00Z" };
    const atRest = { ...occupied, status: "idle" } as const;
    for (const target of [us, eu]) watch(target, between, [atRest]);
    watch(us, last, [occupied, { ...occupied, id: "c" }]);
    watch(eu, last, [atRest]);
    expect(await peak({ ...last, from: "2026-11-01T04:00Z" })).toEqual({ count: 2, isExact: true });
    expect(await peak({ ...first, to: last.to })).toEqual({ count: 2, isExact: true });
  });

  it("does not count a server as occupied while a listing lacks it", async () => {
    const history = recordHistory();
    const target = history.add(research);
    const other = { ...occupied, id: "c" };
    const polls = [[occupied], [other], [{ ...occupied, status: "idle" as const }, other]];
    const startMs = Date.parse("2026-11-01T00:00Z");
    for (const [index, servers] of polls.entries()) {
      target.poll(startMs + index * 300_000, { kind: "all", servers });
    }
    const range = { from: "2026-11-01T00:00Z", to: "2026-11-01T00:10Z", by: "sandbox" };
    const { rows } = await tell(history, range);
    expect(rows.map(({ occupiedPeak }) => occupiedPeak)).toEqual([{ count: 1, isExact: true }]);
  });
});
