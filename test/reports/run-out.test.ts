import { describe, expect, it } from "vitest";
import type { ListedServer } from "../support/recorded-history.ts";
import { dayOf, hourOf, startMs, watch } from "./support/watched-weeks.ts";

const minuteMs = 60_000;

describe("when servers run out", () => {
  const names = (atMs: number): readonly ListedServer[] => {
    // On Tuesdays at 14:00 both servers of git are occupied for twenty minutes, on Wednesdays one of them is in error.
    const isFull =
      dayOf(atMs) === 2 && hourOf(atMs) === 14 && atMs % (60 * minuteMs) < 20 * minuteMs;
    const isBroken = dayOf(atMs) === 3 && hourOf(atMs) === 9;
    return [
      { id: "a", name: "git", status: isFull || isBroken ? "occupied" : "idle" },
      { id: "b", name: "git", status: isFull ? "occupied" : isBroken ? "error" : "idle" },
      { id: "c", name: "jira", status: "occupied" },
      { id: "d", name: "jira", status: isFull ? "occupied" : "idle" },
      { id: "e", name: "web", status: "idle" },
      { id: "f", name: "web", status: isFull ? "occupied" : "idle" },
    ];
  };

  it("of each pool it is said how long no server was idle, and when there were the most occupied", async () => {
    const { ask } = watch(5, names);
    const { answer, forecasts } = await ask({ from: "14d" });
    expect(answer).toBe(
      "git in us/research and jira in us/research already run out: at times in the last week none of their servers was idle; no date is known for the other pool.",
    );
    expect(forecasts).toMatchObject([
      {
        server_name: "git",
        answer:
          "git in us/research already runs out: for 1h20m of the last week none of its 2 servers was idle.",
        standing: "full",
        exact: true,
        servers: 2,
        headroom: 0,
        no_idle_seconds: 2 * 4_800,
        no_idle_longest_seconds: 3_600,
        no_idle_longest_at: "2026-10-28T09:00:00.000Z",
        peak: 2,
        peak_at: "2026-10-27T14:00:00.000Z",
        needed_servers: 1,
        needed_more: false,
        peak_level: 1,
        peak_reason: "passed_already",
      },
      { server_name: "jira", standing: "full", no_idle_seconds: 2 * 1_200, needed_servers: 1 },
      {
        server_name: "web",
        standing: "no_date",
        headroom: 1,
        no_idle_seconds: 0,
        needed_servers: 0,
      },
    ]);
  });

  it("of a pool of several targets, times and peaks are upper bounds and said to be; of one target they are exact", async () => {
    const { ask, history, endMs } = watch(5, names);
    const exact = (await ask({ from: "14d", by: "region" })).forecasts;
    // One of web was always idle.
    expect(exact).toMatchObject([{ exact: true, no_idle_seconds: 0, peak: 5, servers: 6 }]);
    const other = history.add({ region: "eu", key: "research" });
    for (let atMs = startMs; atMs <= endMs; atMs += 10 * minuteMs) {
      other.poll(atMs, { kind: "all", servers: names(atMs) });
    }
    const { forecasts } = await ask({ from: "14d", by: "server_name" });
    expect(forecasts).toMatchObject([
      { server_name: "git", standing: "perhaps_full", exact: false, peak: 4, servers: 4 },
      { server_name: "jira" },
      { server_name: "web" },
    ]);
    expect(forecasts[2]?.answer).toContain("at least 2 of 4 servers free");
  });

  it("a name that is gone is no pool any more, and one that is new is unknown", async () => {
    const { ask } = watch(6, (_, week) => [
      { id: "a", name: "git", status: "idle" },
      { id: "b", name: "git", status: "idle" },
      ...(week < 4
        ? ([
            { id: "c", name: "old", status: "idle" },
            { id: "d", name: "old", status: "idle" },
          ] as const)
        : ([
            { id: "e", name: "new", status: "idle" },
            { id: "f", name: "new", status: "idle" },
          ] as const)),
    ]);
    const { forecasts } = await ask();
    expect(forecasts.map(({ server_name: name, standing }) => [name, standing])).toEqual([
      ["git", "no_date"],
      ["new", "unknown"],
    ]);
    expect(forecasts[1]?.answer).toContain("2 whole weeks were observed, and a trend needs 4");
  });

  it("a name whose servers disappeared in the last week has none", async () => {
    const { ask, endMs } = watch(5, (atMs) => [
      { id: "a", name: "git", status: "idle" },
      ...(atMs < startMs + 33 * 24 * 60 * minuteMs
        ? (["b", "c"] as const).map((id) => ({ id, name: "slack", status: "occupied" as const }))
        : []),
    ]);
    const { forecasts } = await ask();
    expect(forecasts.find((pool) => pool.server_name === "slack")).toMatchObject({
      standing: "unknown",
      servers: 0,
      answer: "slack in us/research has no servers.",
      notes: expect.arrayContaining([
        `The number of servers changed from 2 to 0 around ${new Date(endMs - 7 * 24 * 60 * minuteMs).getUTCDate()} November.`,
      ]),
    });
    expect(JSON.stringify(forecasts)).not.toContain("well enough");
  });

  it("of a target that is not configured any more, nothing is known since", async () => {
    const { ask, history, target, endMs } = watch(5, names);
    target.isConfigured = false;
    const other = history.add({ region: "eu", key: "research" });
    const later = endMs + 3 * 24 * 60 * minuteMs;
    for (let atMs = startMs; atMs <= later; atMs += 10 * minuteMs) {
      other.poll(atMs, { kind: "all", servers: [{ id: "x", name: "web", status: "idle" }] });
    }
    const { forecasts } = await ask({}, later);
    const pool = forecasts.find((each) => each.region === "us" && each.server_name === "web");
    expect(pool).toMatchObject({ servers: 2, weeks: 4 });
    expect(pool?.answer).toContain("only 57.1% of the last week was observed");
  });

  it("weeks in which a name had no servers are distinguished from those that were not observed", async () => {
    const { ask } = watch(8, (_, week) => [
      { id: "a", name: "git", status: "idle" },
      ...["b", "c"].map((id) => ({
        id,
        name: week === 3 ? "jira" : "slack",
        status: "idle" as const,
      })),
    ]);
    const { forecasts } = await ask();
    expect(forecasts.find((pool) => pool.server_name === "slack")).toMatchObject({
      standing: "no_date",
      weeks: 7,
      notes: expect.arrayContaining([
        "There were no servers in 1 week of the last 8: it is not part of the trend.",
      ]),
    });
    expect(JSON.stringify(forecasts)).not.toContain("not observed well enough");
  });
});
