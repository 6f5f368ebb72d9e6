import { describe, expect, it } from "vitest";
import { listChanges } from "../../src/api/operations/changes.ts";
import { searchServers } from "../../src/api/operations/search-servers.ts";
import { showTimeline } from "../../src/api/operations/show-timeline.ts";
import { listServers } from "../../src/api/operations/targets.ts";
import { watchWorld, type WatchedWorld } from "../support/watched-world.ts";
import { erring, refusal } from "./support/api-world.ts";

describe("the search of servers", () => {
  it("finds each word in names, ids, tags and benchmarks, whatever the case", async () => {
    const world = await erring(1);
    const { api } = world.daemon();
    const found = async (q: string) =>
      (await api(searchServers, { q })).servers.map(({ server_id: id }) => id);
    const [server] = (await api(listServers, { status: "error" })).servers;
    if (!server) throw new Error("no server is in error");
    const { server_id: id, sandbox_id: sandbox, server_name: name, tags, benchmark } = server;
    for (const text of [name, id, sandbox, benchmark, ...tags]) {
      expect(await found((text ?? "").toUpperCase())).toContain(id);
    }
    expect(await found(`${id.slice(4, 9)} ${name?.slice(1)}`)).toEqual([id]);
    expect(await found(`${id} elsewhere`)).toEqual([]);
    for (const pattern of [".*", "(", "[a-z]", "\\w", "\ud83d"]) {
      expect(await found(pattern)).toEqual([]);
    }
  });
});

/** The statuses that the first server had, with how many seconds each lasted. */
async function timelineOf(
  world: WatchedWorld,
  from: string,
  end?: string,
): Promise<readonly string[]> {
  const { api } = world.daemon();
  const [server] = world.serverIds;
  const sandbox = (await api(listChanges, { server })).changes[0]?.sandbox_id ?? "";
  const request = { ...world.target, sandbox, server: server ?? "", from, to: end };
  const { segments, truncated, ...range } = await api(showTimeline, request);
  expect(truncated).toBe(false);
  expect(segments[0]?.from).toBe(range.from);
  const starts = segments.map(({ from: start }) => start);
  expect(segments.map(({ to }) => to)).toEqual([...starts.slice(1), range.to]);
  return segments.map(
    ({ status, from: start, to }) => `${status} ${(Date.parse(to) - Date.parse(start)) / 1_000}`,
  );
}

describe("the timeline of a server", () => {
  it("has what it was at each time, and is unobserved before the first poll", async () => {
    const world = await watchWorld();
    await world.poll(2);
    world.show(0, "error");
    await world.poll(2);
    world.show(0, "occupied");
    await world.poll();
    world.clock.advance(2_000);
    const whole = ["unobserved 38", "idle 10", "error 10", "occupied 2"];
    expect(await timelineOf(world, "60s")).toEqual(whole);
    expect(await timelineOf(world, "14s")).toEqual(["idle 2", "error 10", "occupied 2"]);
    expect(await timelineOf(world, "1s")).toEqual(["occupied 1"]);
    const before = { from: "2026-11-19", to: "2026-11-19T12:00" };
    expect(await timelineOf(world, before.from, before.to)).toEqual(["unobserved 43200"]);
  });

  it("of which nothing is known is unobserved", async () => {
    const world = await watchWorld();
    const { api } = world.daemon();
    const request = { region: "su", key: "none", sandbox: "a", server: "b" };
    const { segments } = await api(showTimeline, request);
    expect(segments.map(({ status }) => status)).toEqual(["unobserved"]);
    const refused = api(showTimeline, { ...request, from: "soon" });
    await expect(refused).rejects.toMatchObject(refusal("invalid", "from: a time such as"));
    const later = api(showTimeline, { ...request, from: "2027-01-01", to: "2027-01-02" });
    await expect(later).rejects.toThrow("The range has not begun yet.");
    const zone = api(showTimeline, { ...request, tz: "Mars/Olympus" });
    await expect(zone).rejects.toMatchObject(refusal("invalid", "tz: a time zone such as"));
  });
});
